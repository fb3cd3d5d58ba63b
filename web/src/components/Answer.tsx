import { useCallback, useMemo, useRef, useState } from 'react'
import type { CustomPayload } from '../api/types'
import { failureWords, statusWords } from '../labels/tray'
import { SourcesProvider } from '../markdown/sources'
import { isDecisive, payloadHandlerFor } from '../payloads/registry'
import { useBusy, useChatStore } from '../state/context'
import { classes, slot } from '../state/slots'
import { LIVE, type GeneralChatMessage } from '../state/values/state'
import { isBusy } from '../state/values/trail'
import { useLabels, useTray } from '../state/tray'
import { openable, partsOfContent, sectionsOf, type Part } from '../state/values/view'
import { AnswerActions } from './AnswerActions'
import { RetryIcon, WarnIcon } from './icons'
import type { MessageProps } from './Message'
import { Parts } from './Parts'
import { PayloadCard } from './PayloadCard'
import { Suggestions } from './Suggestions'
import { useReached } from './useReached'

const SuggestionsSlot = slot('Suggestions', Suggestions)
const ActionsSlot = slot('Actions', AnswerActions)

/** An answer, while it is written and when it is stored: one component, so that it is not laid out again at its end. */
export function Answer({ message, last, onAction, className, children }: MessageProps) {
  const labels = useLabels()
  const view = message.view
  const live = message.status === LIVE
  const seen = useMemo(() => (view && (live || (!view.rewritten && view.refused === 0)) ? sectionsOf(view).flatMap((section) => section.parts) : []), [view, live])
  const kept = useMemo(() => (seen.length > 0 ? [] : partsOfContent(message.content, message.tool_history)), [seen, message.content, message.tool_history])
  const { cards, ends, more } = usePayloads(message)
  const parts = useMemo(() => (seen.length > 0 ? seen : kept).filter((part) => part.kind !== 'payload' || cards.has(part.payloadId)), [seen, kept, cards])
  const inPlace = new Set(parts.map((part) => (part.kind === 'payload' ? part.payloadId : '')))
  const after = [...[...cards.values()].filter((p) => !inPlace.has(p.payload_id ?? '')), ...ends]
  const cardOf = useCallback((id: string) => cards.has(id) && <PayloadCard payload={cards.get(id)!} />, [cards])
  const empty = parts.length === 0 && after.length === 0
  const box = useRef<HTMLElement>(null)
  const store = useChatStore()
  // The run of a stored answer is replayed once the answer is in view.
  useReached(box, !live && !view && message.run_id && message, () => store.recall(message))
  if (live && empty) {
    return (
      <article className={classes('ct-message', className)} data-role="assistant" aria-label={labels.assistant}>
        <div className="ct-bubble ct-thinking"><Dots />{view?.status ? statusWords(labels, view.status) : labels.thinking}</div>
      </article>
    )
  }
  return (
    <article ref={box} className={classes('ct-message', className)} data-role="assistant" data-status={live ? 'streaming' : message.status} aria-label={labels.assistant} aria-busy={live || undefined}>
      {!(empty && message.status === 'error') && (
        <div className="ct-bubble">
          <SourcesProvider {...citedOf(parts)}><Parts parts={parts} runId={message.run_id} streaming={live} payload={cardOf} /></SourcesProvider>
          {empty && <p className="ct-muted">{labels.incomplete}</p>}
          {!live && <Notes message={message} />}
          <PayloadList payloads={after} more={more} />
          {live && parts.at(-1)?.kind !== 'approval' && <div className="ct-live"><Dots />{view?.status && !saysItself(parts) && <span>{statusWords(labels, view.status)}</span>}</div>}
        </div>
      )}
      {message.status === 'error' && <ErrorNote message={message} last={last} />}
      {last && !live && <SuggestionsSlot message={message} onAction={onAction} />}
      {!live && <ActionsSlot message={message} last={last} />}
      {children}
    </article>
  )
}

/** What the numbers in brackets in an answer may refer to: the outputs of its tools, and its own text. */
function citedOf(parts: readonly Part[]): { outputs: string[]; text: string } {
  return { outputs: parts.flatMap((p) => (p.kind === 'tool' && !p.tool.isError ? [p.tool.output] : [])), text: parts.map((p) => (p.kind === 'text' ? p.text : '')).join('\n') }
}

/** Whether the last part shows the current step, so that the status line need not. */
function saysItself(parts: readonly Part[]): boolean {
  const last = parts.at(-1)
  return last?.kind === 'tool' && isBusy(last.tool)
}

/**
 * The payloads of an answer: those that are shown inline or wait for a decision
 * have a card at their place; of the others, mostly results of lookups, the
 * last is shown at the end and the rest after it.
 */
function usePayloads(message: GeneralChatMessage): { cards: Map<string, CustomPayload>; ends: CustomPayload[]; more: CustomPayload[] } {
  const { handlers } = useTray()
  return useMemo(() => {
    const cards = new Map<string, CustomPayload>()
    const rest: CustomPayload[] = []
    for (const p of (message.payloads ?? []).filter(openable)) {
      const handler = payloadHandlerFor(p.type, handlers)
      if (p.payload_id && (handler?.inline || isDecisive(handler))) cards.set(p.payload_id, p)
      else rest.push(p)
    }
    return { cards, ends: rest.slice(-1), more: rest.slice(0, -1) }
  }, [message.payloads, handlers])
}

function PayloadList({ payloads, more }: { payloads: CustomPayload[]; more: CustomPayload[] }) {
  const labels = useLabels()
  const [all, setAll] = useState(false)
  if (payloads.length === 0) return null
  return (
    <div className="ct-payloads">
      {more.length > 0 && !all && <button type="button" className="ct-more" onClick={() => setAll(true)}>{labels.payloadMore(more.length)}</button>}
      {[...(all ? more : []), ...payloads].map((p, i) => <PayloadCard key={p.payload_id ?? i} payload={p} />)}
    </div>
  )
}

function Dots() {
  return <span className="ct-dots" aria-hidden="true"><i /><i /><i /></span>
}

function Notes({ message }: { message: GeneralChatMessage }) {
  const labels = useLabels()
  const stop = { max_tokens: labels.stopMaxTokens, max_iterations: labels.stopMaxIterations, content_filter: labels.stopContentFilter, refusal: labels.stopRefusal, end_turn: '' }
  const notes = [
    message.status === 'cancelled' ? labels.stopped : message.status === 'incomplete' ? labels.incomplete : '',
    message.stop_reason ? stop[message.stop_reason] : '',
    ...(message.warnings ?? []),
  ].filter(Boolean)
  if (notes.length === 0) return null
  return <ul className="ct-notes" aria-label={labels.warnings}>{notes.map((note, i) => <li key={i}><WarnIcon />{note}</li>)}</ul>
}

function ErrorNote({ message, last }: { message: GeneralChatMessage; last: boolean }) {
  const labels = useLabels()
  const store = useChatStore()
  const busy = useBusy()
  return (
    <div className="ct-note" data-tone="error">
      <WarnIcon />
      <div><strong>{labels.errorTitle}</strong><span>{message.error && failureWords(labels, message.error.code, message.error.message)}</span></div>
      {last && <button type="button" className="ct-button ct-small" disabled={busy} onClick={() => void store.retry()}><RetryIcon />{labels.retry}</button>}
    </div>
  )
}
