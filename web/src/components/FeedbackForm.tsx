import { useState } from 'react'
import { useChatStore } from '../state/context'
import type { GeneralChatMessage } from '../state/state'
import { useLabels, useTray } from '../state/tray'

export interface FeedbackFormProps {
  message: GeneralChatMessage
  done: () => void
}

/** Asks what was wrong with an answer. */
export default function FeedbackForm({ message, done }: FeedbackFormProps) {
  const tray = useTray()
  const labels = useLabels()
  const store = useChatStore()
  const [comment, setComment] = useState(message.feedback?.comment ?? '')
  return (
    <form
      className="ct-feedback"
      onSubmit={(e) => {
        e.preventDefault()
        void store.feedback(message.id, 'down', comment.trim()).then(() => tray.announce(labels.feedbackThanks), () => undefined)
        done()
      }}
    >
      <input className="ct-input" value={comment} maxLength={4000} onChange={(e) => setComment(e.target.value)} placeholder={labels.feedbackComment} aria-label={labels.feedbackComment} autoFocus />
      <button type="submit" className="ct-button">{labels.send}</button>
    </form>
  )
}
