import { Component, useEffect, useLayoutEffect, useRef, useState, type ReactNode, type RefObject } from 'react'
import type { CustomPayload, Diagnostics } from '../api/types'
import { problemWords } from '../labels'
import { copyText } from '../markdown/copy'
import { headerOf } from '../payloads/registry'
import { useDecision, type Decided } from '../payloads/useDecision'
import { useChatStore } from '../state/context'
import type { GeneralChatMessage } from '../state/state'
import { useLabels, useTray } from '../state/ui'
import { CloseIcon, CopyIcon } from './icons'
import { IconButton } from './Message'
import { useDrag } from './useDrag'

/** The panel beside the tray. Escape closes it; its edge drags. */
export function SidePanel({ title, width, focus = true, onClose, footer, children }: { title: string; width?: string; focus?: boolean; onClose: () => void; footer?: ReactNode; children: ReactNode }) {
  const labels = useLabels()
  const panel = useRef<HTMLElement>(null)
  const [size, setSize] = useState<number | null>(null)
  const drag = useDrag(panel, 'left', size ?? (Number.parseInt(width ?? '', 10) || 480), setSize)
  useEffect(() => setSize(null), [width])
  useFocusLent(panel, focus)
  return (
    <section
      ref={panel} className="ct-panel" aria-label={title} tabIndex={-1} style={{ '--ct-panel-width': size ? `${size}px` : (width ?? '480px') } as React.CSSProperties}
      onKeyDown={(e) => {
        if (e.key !== 'Escape') return
        e.stopPropagation()
        onClose()
      }}
    >
      <div className="ct-resize" role="separator" aria-orientation="vertical" aria-label={labels.resize} tabIndex={0} {...drag} />
      <header className="ct-panel-head"><h2>{title}</h2><IconButton label={labels.closePanel} onClick={onClose}><CloseIcon /></IconButton></header>
      <div className="ct-panel-body" tabIndex={0} role="region" aria-label={title}>{children}</div>
      {footer && <footer className="ct-panel-foot">{footer}</footer>}
    </section>
  )
}

/** Gives a panel the focus, when it is to have it, and gives it back to where it was when the panel goes. */
function useFocusLent(panel: RefObject<HTMLElement | null>, focus: boolean): void {
  useLayoutEffect(() => {
    const element = panel.current
    const before = document.activeElement
    return () => {
      if (before instanceof HTMLElement && element?.contains(document.activeElement)) before.focus({ preventScroll: true })
    }
  }, [panel])
  useEffect(() => {
    if (focus) panel.current?.focus({ preventScroll: true })
  }, [panel, focus])
}

/** Shows a payload with the page's handler, else the registered one, else as JSON. */
export function PayloadPanel({ payload, focus, onClose }: { payload: CustomPayload; focus?: boolean; onClose: () => void }) {
  const { handlerOf } = useTray()
  const labels = useLabels()
  const store = useChatStore()
  const { deciding, problem, decide: begin } = useDecision(payload)
  const handler = handlerOf(payload.type)
  const decide = (outcome: Decided, data?: unknown) => void begin(outcome, data).then((done) => done && onClose())
  const decides = handler !== undefined && !handler.ownButtons && (handler.onAccept !== undefined || handler.onReject !== undefined)
  const footer = problem || (decides && !payload.outcome) ? (
    <>
      {problem && <p className="ct-composer-problem" role="alert">{problem}</p>}
      {handler?.onReject && <button type="button" className="ct-button" disabled={deciding} onClick={() => decide('rejected')}>{labels.reject}</button>}
      {handler?.onAccept && <button type="button" className="ct-button" data-style="primary" disabled={deciding} onClick={() => decide('accepted')}>{labels.accept}</button>}
    </>
  ) : decides && payload.outcome ? <span className="ct-outcome" data-outcome={payload.outcome}>{payload.outcome === 'accepted' ? labels.accepted : labels.rejected}</span> : undefined
  return (
    <SidePanel title={headerOf(handler, labels) || payload.summary || payload.type} width={handler?.renderOptions?.panelWidth} focus={focus} onClose={onClose} footer={footer}>
      <CardBoundary key={payload.payload_id ?? payload.type} fallback={<JsonCard value={payload.data} />}>
        {handler
          ? <div className="ct-own"><Card render={() => handler.render(payload.data, {
            onAccept: (data) => decide('accepted', data), onReject: (data) => decide('rejected', data), outcome: payload.outcome, close: onClose,
            sendMessage: (message) => void store.sendMessage(message), payload,
          })} /></div>
          : <JsonCard value={payload.data} />}
      </CardBoundary>
    </SidePanel>
  )
}

