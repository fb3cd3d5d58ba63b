import { memo, useState } from 'react'
import type { SuggestedAction } from '../api/types'
import { CopyButton } from '../markdown/copy'
import { useChatStore } from '../state/context'
import { classes, slot, type PartProps } from '../state/slots'
import { LOCAL_ID, type GeneralChatMessage } from '../state/state'
import { useLabels } from '../state/tray'
import { Answer } from './Answer'
import { composes } from './Composer'
import { IconButton } from './IconButton'
import { EditIcon, FileIcon } from './icons'

export interface MessageProps extends PartProps {
  message: GeneralChatMessage
  /** Chips, buttons and "answer again" belong to the last message only. */
  last: boolean
  busy: boolean
  onAction: (action: SuggestedAction) => void
}

/** One message of the conversation. */
export function MessageView(props: MessageProps) {
  return props.message.role === 'user' ? <UserMessageSlot {...props} /> : <AnswerSlot {...props} />
}

const UserMessageSlot = slot('UserMessage', UserMessage)
const AnswerSlot = slot('Answer', Answer)

/** The message as the page wants it. */
export const MessageSlot = memo(slot('Message', MessageView))

/** What the user has said, with its files. */
export function UserMessage({ message, busy, className, children }: MessageProps) {
  const labels = useLabels()
  const [editing, setEditing] = useState(false)
  const [whole, setWhole] = useState(false)
  const long = message.content.length > LONG.characters || message.content.split('\n', LONG.lines + 1).length > LONG.lines
  if (editing) return <EditMessage message={message} done={() => setEditing(false)} />
  const named = !message.id.startsWith(LOCAL_ID)
  return (
    <article className={classes('ct-message', className)} data-role="user" data-new={!named || undefined} aria-label={labels.you}>
      {message.attachments && message.attachments.length > 0 && (
        <div className="ct-files">{message.attachments.map((a, i) => <span className="ct-file" key={i} title={a.name}><FileIcon /><span>{a.name}</span></span>)}</div>
      )}
      {(message.content || message.action) && <div className="ct-bubble" dir="auto" data-cut={(long && !whole) || undefined}>{message.content || message.action?.action_identifier}</div>}
      {long && <button type="button" className="ct-more" aria-expanded={whole} onClick={() => setWhole(!whole)}>{whole ? labels.showLess : labels.showMore}</button>}
      <div className="ct-tools-row">
        {named && <CopyButton text={message.content} />}
        {named && !message.action && <IconButton label={labels.edit} onClick={() => setEditing(true)} disabled={busy}><EditIcon /></IconButton>}
      </div>
      {children}
    </article>
  )
}

/** What the user has said is shown in part when it is longer. */
const LONG = { characters: 1500, lines: 14 }

function EditMessage({ message, done }: { message: GeneralChatMessage; done: () => void }) {
  const labels = useLabels()
  const store = useChatStore()
  const [text, setText] = useState(message.content)
  const send = () => {
    if (text.trim() === '') return
    done()
    void store.sendMessage(text.trim(), { editMessageId: message.id })
  }
  return (
    <article className="ct-message ct-editing" data-role="user" aria-label={labels.editing}>
      <textarea
        className="ct-input" aria-label={labels.editing} value={text} rows={Math.min(8, text.split('\n').length + 1)} autoFocus dir="auto"
        onChange={(e) => setText(e.target.value)}
        onKeyDown={(e) => {
          if (e.key === 'Escape') {
            e.stopPropagation()
            done()
          } else if (e.key === 'Enter' && !e.shiftKey && !composes(e)) {
            e.preventDefault()
            send()
          }
        }}
      />
      <div className="ct-row">
        <button type="button" className="ct-button" onClick={done}>{labels.cancel}</button>
        <button type="button" className="ct-button" data-style="primary" onClick={send}>{labels.resend}</button>
      </div>
    </article>
  )
}
