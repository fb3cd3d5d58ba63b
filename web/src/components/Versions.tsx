import { useChatStore } from '../state/context'
import type { GeneralChatMessage } from '../state/values/state'
import { useAllLabels } from '../state/allLabels'
import { useTray } from '../state/tray'
import { NextIcon, PreviousIcon } from './laterIcons'
import { IdleButton } from './IdleButton'

export interface VersionsProps {
  message: GeneralChatMessage
}

/** Which version of a question or an answer is shown, and buttons for the previous and the next one. */
export default function Versions({ message }: VersionsProps) {
  const store = useChatStore()
  const labels = useAllLabels()
  const tray = useTray()
  const { version } = message
  if (!version) return null
  const go = (id: string | undefined, number: number) => {
    if (!id) return
    const isShown = () => store.getSnapshot().messages.some((m) => m.id === id)
    void store.selectVersion(id).then(() => isShown() && tray.announce(labels.versionOf(number, version.count)))
  }
  return (
    <span className="ct-versions" role="group" aria-label={labels.versions}>
      <IdleButton label={labels.versionPrevious} disabled={!version.previous_id} onClick={() => go(version.previous_id, version.number - 1)}><PreviousIcon /></IdleButton>
      <span role="img" aria-label={labels.versionOf(version.number, version.count)}><bdi>{version.number}/{version.count}</bdi></span>
      <IdleButton label={labels.versionNext} disabled={!version.next_id} onClick={() => go(version.next_id, version.number + 1)}><NextIcon /></IdleButton>
    </span>
  )
}
