import { useRef, useState } from 'react'
import { useChatStore } from '../state/context'
import { useKeptShort, useShort } from '../state/longText'
import type { GeneralChatMessage } from '../state/state'
import { useLabels } from '../state/tray'
import { useFiles } from '../state/useFiles'
import { composes } from './Composer'
import { AttachmentList } from './laterParts'

export interface EditMessageProps {
  message: GeneralChatMessage
  done: () => void
}

/** A question while it is changed. */
export default function EditMessage({ message, done }: EditMessageProps) {
  const labels = useLabels()
  const store = useChatStore()
  const field = useRef<HTMLTextAreaElement>(null)
  const { files, problem, addText, remove } = useFiles()
  const [whole, setWhole] = useState(message.content)
  const [text, setText] = useShort(whole, setWhole, addText)
  useKeptShort(field, setText)
  const canSend = text.trim() !== '' || files.length > 0
  const send = () => {
    if (!canSend) return
    done()
    void store.sendMessage(text.trim() || labels.attachedOnly, { editMessageId: message.id, ...(files.length > 0 && { attachments: files }) })
  }
  return (
    <article className="ct-message ct-editing" data-role="user" aria-label={labels.editing}>
      {files.length > 0 && <AttachmentList files={files} onRemove={remove} />}
      {problem && <p className="ct-composer-problem" role="alert">{problem}</p>}
      <textarea
        ref={field} className="ct-input" aria-label={labels.editing} value={text} rows={Math.min(8, text.split('\n').length + 1)} autoFocus dir="auto"
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
        <button type="button" className="ct-button" data-style="primary" disabled={!canSend} onClick={send}>{labels.resend}</button>
      </div>
    </article>
  )
}
