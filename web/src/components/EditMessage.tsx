import { useState } from 'react'
import { useChatStore } from '../state/context'
import type { GeneralChatMessage } from '../state/state'
import { useLabels } from '../state/tray'
import { composes } from './Composer'

export interface EditMessageProps {
  message: GeneralChatMessage
  done: () => void
}

/** A question while it is changed. */
export default function EditMessage({ message, done }: EditMessageProps) {
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
