import { useRef, type ReactNode } from 'react'
import type { SuggestedAction } from '../api/types'
import { useChatState, useChatStore } from '../state/context'
import { classes, type PartProps } from '../state/slots'
import { CUT_ID, liveMessage, LOCAL_ID, type GeneralChatMessage } from '../state/values/state'
import { useLabels } from '../state/tray'
import { Skeleton } from './Skeleton'
import { useStickToEnd } from './useStickToEnd'
import { ArrowDownIcon } from './icons'
import { MessageSlot } from './Message'
import { useReached } from './useReached'

export interface MessageListProps extends PartProps {
  /** Shown while there is no message. */
  empty?: ReactNode
  onAction?: ((action: SuggestedAction) => void) | undefined
}

const nothingDone = () => undefined

/** An answer that was stopped before its first word, which the service does not store. */
const stopped: GeneralChatMessage = { id: CUT_ID, role: 'assistant', type: 'md', content: '', status: 'cancelled', created_at: '' }

/** In a list of more messages the browser lays out only those in and near the view, and the last ones, which grow and have positions that scripts measure. */
const LONG = { messages: 60, last: 4 }

/** The conversation, scrolled by useStickToEnd, with a button to its end when the end is out of view. Earlier messages come as the reader scrolls up. */
export function MessageList({ empty, onAction = nothingDone, className, children }: MessageListProps) {
  const labels = useLabels()
  const store = useChatStore()
  const state = useChatState()
  const { scroller, content, stuck, jump } = useStickToEnd()
  const older = useRef<HTMLButtonElement>(null)
  useReached(older, state.olderCursor, () => void store.loadOlder(), scroller)
  const busy = state.isLoading
  const last = state.messages.at(-1)
  const unanswered = !busy && !state.isOpening && !state.error && last?.role === 'user' && !last.id.startsWith(LOCAL_ID)
  const shown = state.run ? [...state.messages, liveMessage(state.run, state.decided)] : unanswered ? [...state.messages, stopped] : state.messages
  const all = [...shown, ...state.waiting]
  const far = all.length > LONG.messages ? all.length - LONG.last : 0
  const nothing = state.messages.length === 0 && !state.run
  return (
    <div className={classes('ct-list-frame', className)}>
      <div className="ct-list" ref={scroller} role="log" aria-label={labels.log} aria-live="off" tabIndex={0}>
        <div className="ct-list-content" ref={content}>
          {state.olderCursor && <button ref={older} type="button" className="ct-button ct-small ct-older" onClick={() => void store.loadOlder()}>{labels.older}</button>}
          {nothing && (state.isOpening ? <Skeleton of="chat" lines={8} /> : empty)}
          {all.map((message, i) => (
            <MessageSlot key={message.role === 'user' ? message.id : (message.run_id ?? message.id)} message={message} last={i === all.length - 1 && !busy} onAction={onAction} className={i < far ? 'ct-far' : undefined} />
          ))}
          {children}
        </div>
      </div>
      {!stuck && !nothing && (
        <button type="button" className="ct-jump" onClick={jump} aria-label={labels.jump} title={labels.jump}><ArrowDownIcon /></button>
      )}
    </div>
  )
}
