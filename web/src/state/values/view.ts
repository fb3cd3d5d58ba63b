import type { CustomPayload, Props, ToolCall } from '../../api/types'
import { MAX_DEPTH, type Folded } from './delta'
import { isResult, text, type RunView } from './run'

/** A tool call as a card shows it. */
export interface ToolView {
  key: string
  /** The number of the call in the run; -1 while it is unknown. */
  index: number
  name: string
  /** What the call does and what it has done, for users; empty if the tool does not say. See titleOf and doneWords. */
  title: string
  done: string
  input: unknown
  output: string
  isError: boolean
  /** A call that the user did not allow is `denied`, which is no failure. */
  status: 'preparing' | 'waiting' | 'running' | 'completed' | 'error' | 'denied' | 'cancelled'
  /** The user's decision about the call; undefined if none was needed, or none was made yet. */
  approved?: boolean
  progress: number
  stage: string
  message: string
  durationMs?: number
}

/** A call that waits for the user's approval. */
export interface ApprovalView {
  id: string
  tool: string
  title: string
  /** What the tool is, as the model reads it. */
  description: string
  input: unknown
  message: string
  expiresAt: string
  /** A code, see approvalReason in Approval; empty in answers of older versions. */
  reason: string
}

export interface ThreadView {
  id: string
  label: string
  status: string
  parts: Part[]
}

/** A part of an answer, in order. */
export type Part =
  | { kind: 'text'; key: string; text: string; open: boolean }
  | { kind: 'thinking'; key: string; text: string; open: boolean }
  | { kind: 'tool'; key: string; tool: ToolView }
  | { kind: 'threads'; key: string; threads: ThreadView[]; order: { thread: string; part: Part }[] }
  | { kind: 'media'; key: string; type: string; props: Record<string, unknown> }
  | { kind: 'error'; key: string; code: string; message: string }
  | { kind: 'approval'; key: string; approval: ApprovalView }
  | { kind: 'payload'; key: string; payloadId: string }

/** A section is a block: a call of the model, or a phase of tools. */
export interface Section {
  key: string
  type: string
  parts: Part[]
}

/** Arranges a run in sections. */
export function sectionsOf(run: RunView): Section[] {
  const tools = collectTools(run)
  const complex = complexThreads(run)
  const sections: Section[] = []
  const shown = new Set<string>()
  const section = (m: Folded): Section => {
    const block = outermost(run, m)
    const key = block || 'main'
    const inner = m.thread !== '' ? sections.find((s) => s.key === key) : undefined
    if (inner) return inner
    const last = sections.at(-1)
    if (last && last.key === key) return last
    const made: Section = { key: sections.some((s) => s.key === key) ? `${key}:${sections.length}` : key, type: run.blocks.find((b) => b.id === block)?.type ?? '', parts: [] }
    sections.push(made)
    return made
  }
  for (const m of run.fold.messages) {
    if (writesDocument(run, m)) continue
    const part = partOf(m, tools, shown, run.outcome !== null)
    if (!part) continue
    if (m.thread !== '' && complex.has(m.thread)) addToThread(section(m), run, m, part)
    else section(m).parts.push(part)
  }
  return sections.filter((s) => s.parts.length > 0)
}

/** Whether a message is the content of a document's block, which the document shows. */
export function writesDocument(run: RunView, m: Folded): boolean {
  const block = run.blocks.find((b) => b.id === m.block)
  return block !== undefined && block.ref !== '' && block.type !== 'llm' && block.type !== 'tool' && block.type !== 'mcp'
}

/** The block of the main stream that a message belongs to: threads have their own blocks inside it. */
function outermost(run: RunView, m: Folded): string {
  let { block, thread } = m
  for (let depth = 0; thread !== '' && depth < MAX_DEPTH; depth++) {
    block = run.threads.find((t) => t.id === thread)?.block || block
    thread = run.blocks.find((b) => b.id === block)?.thread ?? ''
  }
  return block
}

