import type { CustomPayload, SocketChunk, SuggestedAction, SuggestedValue } from '../api/types'

/** Limits of the state of a socket. The oldest items are dropped first; runs and blocks only once they have ended. */
export const CHUNK_LIMITS = { runs: 50, tools: 200, payloads: 100, warnings: 50, blocks: 1000 }

/** The state of a call, folded from its chunks. */
export interface SocketTool {
  tool_use_id: string
  tool: string
  index: number
  state: 'running' | 'completed' | 'error' | 'denied'
  input?: unknown
  title?: string
  stage?: string
  message?: string
  progress: number
  output?: string
  done?: string
  /** The number of its last chunk. */
  last: number
}

/** A call that waits, or waited, for the user. */
export interface SocketApproval {
  approval_id: string
  tool: string
  tool_use_id: string
  input?: unknown
  message: string
  title?: string
  description?: string
  reason?: string
  expires_at?: string
  /** The decision; absent while it waits. */
  approved?: boolean
  last: number
}

/** A call that waits for the page. */
export interface SocketClientCall {
  tool: string
  tool_use_id: string
  input?: unknown
  expires_at?: string
  last: number
}

/** The state of a run, folded from its chunks so far. */
export interface SocketRun {
  run_id: string
  chat_id: string
  conversation_id?: number
  /** The message of the chat that keeps the answer; in a chat it is also the block of its text. */
  message_id: string
  /** Empty until the run has ended, then completed, failed or cancelled. */
  state: string
  /** What the run is doing, in English; for labels, its code and the tool that it names. Empty while the run writes. */
  status: string
  status_code: string
  status_tool: string
  /** The number of the last chunk, with which a client resumes. */
  last: number
  tools: readonly SocketTool[]
  approvals: readonly SocketApproval[]
  calls: readonly SocketClientCall[]
  /** In the order of their places: the payload of a call comes before those of the text after it. */
  payloads: readonly { payload: CustomPayload; last: number; place: number }[]
  values: readonly SuggestedValue[]
  actions: readonly SuggestedAction[]
  warnings: readonly string[]
  error?: { code: string; message: string }
}

/** The state of a block, folded from its chunks so far. */
export interface SocketBlock {
  id: string
  type: string
  document_id: string
  run_id: string
  content: string
  /** The header of a chart or an image, JSON; empty before it has arrived. */
  meta: string
  /** A withdrawn block has no content: it is as it was before, or removed. */
  state: 'planned' | 'writing' | 'done' | 'withdrawn'
  /** The value of SocketFold.steps when it was ended or withdrawn. */
  step: number
}

/** Everything that a socket has shown. It is a value: foldChunk returns a new one. */
export interface SocketFold {
  /** The run of the last chunk that belonged to a run. */
  current: string
  runs: readonly SocketRun[]
  blocks: Readonly<Record<string, SocketBlock>>
  /** Counts the chunks that may have changed documents: ends of blocks, plans, calls and runs. */
  steps: number
}

/** The state before the first chunk. */
export const emptySocketFold: SocketFold = { current: '', runs: [], blocks: {}, steps: 0 }

/** The types of chunks without content of a block. */
const beside = new Set(['status', 'reset', 'error', 'run_end', 'tool', 'approval_request', 'approval_resolved', 'client_tool_call', 'payload', 'suggestions', 'warning', 'ack'])
/** The chunks that the service repeats for a client that reconnects: they change nothing twice. */
const again = new Set(['error', 'run_end', 'suggestions', 'warning'])
const asks = new Set(['approval_request', 'client_tool_call'])

/** Adds a chunk. A chunk that belongs to no run, or was added before, changes nothing. */
export function foldChunk(fold: SocketFold, chunk: SocketChunk): SocketFold {
  const { seq = 0 } = chunk
  if (seq === 0) return fold
  const id = chunk.run_id ?? fold.current
  if (id === '') return fold
  const known = fold.runs.find((r) => r.run_id === id)
  const before: SocketRun = known ?? { run_id: id, chat_id: '', message_id: '', state: '', ...silent, last: 0, tools: [], approvals: [], calls: [], payloads: [], values: [], actions: [], warnings: [] }
  const here = fold.current === id ? fold : { ...fold, current: id }
  if (seq < before.last && !asks.has(chunk.type)) return here
  if (seq === before.last && !chunk.end && !again.has(chunk.type) && !asks.has(chunk.type)) return here
  const run: SocketRun = {
    ...before, last: Math.max(seq, before.last),
    ...(chunk.chat_id && { chat_id: chunk.chat_id }), ...(chunk.conversation_id && { conversation_id: chunk.conversation_id }), ...(chunk.message_id && { message_id: chunk.message_id }),
  }
  const next = beside.has(chunk.type) ? foldBeside(here, run, chunk, seq) : foldContent(here, run, chunk)
  const runs = known ? next.fold.runs.map((r) => (r === known ? next.run : r)) : bounded([...next.fold.runs, next.run], CHUNK_LIMITS.runs, (r) => r.state !== '')
  return { ...next.fold, runs }
}

