import { useEffect, useRef } from 'react'
import { useChatState, useChatStore } from '../../state/context'
import type { Queued } from '../../state/values/state'
import { useAllLabels } from '../../state/allLabels'
import { useTray } from '../../state/tray'
import { ClockIcon } from '../laterIcons'
import { IconButton } from '../IconButton'
import { CloseIcon, EditIcon, SendIcon } from '../icons'

export interface QueueProps {
  /** Puts a message back into the input. */
  onEdit: (message: Queued) => void
}

/** The messages that wait for the current answer; each can be removed or changed. */
export default function Queue({ onEdit }: QueueProps) {
  const store = useChatStore()
  const labels = useAllLabels()
  const { queue, busy } = useChatState((s) => ({ queue: s.queue, busy: s.isLoading }))
  const { announce } = useTray()
  const before = useRef(0)
  useEffect(() => {
    if (queue.length > before.current) announce(`${labels.queue}: ${queue.at(-1)!.message}`)
    before.current = queue.length
  }, [queue, announce, labels])
  return (
    <ol className="ct-queue" aria-label={labels.queue}>
      {queue.map((m, i) => (
        <li key={m.id}>
          <ClockIcon />
          <span dir="auto">{m.message}</span>
          {!busy && i === 0 && <IconButton label={`${labels.queueSend}: ${m.message}`} onClick={() => void store.sendQueued(true)}><SendIcon /></IconButton>}
          <IconButton label={`${labels.edit}: ${m.message}`} onClick={() => {
            const taken = store.unqueue(m.id)
            if (taken) onEdit(taken)
          }}><EditIcon /></IconButton>
          <IconButton label={`${labels.queueRemove}: ${m.message}`} onClick={() => store.unqueue(m.id)}><CloseIcon /></IconButton>
        </li>
      ))}
    </ol>
  )
}