/** Calls render inside of the boundary, so that a broken card shows as JSON. */
function Card({ render }: { render: () => ReactNode }) {
  return <>{render()}</>
}

/** Any data, plainly. */
export function JsonCard({ value }: { value: unknown }) {
  return <pre className="ct-json" dir="ltr" tabIndex={0}>{JSON.stringify(value, null, 2)}</pre>
}

class CardBoundary extends Component<{ fallback: ReactNode; children: ReactNode }, { failed: boolean }> {
  override state = { failed: false }

  static getDerivedStateFromError() {
    return { failed: true }
  }

  override render() {
    return this.state.failed ? this.props.fallback : this.props.children
  }
}

/** The trace of the run behind an answer, for those who may see it (spec 003, "Diagnostics"). */
export function DiagnosticsPanel({ message, onClose }: { message: GeneralChatMessage; onClose: () => void }) {
  const labels = useLabels()
  const store = useChatStore()
  const [trace, setTrace] = useState<Diagnostics | null>(null)
  const [problem, setProblem] = useState('')
  useEffect(() => {
    let here = true
    store.api.getDiagnostics(message.run_id ?? '').then(
      (d) => here && setTrace(d),
      (error: unknown) => here && setProblem(problemWords(labels, error)),
    )
    return () => {
      here = false
    }
  }, [store, message.run_id, labels])
  return (
    <SidePanel
      title={labels.diagnostics} width="640px" onClose={onClose}
      footer={trace && <button type="button" className="ct-button" onClick={() => void copyText(JSON.stringify(trace, null, 2))}><CopyIcon />{labels.copyJson}</button>}
    >
      {problem && <p className="ct-note" data-tone="error">{problem}</p>}
      {!trace && !problem && <p className="ct-muted">{labels.loading}</p>}
      {trace && <Trace trace={trace} />}
    </SidePanel>
  )
}

function Trace({ trace }: { trace: Diagnostics }) {
  const labels = useLabels()
  const iterations = trace.iterations ?? []
  return (
    <div className="ct-trace">
      <dl>
        <dt>{labels.traceModel}</dt><dd>{trace.model}</dd>
        <dt>{labels.traceTools}</dt><dd>{trace.tools?.join(', ') || '–'}</dd>
        <dt>{labels.traceLimits}</dt><dd>{labels.traceLimitsOf(trace.max_tokens, trace.max_iterations, trace.temperature)}</dd>
      </dl>
      <details open><summary>{labels.traceIterations(iterations.length)}</summary>
        {iterations.map((it, i) => (
          <div className="ct-iteration" key={i}>
            <h4>{i + 1}. {it.stop_reason ? labels.traceStop(it.stop_reason) : labels.traceNoReply} <small>{[it.duration_ms !== undefined && labels.milliseconds(it.duration_ms), it.usage && labels.usage(it.usage.input_tokens, it.usage.output_tokens)].filter(Boolean).join(' · ')}</small></h4>
            {it.reply && <pre dir="auto" tabIndex={0}>{it.reply}</pre>}
            {it.tool_calls?.map((call, n) => (
              <details key={n}><summary>{call.tool_name} <small>{labels.milliseconds(call.duration_ms ?? 0)}{call.is_error && ` · ${labels.traceError}`}</small></summary><JsonCard value={call} /></details>
            ))}
          </div>
        ))}
      </details>
      <details><summary>{labels.tracePrompt}</summary><pre dir="auto" tabIndex={0}>{trace.system_prompt}</pre></details>
      <details><summary>{labels.traceMessages(trace.messages?.length ?? 0)}</summary>{trace.messages?.map((m, i) => <div className="ct-iteration" key={i}><h4>{labels.traceRole(m.role)}</h4><pre dir="auto" tabIndex={0}>{m.content}</pre></div>)}</details>
      <details><summary>{labels.traceContext}</summary><JsonCard value={trace.context ?? {}} /></details>
      <details><summary>{labels.traceRaw}</summary><pre dir="auto" tabIndex={0}>{trace.raw_llm_response}</pre></details>
    </div>
  )
}
