import { memo, useState } from 'react'
import type { SuggestedAction } from '../api/types'
import { CopyButton } from '../markdown/copy'
import { classes, slot, type PartProps } from '../state/slots'
import { LOCAL_ID, type GeneralChatMessage } from '../state/values/state'
import { useLabels } from '../state/tray'
import { Answer } from './Answer'
import { IdleButton } from './IdleButton'
import { EditIcon } from './icons'
import { AttachmentList, EditMessage, Versions } from './laterParts'
import { Time } from './Time'

export interface MessageProps extends PartProps {
  message: GeneralChatMessage
  /** Chips, buttons and "answer again" belong to the last message only. */
  last: boolean
  onAction: (action: SuggestedAction) => void
}

/** One message of the conversation. */
export function MessageView(props: MessageProps) {
  return props.message.role === 'user' ? <UserMessageSlot {...props} /> : <AnswerSlot {...props} />
}

const UserMessageSlot = slot('UserMessage', UserMessage)
const AnswerSlot = slot('Answer', Answer)

/** The message with the page's own component, if it has one. */
export const MessageSlot = memo(slot('Message', MessageView))

/** The user's message with its files. */
export function UserMessage({ message, className, children }: MessageProps) {
  const labels = useLabels()
  // False once the user has edited it: then the button has the focus again.
  const [editing, setEditing] = useState<boolean>()
  const [whole, setWhole] = useState(false)
  const long = message.content.length > LONG.characters || message.content.split('\n', LONG.lines + 1).length > LONG.lines
  if (editing) return <EditMessage message={message} done={() => setEditing(false)} />
  const named = !message.id.startsWith(LOCAL_ID)
  return (
    <article className={classes('ct-message', className)} data-role="user" data-new={!named || undefined} aria-label={labels.you}>
      {message.attachments && message.attachments.length > 0 && (
        <AttachmentList files={message.attachments} previews={message.previews} />
      )}
      {(message.content || message.action) && <div className="ct-bubble" data-cut={(long && !whole) || undefined}>{(long && !whole ? message.content.slice(0, LONG.shown) : message.content) || message.action?.action_identifier}</div>}
      {long && <button type="button" className="ct-more" aria-expanded={whole} onClick={() => setWhole(!whole)}>{whole ? labels.showLess : labels.showMore}</button>}
      <div className="ct-tools-row" role="group" aria-label={`${labels.you}:`}>
        {named && <CopyButton text={message.content} />}
        {named && <Time at={message.created_at} />}
        {named && message.version && <Versions message={message} />}
        {named && !message.action && <IdleButton label={labels.edit} autoFocus={editing === false} onClick={() => setEditing(true)}><EditIcon /></IdleButton>}
      </div>
      {children}
    </article>
  )
}

/** A longer message of the user is shown only in part: of so many characters, of which the last are out of sight. */
const LONG = { characters: 1500, lines: 14, shown: 4000 }
