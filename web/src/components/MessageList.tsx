import { useCallback, useEffect, useLayoutEffect, useRef, useState, type ReactNode } from 'react'
import type { SuggestedAction } from '../api/types'
import { useChatStore } from '../state/context'
import { liveMessage, type ChatState } from '../state/state'
import { useLabels } from '../state/ui'
import { ArrowDownIcon } from './icons'
import { MessageView } from './Message'

/** The conversation. It stays at its end while the reader is there, and offers a way back when they are not. */
export function MessageList({ state, empty, onAction }: { state: ChatState; empty: ReactNode; onAction: (action: SuggestedAction) => void }) {
  const labels = useLabels()
  const store = useChatStore()
  const { scroller, content, stuck, jump } = useStickToEnd(state.conversationId, state.isOpening, state.messages.findLast((m) => m.role === 'user')?.id, state.messages[0]?.id)
  const busy = state.isLoading
  const shown = state.run ? [...state.messages, liveMessage(state.run, state.decided)] : state.messages
  const nothing = state.messages.length === 0 && !state.run
  return (
    <div className="ct-list-frame">
      <div className="ct-list" ref={scroller} role="log" aria-label={labels.log} aria-live="off" tabIndex={0}>
        <div className="ct-list-content" ref={content}>
          {state.olderCursor && <button type="button" className="ct-button ct-small ct-older" onClick={() => void store.loadOlder()}>{labels.older}</button>}
          {nothing && (state.isOpening ? <p className="ct-muted ct-center">{labels.loading}</p> : empty)}
          {shown.map((message, i) => (
            <MessageView key={message.role === 'user' ? message.id : (message.run_id ?? message.id)} message={message} last={i === shown.length - 1 && !busy} busy={busy} onAction={onAction} />
          ))}
        </div>
      </div>
      {!stuck && !nothing && (
        <button type="button" className="ct-jump" onClick={jump} aria-label={labels.jump} title={labels.jump}><ArrowDownIcon /></button>
      )}
    </div>
  )
}

/** Keeps a scroller at its end until the reader scrolls up; a new question brings it back. What is put before the first message moves nothing. */
function useStickToEnd(chat: number | null, opening: boolean, question: string | undefined, first: string | undefined) {
  const scroller = useRef<HTMLDivElement>(null)
  const content = useRef<HTMLDivElement>(null)
  const [stuck, setStuck] = useState(true)
  const follow = useRef(true)
  const end = useCallback(() => {
    const box = scroller.current
    if (box) box.scrollTop = box.scrollHeight
  }, [])
  const jump = useCallback(() => {
    follow.current = true
    setStuck(true)
    end()
  }, [end])
  /** From the top of what is in sight to the end. */
  const below = useRef(0)
  useLayoutEffect(() => {
    const box = scroller.current
    if (box && !follow.current) box.scrollTop = box.scrollHeight - below.current
  }, [first])
  useLayoutEffect(jump, [chat, opening, question, jump])
  useEffect(() => {
    const box = scroller.current
    const inner = content.current
    if (!box || !inner) return
    let height = box.scrollTop
    const scrolled = () => {
      const near = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR
      if (near) follow.current = true
      else if (box.scrollTop < height - 1) follow.current = false
      height = box.scrollTop
      below.current = box.scrollHeight - box.scrollTop
      setStuck(near || follow.current)
    }
    const grown = new ResizeObserver(() => {
      if (follow.current) end()
      below.current = box.scrollHeight - box.scrollTop
    })
    box.addEventListener('scroll', scrolled, { passive: true })
    grown.observe(inner)
    grown.observe(box)
    return () => {
      box.removeEventListener('scroll', scrolled)
      grown.disconnect()
    }
  }, [end])
  return { scroller, content, stuck, jump }
}

/** Distance from the end, in pixels, that still counts as being there. */
const NEAR = 40
