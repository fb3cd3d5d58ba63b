import { useRef, useState } from 'react'
import type { Feedback } from '../api/types'
import { CopyButton } from '../markdown/copy'
import { htmlOf } from '../markdown/html'
import { useChatStore } from '../state/context'
import { classes, type PartProps } from '../state/slots'
import { CUT_ID, type GeneralChatMessage } from '../state/values/state'
import { useLabels, useTray } from '../state/tray'
import { answerAgain } from './answerAgain'
import { IconButton } from './IconButton'
import { IdleButton } from './IdleButton'
import { BugIcon, CheckIcon, DocIcon, DownIcon, RetryIcon, UpIcon } from './icons'
import { FeedbackForm, Versions } from './laterParts'
import { beginningOf, Time } from './Time'

export interface AnswerActionsProps extends PartProps {
  message: GeneralChatMessage
  last: boolean
}

/** What can be done with an answer: copy, rate, regenerate, put it into a document. */
export function AnswerActions({ message, last, className, children }: AnswerActionsProps) {
  const tray = useTray()
  const labels = useLabels()
  const store = useChatStore()
  const [asking, setAsking] = useState(false)
  const [applied, setApplied] = useState(false)
  const kept = !message.id.startsWith(CUT_ID)
  const [wanted, setWanted] = useState<{ thumb?: 'up' | 'down' }>()
  const rating = wanted ? wanted.thumb : message.feedback?.rating
  // Ratings are sent one after the other: they arrive in their order, and one that fails restores what the service has.
  const turn = useRef<Promise<unknown>>(undefined)
  const rate = (judgement: Feedback | null) => {
    const chat = store.getSnapshot()
    const sent = Promise.resolve(turn.current).then(() => store.feedback(message.id, judgement, chat))
    turn.current = sent.catch(() => undefined)
    return sent
  }
  // The same thumb again removes the rating.
  const judge = (thumb: 'up' | 'down') => {
    const taken = rating === thumb
    const now = taken ? {} : { thumb }
    setAsking(thumb === 'down' && !taken)
    // It is shown while an earlier one is sent.
    setWanted(now)
    rate(taken ? null : { rating: thumb }).then(() => tray.announce(taken ? labels.feedbackTaken : labels.feedbackThanks), () => setAsking(false)).finally(() => setWanted((last) => (last === now ? undefined : last)))
  }
  const mayDiagnose = message.run_id !== undefined && (tray.me?.may?.diagnostics ?? false)
  const apply = async () => {
    try {
      await tray.applyToDocument?.(message)
      setApplied(true)
    } catch (error) {
      console.error(error)
      store.note(error)
    }
  }
  const plain = message.content.replace(/\[\[tool:\d+\]\]\s*/g, '')
  return (
    <>
      <div className={classes('ct-tools-row', className)} role="group" aria-label={beginningOf(plain)}>
        {plain && <CopyButton what={() => ({ text: plain, html: htmlOf(plain, labels) })} />}
        {kept && message.status !== 'error' && (
          <>
            <IconButton label={labels.goodAnswer} pressed={rating === 'up'} onClick={() => judge('up')}><UpIcon /></IconButton>
            <IconButton label={labels.badAnswer} pressed={rating === 'down'} onClick={() => judge('down')}><DownIcon /></IconButton>
          </>
        )}
        {last && message.status !== 'error' && <IdleButton label={labels.regenerate} onClick={() => void answerAgain(store, message.id)}><RetryIcon /></IdleButton>}
        {tray.applyToDocument && plain && kept && (
          <IconButton label={applied ? labels.applied : labels.applyToDocument} onClick={() => void apply()}>{applied ? <CheckIcon /> : <DocIcon />}</IconButton>
        )}
        {mayDiagnose && <IconButton label={labels.diagnostics} onClick={() => tray.openDiagnostics(message)}><BugIcon /></IconButton>}
        {mayDiagnose && message.usage && message.usage.total_tokens > 0 && <bdi className="ct-usage">{labels.usage(message.usage.input_tokens, message.usage.output_tokens)}</bdi>}
        <Time at={message.created_at} />
        {message.version && <Versions message={message} />}
        {children}
      </div>
      {asking && <FeedbackForm message={message} rate={rate} done={() => setAsking(false)} />}
    </>
  )
}
