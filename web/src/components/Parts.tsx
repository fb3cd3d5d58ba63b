import { memo, useId, useState, type KeyboardEvent, type ReactNode } from 'react'
import { failureWords } from '../labels/tray'
import { Markdown } from '../markdown/Markdown'
import { Boundary } from '../state/Boundary'
import { keyOf } from '../state/keys'
import { slot } from '../state/slots'
import { piecesOf } from '../state/values/trail'
import { useLabels, useTray } from '../state/tray'
import type { Part, Section, ThreadView, ToolView } from '../state/values/view'
import { BulbIcon, CheckIcon, ChevronIcon, ListIcon } from './icons'
import { IconButton } from './IconButton'
import { Approval } from './laterParts'
import { ToolCallCard } from './ToolCallCard'
import { Trail } from './Trail'

interface Shown {
  runId?: string
  streaming: boolean
  /** Shows a payload in its place; without it payloads are not shown here. */
  payload?: (payloadId: string) => ReactNode
}

/** An answer's sections, one after the other; successive calls are grouped across sections. */
export function Sections({ sections, ...shown }: { sections: Section[] } & Shown) {
  return <Parts parts={sections.flatMap((section) => section.parts)} {...shown} />
}

/** Parts of an answer: text, reasoning, calls, parallel work, approvals. Successive calls share a line. */
export function Parts({ parts, ...shown }: { parts: Part[] } & Shown) {
  const { toolRenderers } = useTray()
  const pieces = piecesOf(parts, (tool) => Object.hasOwn(toolRenderers, tool))
  return (
    <>
      {pieces.map((piece) => {
        if (piece.kind === 'part') return <PartView key={piece.key} part={piece.part} {...shown} />
        // A group of one call is shown as the call itself.
        if (piece.parts.length === 1) return <PartView key={piece.key} part={piece.parts[0]!} {...shown} />
        return <Trail key={piece.key} tools={piece.tools}>{piece.parts.map((part) => <PartView key={part.key} part={part} {...shown} />)}</Trail>
      })}
    </>
  )
}

function PartView({ part, ...shown }: { part: Part } & Shown) {
  const { runId, streaming } = shown
  switch (part.kind) {
    case 'text':
      return <Markdown text={part.text} streaming={streaming && part.open} />
    case 'thinking':
      return <Reasoning text={part.text} live={part.open} />
    case 'tool':
      return <Tool tool={part.tool} runId={runId} />
    case 'threads':
      return <Threads part={part} {...shown} />
    case 'media':
      return <Media type={part.type} props={part.props} />
    case 'approval':
      return <ApprovalSlot approval={part.approval} runId={runId} />
    case 'payload':
      return <>{shown.payload?.(part.payloadId)}</>
    case 'error':
      return <Failed code={part.code} message={part.message} />
  }
}

const ApprovalSlot = slot('Approval', Approval)
const ToolCallSlot = slot('ToolCall', ToolCallCard)

/** A call, shown by the page's renderer for this tool, else as a card. */
function Tool({ tool, runId }: { tool: ToolView; runId?: string }) {
  const { toolRenderers } = useTray()
  const Own = Object.hasOwn(toolRenderers, tool.name) ? toolRenderers[tool.name] : undefined
  const usual = <ToolCallSlot tool={tool} runId={runId} />
  return Own ? <div className="ct-own ct-tool-own" data-tool={tool.name} data-status={tool.status}><Boundary of={tool.status} instead={usual}><Own tool={tool} runId={runId}>{usual}</Own></Boundary></div> : usual
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

/** Parallel threads: a tab for each, or all in the order of arrival; the reader chooses. */
function Threads({ part, ...shown }: { part: Extract<Part, { kind: 'threads' }> } & Shown) {
  const { streaming } = shown
  const labels = useLabels()
  const id = useId()
  const [chosen, setChosen] = useState('')
  const [all, setAll] = useState(false)
  const { threads } = part
  const thread = threads.find((t) => t.id === chosen) ?? threads[0]!
  const busy = ({ status }: ThreadView) => status === '' && streaming
  const onKeyDown = (e: KeyboardEvent<HTMLElement>) => {
    const key = keyOf(e)
    const step = key === 'ArrowRight' ? 1 : key === 'ArrowLeft' ? -1 : 0
    if (step === 0) return
    e.preventDefault()
    const next = threads[(threads.indexOf(thread) + (getComputedStyle(e.currentTarget).direction === 'rtl' ? -step : step) + threads.length) % threads.length]!
    setChosen(next.id)
    e.currentTarget.querySelectorAll<HTMLElement>('[role=tab]')[threads.indexOf(next)]?.focus()
  }
  return (
    <div className="ct-threads" role="group" aria-label={labels.threads}>
      <div className="ct-threads-head">
        <div className="ct-tabs" role={all ? undefined : 'tablist'} aria-label={all ? undefined : labels.threads} onKeyDown={onKeyDown}>
          {!all && threads.map((t) => (
            <button type="button" role="tab" key={t.id} id={`${id}${t.id}`} className="ct-tab" aria-selected={t === thread} aria-controls={`${id}-panel`} tabIndex={t === thread ? 0 : -1} onClick={() => setChosen(t.id)}>
              {busy(t) ? <span className="ct-spinner" /> : <CheckIcon />}<span>{t.label}</span>
            </button>
          ))}
        </div>
        <IconButton label={all ? labels.threadsSide : labels.threadsOrder} pressed={all} onClick={() => setAll(!all)}><ListIcon /></IconButton>
      </div>
      {all
        ? part.order.map(({ thread: name, part: inner }) => <div className="ct-thread" key={inner.key}><h4>{name}</h4><PartView part={inner} {...shown} /></div>)
        : <div className="ct-thread" role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}${thread.id}`}><Parts parts={thread.parts} {...shown} /></div>}
    </div>
  )
}

/** Images that the service sends as data are shown; media with an address are links. */
function Media({ type, props }: { type: string; props: Record<string, unknown> }) {
  const labels = useLabels()
  const data = typeof props.content === 'string' ? props.content : typeof props.data === 'string' ? props.data : ''
  const mime = typeof props.mime === 'string' && /^image\/(png|jpeg|gif|webp)$/.test(props.mime) ? props.mime : ''
  const url = typeof props.url === 'string' ? props.url : ''
  const name = typeof props.alt === 'string' ? props.alt : typeof props.name === 'string' ? props.name : labels.media(type)
  if (type === 'image' && mime && /^[A-Za-z0-9+/=\s]+$/.test(data)) return <img className="ct-media" src={`data:${mime};base64,${data}`} alt={name} />
  return url ? <Markdown text={`[${name.replace(/[[\]]/g, '')}](<${url.replace(/[<>]/g, '')}>)`} /> : <p className="ct-muted">{name}</p>
}