/** Threads that have more than a call and its payload. */
function complexThreads(run: RunView): Set<string> {
  return new Set(run.fold.messages.filter((m) => m.thread !== '' && ((m.type === 'text' && !isResult(m)) || m.type === 'thinking')).map((m) => m.thread))
}

/** Whether a run has more to show than its stored text and calls. */
export function showsMore(run: RunView): boolean {
  return run.fold.messages.some((m) => m.type === 'thinking' || m.type === 'approval') || complexThreads(run).size > 0
}

function addToThread(section: Section, run: RunView, m: Folded, part: Part): void {
  let group = section.parts.find((p) => p.kind === 'threads')
  if (!group) {
    group = { kind: 'threads', key: `threads:${section.key}`, threads: [], order: [] }
    section.parts.push(group)
  }
  let thread = group.threads.find((t) => t.id === m.thread)
  if (!thread) {
    const level = run.threads.find((t) => t.id === m.thread)
    thread = { id: m.thread, label: level?.label || m.thread, status: level?.status ?? '', parts: [] }
    group.threads.push(thread)
  }
  thread.parts.push(part)
  group.order.push({ thread: thread.label, part })
}

function partOf(m: Folded, tools: Map<string, ToolView>, shown: Set<string>, over: boolean): Part | null {
  const key = m.id || `${m.type}:${m.first}`
  const open = !m.closed && !over
  switch (m.type) {
    case 'text':
    case 'thinking':
      return isResult(m) || text(m.props.content).trim() === '' ? null : { kind: m.type, key, text: text(m.props.content), open }
    case 'tool_call':
    case 'approval': {
      const id = text(m.props.id) || key
      const tool = tools.get(id)
      if (!tool || shown.has(id)) return null
      if (tool.status !== 'waiting') {
        shown.add(id)
        return { kind: 'tool', key: `tool:${id}`, tool }
      }
      return m.type === 'approval' && open ? { kind: 'approval', key: `approval:${id}`, approval: approvalOf(m.props) } : null
    }
    case 'image':
    case 'audio':
    case 'video':
      return { kind: 'media', key, type: m.type, props: m.props }
    case 'error':
      return { kind: 'error', key, code: text(m.props.code), message: text(m.props.message) }
    default:
      return typeof m.props.payload_id === 'string' ? { kind: 'payload', key: `payload:${m.props.payload_id}`, payloadId: m.props.payload_id } : null
  }
}

function approvalOf(props: Props): ApprovalView {
  return {
    id: text(props.approval_id), tool: text(props.name), title: text(props.title), description: text(props.description), input: props.input, message: text(props.message),
    reason: text(props.reason), expiresAt: text(props.expires_at),
  }
}

/** The call of the current run that waits for the user's approval. One that an earlier attempt showed is closed: a later attempt shows it again. */
export function waitingApproval(run: RunView | null): ApprovalView | undefined {
  if (!run || run.outcome) return undefined
  const m = run.fold.messages.findLast((message) => message.type === 'approval' && typeof message.props.approved !== 'boolean' && !message.closed)
  return m && approvalOf(m.props)
}

/** Calls by id: what the model wrote, and the result. A call that ran again after a recovery counts once. */
function collectTools(run: RunView): Map<string, ToolView> {
  const tools = new Map<string, ToolView>()
  const over = run.outcome !== null
  for (const m of run.fold.messages) {
    const id = text(m.props.id) || m.id
    const before = tools.get(id) ?? { ...noTool, key: id, name: text(m.props.name) }
    const title = text(m.props.title) || before.title
    if (m.type === 'tool_call' && typeof m.props.index !== 'number') {
      tools.set(id, { ...before, name: text(m.props.name), input: parsed(text(m.props.arguments)), status: over ? 'cancelled' : 'preparing' })
    } else if (m.type === 'tool_call') {
      tools.set(id, called(m, { ...before, title }, over))
    } else if (isResult(m)) {
      const call = tools.get(text(m.props.tool_use_id))
      if (call) tools.set(call.key, withResult(call, m.props, text(m.props.content)))
    } else if (m.type === 'client_tool_call') {
      tools.set(id, { ...before, title, input: m.props.input, status: over ? 'cancelled' : 'running' })
    } else if (m.type === 'approval') {
      const approved = typeof m.props.approved === 'boolean' ? m.props.approved : undefined
      tools.set(id, { ...before, title, input: m.props.input, approved, status: approved === false ? 'denied' : over ? 'cancelled' : approved ? 'running' : 'waiting' })
    }
  }
  return finished(run, tools)
}