/** A run without a status line. */
const silent = { status: '', status_code: '', status_tool: '' }

interface Step {
  fold: SocketFold
  run: SocketRun
}

function foldBeside(fold: SocketFold, run: SocketRun, chunk: SocketChunk, seq: number): Step {
  switch (chunk.type) {
    case 'status':
      return { fold, run: { ...run, status: chunk.content ?? '', status_code: chunk.status_code ?? '', status_tool: chunk.values?.tool ?? '' } }
    case 'tool':
      return foldTool(fold, run, chunk, seq)
    case 'approval_request':
    case 'client_tool_call':
      return { fold, run: asked(run, chunk, seq) }
    case 'approval_resolved':
      return { fold, run: { ...run, approvals: run.approvals.map((a) => (a.approval_id === chunk.approval_id ? { ...a, approved: chunk.approved ?? false, last: seq } : a)) } }
    case 'payload':
      if (!chunk.payload) return { fold, run }
      return { fold, run: { ...run, payloads: bounded(placed(run.payloads, chunk.payload, chunk, seq), CHUNK_LIMITS.payloads) } }
    case 'suggestions':
      return { fold, run: { ...run, values: chunk.suggested_values ?? [], actions: chunk.suggested_actions ?? [] } }
    case 'warning':
      return { fold, run: run.warnings.includes(chunk.content ?? '') ? run : { ...run, warnings: bounded([...run.warnings, chunk.content ?? ''], CHUNK_LIMITS.warnings) } }
    case 'error':
      return { fold: ended(fold, idsOf(chunk)), run: { ...run, error: { code: chunk.code ?? 'internal', message: chunk.content ?? '' } } }
    case 'reset':
      if (chunk.end) return { fold: withdrawn(fold, run, chunk), run }
      return { fold: emptied(fold, run, chunk), run: chunk.kept_through === undefined ? run : kept(run, chunk.kept_through) }
    case 'run_end': {
      if (run.state !== '') return { fold, run }
      const open = Object.values(fold.blocks).filter((b) => b.run_id === run.run_id).map((b) => b.id)
      const ends = { ...run, state: chunk.status ?? 'completed', ...silent, approvals: run.approvals.filter((a) => a.approved !== undefined), calls: [] }
      const closed = ended(fold, open)
      return { fold: { ...closed, steps: closed.steps + 1 }, run: ends }
    }
    default:
      return { fold, run }
  }
}

/** A call that begins no longer waits. */
function foldTool(fold: SocketFold, run: SocketRun, chunk: SocketChunk, seq: number): Step {
  const { tool_use_id = '', event } = chunk
  const old = run.tools.find((t) => t.tool_use_id === tool_use_id)
  const given = {
    ...(chunk.input !== undefined && { input: chunk.input }), ...(chunk.title && { title: chunk.title }), ...(chunk.stage && { stage: chunk.stage }), ...(chunk.message && { message: chunk.message }),
    ...(chunk.output && { output: chunk.output }), ...(chunk.done && { done: chunk.done }),
  }
  const tool: SocketTool = {
    ...(old ?? { tool_use_id, tool: chunk.tool ?? '', index: chunk.index ?? 0, state: 'running', progress: 0 }), ...given, last: seq,
    ...(chunk.progress !== undefined && { progress: chunk.progress }), ...(event === 'complete' && { progress: 1 }),
  }
  if (chunk.denied) tool.state = 'denied'
  else if (event === 'complete' && tool.state !== 'denied') tool.state = chunk.is_error ? 'error' : 'completed'
  const starts = event === 'start'
  return {
    fold: event === 'complete' ? { ...fold, steps: fold.steps + 1 } : fold,
    run: {
      ...run, tools: bounded(old ? run.tools.map((t) => (t === old ? tool : t)) : [...run.tools, tool], CHUNK_LIMITS.tools),
      calls: starts ? run.calls.filter((c) => c.tool_use_id !== tool_use_id) : run.calls,
      approvals: starts ? run.approvals.map((a) => (a.tool_use_id === tool_use_id && a.approved === undefined ? { ...a, approved: !chunk.denied } : a)) : run.approvals,
    },
  }
}

/** A call that waits is shown again to a client that comes back. */
function asked(run: SocketRun, chunk: SocketChunk, seq: number): SocketRun {
  const { tool = '', tool_use_id = '', input, expires_at, approval_id = '', message = '', title, description, reason } = chunk
  if (run.state !== '') return run
  if (chunk.type === 'client_tool_call') {
    const known = run.calls.some((c) => c.tool_use_id === tool_use_id) || run.tools.some((t) => t.tool_use_id === tool_use_id)
    return known ? run : { ...run, calls: bounded([...run.calls, { tool, tool_use_id, input, expires_at, last: seq }], CHUNK_LIMITS.tools) }
  }
  if (run.approvals.some((a) => a.approval_id === approval_id)) return run
  const approval: SocketApproval = { approval_id, tool, tool_use_id, input, message, ...(title && { title }), ...(description && { description }), ...(reason && { reason }), expires_at, last: seq }
  return { ...run, approvals: bounded([...run.approvals, approval], CHUNK_LIMITS.tools) }
}

