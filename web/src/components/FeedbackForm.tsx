import { useRef, useState } from 'react'
import type { Feedback } from '../api/types'
import { useAllLabels } from '../state/allLabels'
import { OWN_ESCAPE, takeEscape } from '../state/keys'
import type { GeneralChatMessage } from '../state/values/state'
import { useTray } from '../state/tray'

export interface FeedbackFormProps {
  message: GeneralChatMessage
  rate: (judgement: Feedback) => Promise<void>
  done: () => void
}

type Reason = NonNullable<Feedback['reasons']>[number]
const REASONS: readonly Reason[] = ['incorrect', 'not_helpful', 'incomplete', 'instructions', 'sources', 'harmful', 'other']

/** Asks what was wrong with an answer that has been rated down: reasons to choose from, and a comment. It stands after the buttons of the answer, and returns the focus to the thumb. */
export default function FeedbackForm({ message, rate, done }: FeedbackFormProps) {
  const tray = useTray()
  const labels = useAllLabels()
  const [reasons, setReasons] = useState<readonly Reason[]>(message.feedback?.reasons ?? [])
  const [comment, setComment] = useState(message.feedback?.comment ?? '')
  const words = comment.trim()
  const form = useRef<HTMLFormElement>(null)
  const leave = () => {
    if (form.current?.contains((form.current.getRootNode() as Document).activeElement)) form.current.previousElementSibling?.querySelector<HTMLElement>('[aria-pressed=true]')?.focus()
    done()
  }
  return (
    <form
      ref={form}
      className="ct-feedback" {...OWN_ESCAPE}
      onKeyDown={(e) => {
        if (takeEscape(e)) leave()
      }}
      onSubmit={(e) => {
        e.preventDefault()
        const judgement: Feedback = { rating: 'down', ...(reasons.length > 0 && { reasons: [...reasons] }), ...(words && { comment: words }) }
        // What cannot be stored stays in the form; the tray says why.
        rate(judgement).then(() => {
          tray.announce(labels.feedbackThanks)
          leave()
        }, () => undefined)
      }}
    >
      <div className="ct-chips" role="group" aria-label={labels.feedbackReasons}>
        {REASONS.map((reason) => {
          const chosen = reasons.includes(reason)
          return <button type="button" className="ct-chip" key={reason} aria-pressed={chosen} onClick={() => setReasons(chosen ? reasons.filter((r) => r !== reason) : [...reasons, reason])}>{labels.feedbackReason(reason)}</button>
        })}
      </div>
      <div className="ct-feedback-words">
        <input className="ct-input" value={comment} maxLength={4000} onChange={(e) => setComment(e.target.value)} placeholder={labels.feedbackComment} aria-label={labels.feedbackComment} autoFocus />
        <button type="submit" className="ct-button" disabled={reasons.length === 0 && !words}>{labels.send}</button>
      </div>
    </form>
  )
}
