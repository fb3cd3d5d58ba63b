import { memo, useState } from 'react'
import { approvalReason, failureWords, problemWords } from '../labels'
import { Markdown } from '../markdown/Markdown'
import { useLabels } from '../state/ui'
import { useChatStore } from '../state/context'
import type { ApprovalView, Part, Section } from '../state/view'
import { BulbIcon, ChevronIcon, ShieldIcon } from './icons'
import { ToolCallCard } from './ToolCallCard'

/** An answer's sections, one for each block. */
export function Sections({ sections, runId, streaming }: { sections: Section[]; runId?: string; streaming: boolean }) {
  return (
    <>
      {sections.map((section) => (
        <div className="ct-section" data-type={section.type || undefined} key={section.key}>
          <Parts parts={section.parts} runId={runId} streaming={streaming} />
        </div>
      ))}
    </>
  )
}

export function Parts({ parts, runId, streaming }: { parts: Part[]; runId?: string; streaming: boolean }) {
  return <>{parts.map((part) => <PartView key={part.key} part={part} runId={runId} streaming={streaming} />)}</>
}

function PartView({ part, runId, streaming }: { part: Part; runId?: string; streaming: boolean }) {
  switch (part.kind) {
    case 'text':
      return <Markdown text={part.text} streaming={streaming && part.open} />
    case 'thinking':
      return <Reasoning text={part.text} live={part.open} />
    case 'tool':
      return <ToolCallCard tool={part.tool} runId={runId} />
    case 'threads':
      return <Threads part={part} runId={runId} streaming={streaming} />
    case 'media':
      return <Media type={part.type} props={part.props} />
    case 'approval':
      return <Approval approval={part.approval} runId={runId} />
    case 'error':
      return <Failed code={part.code} message={part.message} />
  }
}

function Failed({ code, message }: { code: string; message: string }) {
  const labels = useLabels()
  return <p className="ct-note" data-tone="error">{failureWords(labels, code, message)}</p>
}

/** The model's reasoning: open while it streams, folded when it is done. */
const Reasoning = memo(function Reasoning({ text, live }: { text: string; live: boolean }) {
  const labels = useLabels()
  const [chosen, setChosen] = useState<boolean | null>(null)
  const open = chosen ?? live
  return (
    <div className="ct-reasoning" data-live={live}>
      <button type="button" className="ct-reasoning-head" aria-expanded={open} onClick={() => setChosen(!open)}>
        <BulbIcon /><span>{live ? labels.reasoningLive : labels.reasoning}</span><span className="ct-chevron" data-open={open}><ChevronIcon /></span>
      </button>
      {open && <div className="ct-reasoning-body"><Markdown text={text} streaming={live} /></div>}
    </div>
  )
})

/** Work that went on at once: side by side, or as it arrived; the reader chooses. */
function Threads({ part, runId, streaming }: { part: Extract<Part, { kind: 'threads' }>; runId?: string; streaming: boolean }) {
  const labels = useLabels()
  const [side, setSide] = useState(true)
  return (
    <div className="ct-threads" role="group" aria-label={labels.threads}>
      <div className="ct-segmented">
        <button type="button" aria-pressed={side} onClick={() => setSide(true)}>{labels.threadsSide}</button>
        <button type="button" aria-pressed={!side} onClick={() => setSide(false)}>{labels.threadsOrder}</button>
      </div>
      {side ? (
        <div className="ct-threads-side">
          {part.threads.map((thread) => (
            <div className="ct-thread" key={thread.id}>
              <h4>{thread.status === '' && streaming && <span className="ct-spinner" />}{thread.label}</h4>
              <Parts parts={thread.parts} runId={runId} streaming={streaming} />
            </div>
          ))}
        </div>
      ) : (
        part.order.map(({ thread, part: inner }) => (
          <div className="ct-thread" key={inner.key}><h4>{thread}</h4><PartView part={inner} runId={runId} streaming={streaming} /></div>
        ))
      )}
    </div>
  )
}

/** What the service asks when a tool has no words of its own; the title says it already. */
const usual = (tool: string) => `The assistant wants to run ${tool}. Approve it?`

/** A call that waits until the user allows or denies it. */
function Approval({ approval, runId }: { approval: ApprovalView; runId?: string }) {
  const labels = useLabels()
  const store = useChatStore()
  const [state, setState] = useState<{ sent?: boolean; problem?: string }>({})
  const answer = (approved: boolean) => {
    setState({ sent: true })
    store.api.answerApproval(runId ?? '', approval.id, approved).catch((error: unknown) => setState({ problem: problemWords(labels, error) }))
  }
  const waits = approval.approved === undefined
  const why = approvalReason(labels, approval.reason)
  return (
    <div className="ct-approval" data-waits={waits} role="group" aria-label={labels.approvalTitle}>
      <p><ShieldIcon /><strong>{waits ? labels.approvalTitle : approval.approved ? labels.approved : labels.denied}</strong> <code>{approval.tool}</code></p>
      {approval.message && approval.message !== usual(approval.tool) && <p>{approval.message}</p>}
      {waits && why && <p>{why}</p>}
      <pre dir="ltr" tabIndex={0}>{JSON.stringify(approval.input ?? {}, null, 2)}</pre>
      {state.problem && <p className="ct-composer-problem" role="alert">{state.problem}</p>}
      {waits && (
        <div className="ct-row">
          <button type="button" className="ct-button" data-style="primary" disabled={state.sent} onClick={() => answer(true)}>{labels.approve}</button>
          <button type="button" className="ct-button" disabled={state.sent} onClick={() => answer(false)}>{labels.deny}</button>
        </div>
      )}
    </div>
  )
}

/** Images that the service sends as data are shown; what has an address is a link. */
function Media({ type, props }: { type: string; props: Record<string, unknown> }) {
  const labels = useLabels()
  const data = typeof props.content === 'string' ? props.content : typeof props.data === 'string' ? props.data : ''
  const mime = typeof props.mime === 'string' && /^image\/(png|jpeg|gif|webp)$/.test(props.mime) ? props.mime : ''
  const url = typeof props.url === 'string' ? props.url : ''
  const name = typeof props.alt === 'string' ? props.alt : typeof props.name === 'string' ? props.name : labels.media(type)
  if (type === 'image' && mime && /^[A-Za-z0-9+/=\s]+$/.test(data)) return <img className="ct-media" src={`data:${mime};base64,${data}`} alt={name} />
  return url ? <Markdown text={`[${name.replace(/[[\]]/g, '')}](<${url.replace(/[<>]/g, '')}>)`} /> : <p className="ct-muted">{name}</p>
}