/** The payloads with one more in its place; one of a service that does not tell comes last. */
function placed(list: SocketRun['payloads'], payload: CustomPayload, { index, tool_use_id: call }: SocketChunk, last: number): SocketRun['payloads'] {
  const place = index === undefined ? (list.at(-1)?.place ?? 0) : 2 * index + (call ? 1 : 0)
  const at = list.findLastIndex((p) => p.place <= place) + 1
  return [...list.slice(0, at), { payload, last, place }, ...list.slice(at)]
}

/** What is left of a run after a recovery. */
function kept(run: SocketRun, through: number): SocketRun {
  const holds = (one: { last: number }) => one.last <= through
  return { ...run, tools: run.tools.filter(holds), approvals: run.approvals.filter(holds), calls: run.calls.filter(holds), payloads: run.payloads.filter(holds) }
}

function foldContent(fold: SocketFold, run: SocketRun, chunk: SocketChunk): Step {
  const ids = idsOf(chunk)
  if (chunk.new_doc) {
    const types = (chunk.block_types ?? '').split(',')
    const planned = ids.map((id, i): SocketBlock => ({ id, type: types[i] || chunk.type, document_id: chunk.document_id ?? '', run_id: run.run_id, content: '', meta: '', state: 'planned', step: 0 }))
    return { fold: { ...put(fold, planned), steps: fold.steps + 1 }, run }
  }
  if (chunk.end) return { fold: ended(fold, ids), run: { ...run, ...silent } }
  const changed = ids.map((id): SocketBlock => {
    const old = fold.blocks[id]
    const same = old && old.state !== 'planned' && old.run_id === run.run_id
    const { content = '', meta = '' } = same ? old : {}
    const block = { id, type: chunk.type, document_id: chunk.document_id ?? '', run_id: run.run_id, state: 'writing' as const, step: 0 }
    return withHeader(chunk.type) && meta === '' ? { ...block, meta: chunk.content ?? '', content: '' } : { ...block, meta, content: content + (chunk.content ?? '') }
  })
  return { fold: put(fold, changed), run: { ...run, ...silent } }
}

/** Whether the first chunk of a block is its metadata, not content. */
function withHeader(type: string): boolean {
  return type === 'interactive_chart' || type === 'interative_chart' || type.startsWith('image/')
}

/** Voids the content of the blocks. */
function emptied(fold: SocketFold, run: SocketRun, chunk: SocketChunk): SocketFold {
  return put(fold, idsOf(chunk).flatMap((id) => (fold.blocks[id] ? [{ ...fold.blocks[id], run_id: run.run_id, content: '', meta: '', state: 'writing' }] : [])))
}

/** Applies also to blocks without a chunk so far: their stored content may have been read before. */
function withdrawn(fold: SocketFold, run: SocketRun, chunk: SocketChunk): SocketFold {
  const ids = idsOf(chunk).filter((id) => fold.blocks[id]?.state !== 'withdrawn' || fold.blocks[id].run_id !== run.run_id)
  if (ids.length === 0) return fold
  const steps = fold.steps + 1
  return { ...put(fold, ids.map((id) => ({ id, type: fold.blocks[id]?.type ?? '', document_id: chunk.document_id ?? '', run_id: run.run_id, content: '', meta: '', state: 'withdrawn', step: steps }))), steps }
}

function ended(fold: SocketFold, ids: readonly string[]): SocketFold {
  const open = ids.flatMap((id) => (fold.blocks[id] && !over(fold.blocks[id]) ? [fold.blocks[id]] : []))
  if (open.length === 0) return fold
  return { ...put(fold, open.map((b) => ({ ...b, state: 'done', step: fold.steps + 1 }))), steps: fold.steps + 1 }
}

function put(fold: SocketFold, changed: readonly SocketBlock[]): SocketFold {
  const blocks = { ...fold.blocks, ...Object.fromEntries(changed.map((b) => [b.id, b])) }
  const all = Object.values(blocks)
  return { ...fold, blocks: all.length <= CHUNK_LIMITS.blocks ? blocks : Object.fromEntries(bounded(all, CHUNK_LIMITS.blocks, over).map((b) => [b.id, b])) }
}

/** Whether no more chunks of a block follow. */
const over = (b: SocketBlock) => b.state === 'done' || b.state === 'withdrawn'

function idsOf(chunk: SocketChunk): string[] {
  return (chunk.block_ids ?? '').split(',').filter(Boolean)
}

/** At most this many items; the oldest that may be dropped is left out. */
function bounded<T>(list: readonly T[], most: number, may: (one: T) => boolean = () => true): readonly T[] {
  if (list.length <= most) return list
  const at = list.findIndex(may)
  return list.filter((_, i) => i !== Math.max(at, 0))
}
