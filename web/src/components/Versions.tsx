import { useLayoutEffect, useRef } from 'react'
import { useChatStore } from '../state/context'
import { perObject } from '../state/perObject'
import type { ChatStore } from '../state/store/store'
import type { GeneralChatMessage } from '../state/values/state'
import { useAllLabels } from '../state/allLabels'
import { useTray } from '../state/tray'
import { NextIcon, PreviousIcon } from './laterIcons'
import { IdleButton } from './IdleButton'

export interface VersionsProps {
  message: GeneralChatMessage
}

/**
 * The version that gets the focus when it is shown in a list, in place of the one whose button had it: on its first button (0) or its
 * last (-1).
 */
const wanted = perObject<ChatStore, { id?: string; list?: Element | null; at: 0 | -1 }>(() => ({ at: 0 }))
const listOf = (element: Element) => element.closest('[role=log]')

/** Which version of a question or an answer is shown, and buttons for the previous and the next one. */
export default function Versions({ message }: VersionsProps) {
  const store = useChatStore()
  const labels = useAllLabels()
  const tray = useTray()
  const group = useRef<HTMLSpanElement>(null)
  const focus = wanted(store)
  useLayoutEffect(() => {
    const element = group.current
    if (!element || focus.id !== message.id || focus.list !== listOf(element)) return
    focus.id = undefined
    const active = (element.getRootNode() as Document).activeElement
    if (!active || active === document.body) [...element.querySelectorAll<HTMLElement>('button:not(:disabled)')].at(focus.at)?.focus()
  }, [focus, message.id])
  const { version } = message
  if (!version) return null
  const go = (id: string | undefined, step: 1 | -1) => {
    if (!id) return
    if (group.current?.querySelector(':focus')) Object.assign(focus, { id, list: listOf(group.current), at: step < 0 ? 0 : -1 })
    void store.selectVersion(id).then(() => {
      if (store.getSnapshot().messages.some((m) => m.id === id)) tray.announce(labels.versionOf(version.number + step, version.count))
      else focus.id = undefined
    })
  }
  return (
    <span ref={group} className="ct-versions" role="group" aria-label={labels.versions}>
      <IdleButton label={labels.versionPrevious} disabled={!version.previous_id} onClick={() => go(version.previous_id, -1)}><PreviousIcon /></IdleButton>
      <span role="img" aria-label={labels.versionOf(version.number, version.count)}><bdi>{version.number}/{version.count}</bdi></span>
      <IdleButton label={labels.versionNext} disabled={!version.next_id} onClick={() => go(version.next_id, 1)}><NextIcon /></IdleButton>
    </span>
  )
}
