import { useEffect, useState } from 'react'
import type { Diagnostics } from '../api/types'
import { problemWords } from '../labels/tray'
import { useCopy } from '../markdown/copy'
import { JsonCard } from '../payloads/PayloadContent'
import { useChatStore } from '../state/context'
import type { GeneralChatMessage } from '../state/values/state'
import { useAllLabels } from '../state/allLabels'
import { whenSettled } from '../state/whenSettled'
import { CopyIcon } from './icons'
import { SidePanel } from './SidePanel'

export interface DiagnosticsPanelProps {
  message: GeneralChatMessage
  onClose: () => void
}

/** The trace of the run behind an answer, for those who may see it. */
export default function DiagnosticsPanel({ message, onClose }: DiagnosticsPanelProps) {
  const labels = useAllLabels()
  const store = useChatStore()
  const [trace, setTrace] = useState<Diagnostics | null>(null)
  const [problem, setProblem] = useState<unknown>()
  const [done, copy] = useCopy()
  useEffect(() => whenSettled(store.api.getDiagnostics(message.run_id ?? ''), setTrace, setProblem), [store, message.run_id])
  return (
    <SidePanel
      title={labels.diagnostics} width="640px" onClose={onClose}
      footer={trace && <button type="button" className="ct-button" onClick={() => copy({ text: JSON.stringify(trace, null, 2) })}><CopyIcon /><span aria-live="polite">{labels[done ?? 'copyJson']}</span></button>}
    >
      {problem !== undefined && <p className="ct-note" data-tone="error">{problemWords(labels, problem)}</p>}
      {!trace && problem === undefined && <p className="ct-muted">{labels.loading}</p>}
      {trace && <Trace trace={trace} />}
    </SidePanel>
  )
}

function Trace({ trace }: { trace: Diagnostics }) {
  const labels = useAllLabels()
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