const noTool: ToolView = { key: '', index: -1, name: '', title: '', done: '', input: undefined, output: '', isError: false, status: 'preparing', progress: 0, stage: '', message: '' }

/** A call that runs, or has run; in logs of older versions the result is in its message. */
function called(m: Folded, before: ToolView, over: boolean): ToolView {
  const open = over || (m.closed && m.status !== 'completed' && m.status !== 'error') ? 'cancelled' : 'running'
  const call: ToolView = {
    ...before, index: typeof m.props.index === 'number' ? m.props.index : -1, name: text(m.props.name), input: parsed(text(m.props.arguments)),
    status: m.props.denied === true || before.approved === false ? 'denied' : open,
    progress: typeof m.props.progress === 'number' ? m.props.progress : 0, stage: text(m.props.stage), message: text(m.props.status_message),
  }
  return m.props.output === undefined ? call : withResult(call, m.props, text(m.props.output))
}

function withResult(call: ToolView, props: Props, output: string): ToolView {
  const isError = props.is_error === true
  return { ...call, output, isError, done: text(props.done), status: call.status === 'denied' ? 'denied' : isError ? 'error' : 'completed', progress: 1 }
}

/** Adds what only the payload of a completed run has, such as the durations of the calls. */
function finished(run: RunView, tools: Map<string, ToolView>): Map<string, ToolView> {
  const history = run.outcome?.status === 'completed' ? (run.outcome.payload.tool_history ?? []) : []
  for (const [id, tool] of tools) {
    const entry = history.find((h) => h.tool_use_id === id) ?? history[tool.index]
    if (entry) tools.set(id, { ...tool, output: tool.output || entry.output, durationMs: entry.duration_ms, title: tool.title || (entry.title ?? ''), done: tool.done || (entry.done ?? ''), status: tool.approved === false ? 'denied' : entry.is_error ? 'error' : 'completed', isError: entry.is_error ?? false })
  }
  return tools
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return json
  }
}

const marker = /\[\[tool:(\d{1,6})\]\]/g

/** Arranges a stored answer: its text, with the calls in place of their markers. A marker without a call is dropped. */
export function partsOfContent(content: string, history: readonly ToolCall[] = []): Part[] {
  const parts: Part[] = []
  const placed = new Set<number>()
  let from = 0
  const push = (piece: string) => {
    if (piece.trim() !== '') parts.push({ kind: 'text', key: `text:${parts.length}`, text: piece, open: false })
  }
  for (const match of content.matchAll(marker)) {
    const n = Number(match[1])
    const entry = history[n]
    push(content.slice(from, match.index))
    from = match.index + match[0].length
    if (entry && !placed.has(n)) {
      placed.add(n)
      parts.push({ kind: 'tool', key: `tool:${n}`, tool: toolOf(entry, n) })
    }
  }
  push(content.slice(from))
  return parts
}


function toolOf(entry: ToolCall, index: number): ToolView {
  return {
    ...noTool, key: String(index), index, name: entry.tool_name, title: entry.title ?? '', done: entry.done ?? '', input: entry.input, output: entry.output, isError: entry.is_error ?? false,
    status: entry.is_error ? 'error' : 'completed', progress: 1, durationMs: entry.duration_ms,
  }
}

/** The payload that the tray opens by itself; tool history is shown in place. */
export function openable(payload: CustomPayload | undefined): payload is CustomPayload {
  return payload !== undefined && payload.type !== 'tool_history'
}
