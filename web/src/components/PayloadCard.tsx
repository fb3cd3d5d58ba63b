import { useEffect, useId, useRef, useState, type RefObject } from 'react'
import type { CustomPayload } from '../api/types'
import { PayloadContent, useOwnButtons } from '../payloads/PayloadContent'
import { headerOf, isDecisive, payloadHandlerFor, type PayloadHandler } from '../payloads/registry'
import { useDecision, type Decided } from '../payloads/useDecision'
import { useChatStore } from '../state/context'
import { classes, type PartProps } from '../state/slots'
import { useLabels, useTray } from '../state/tray'
import { useLatest } from '../state/useLatest'
import { CheckIcon, CloseIcon, PanelIcon } from './icons'
import { useReached } from './useReached'

export interface PayloadCardProps extends PartProps {
  payload: CustomPayload
}

/**
 * A payload in the answer. A payload whose handler shows it inline is shown
 * completely, with its buttons; any other has a line that opens it: in the
 * panel, or in place if there is no room for a panel.
 */
export function PayloadCard({ payload, className, children }: PayloadCardProps) {
  const { handlers, openPayload, closePayload, expanded } = useTray()
  const [own, setOwn] = useState(false)
  const labels = useLabels()
  const title = useId()
  const box = useRef<HTMLElement>(null)
  const handler = payloadHandlerFor(payload.type, handlers)
  const words = payload.summary || headerOf(handler, labels) || payload.type
  const open = openPayload ? expanded !== '' && expanded === payload.payload_id : own
  const show = (on: boolean) => (!openPayload ? setOwn(on) : on ? openPayload(payload) : closePayload())
  const inline = handler?.inline !== undefined
  const undecided = isDecisive(handler) && !payload.outcome
  const waits = undecided && !handler?.ownButtons
  useDecidedElsewhere(undecided ? payload.payload_id : undefined, box)
  const line = (
    <>
      <PanelIcon />
      <span>{words}</span>
      {payload.outcome && <Outcome outcome={payload.outcome} />}
      {!payload.outcome && !inline && <small>{open ? labels.payloadClose : waits ? labels.payloadReview : labels.payloadOpen}</small>}
    </>
  )
  return (
    <section ref={box} className={classes('ct-payload-card', className)} data-type={payload.type} data-inline={inline || open || undefined}>
      {inline && !handler?.render ? <div className="ct-payload" id={title} title={words}>{line}</div> : <button type="button" className="ct-payload" id={title} onClick={() => show(!open)} title={words} aria-expanded={inline ? undefined : open}>{line}</button>}
      {(inline || open) && <Opened payload={payload} handler={handler} place={inline ? 'inline' : 'render'} title={title} close={() => show(false)} />}
      {children}
    </section>
  )
}

/**
 * Asks whether a payload was decided on another device, each time the page is seen again: at once, or when the payload's line comes
 * into sight, since a chat may have many payloads that nobody will decide.
 */
export function useDecidedElsewhere(id: string | undefined, line?: RefObject<Element | null>): void {
  const store = useChatStore()
  const [seen, setSeen] = useState(0)
  const ask = useLatest(() => {
    const { conversationId } = store.getSnapshot()
    if (!id || conversationId === null) return
    store.api.getPayload(conversationId, id).then(({ outcome }) => outcome && store.dispatch({ type: 'resolved', payloadId: id, outcome }), () => undefined)
  })
  useEffect(() => {
    if (!id) return
    const look = () => {
      if (document.hidden) return
      if (line) setSeen((times) => times + 1)
      else ask.current()
    }
    document.addEventListener('visibilitychange', look)
    return () => document.removeEventListener('visibilitychange', look)
  }, [id, line, ask])
  useReached(line ?? none, id && seen, () => ask.current())
}

const none = { current: null }

function Opened({ payload, handler, place, title, close }: { payload: CustomPayload; handler: PayloadHandler | undefined; place: 'inline' | 'render'; title: string; close: () => void }) {
  const { decide, deciding, problem } = useDecision(payload)
  const [own, setOwn] = useOwnButtons(handler)
  const act = (outcome: Decided, data?: unknown) => void decide(outcome, data).then((done) => done && close())
  return (
    <>
      <div className="ct-payload-body" role="group" aria-labelledby={title} tabIndex={0}><PayloadContent payload={payload} handler={handler} place={place} decide={act} close={close} onOwnButtons={setOwn} /></div>
      <DecisionButtons payload={payload} handler={handler} own={own} deciding={deciding} problem={problem} decide={act} />
    </>
  )
}

/** The buttons under a payload that waits for the user, and why the last try failed. */
export function DecisionButtons({ payload, handler, own, deciding, problem, decide }: {
  payload: CustomPayload
  handler: PayloadHandler | undefined
  /** The card has buttons of its own. */
  own: boolean
  deciding: boolean
  problem: string
  decide: (outcome: Decided) => void
}) {
  const labels = useLabels()
  const buttons = isDecisive(handler) && !own && !payload.outcome
  if (!buttons && !problem) return null
  return (
    <div className="ct-row ct-payload-decide">
      {problem && <p className="ct-composer-problem" role="alert">{problem}</p>}
      {buttons && handler?.onReject && <button type="button" className="ct-button" disabled={deciding} onClick={() => decide('rejected')}>{labels.reject}</button>}
      {buttons && handler?.onAccept && <button type="button" className="ct-button" data-style="primary" disabled={deciding} onClick={() => decide('accepted')}>{labels.accept}</button>}
    </div>
  )
}

function Outcome({ outcome }: { outcome: Decided }) {
  const labels = useLabels()
  const accepted = outcome === 'accepted'
  return <em data-outcome={outcome}>{accepted ? <CheckIcon /> : <CloseIcon />}{accepted ? labels.accepted : labels.rejected}</em>
}
