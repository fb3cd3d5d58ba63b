import type { ChatResponsePayload, CustomPayload, MessageFrame, Props, ToolProgressEvent, Usage } from '../../api/types'
import { emptyFold, fold, isObject, Refused, sequenceOf, type Fold, type Folded } from './delta'

/** A level that frames opened: a block, or a thread. */
export interface Level {
  id: string
  type: string
  label: string
  /** The global id of what a block writes, such as a document's block. */
  ref: string
  thread: string
  /** The block that a thread was opened in. */
  block: string
  status: string
  /** The number of the frame that closed it; 0 while it is open. */
  end: number
}

export interface ActiveTool {
  toolName: string
  updates: ToolProgressEvent[]
}

/** How a run ended. */
export type Outcome =
  | { status: 'completed'; payload: ChatResponsePayload }
  | { status: 'error'; code: string; message: string; retryable: boolean; messageId?: string; usage?: Usage }
  | { status: 'cancelled'; messageId?: string; usage?: Usage }

/** A line about the current step: the service's English text, and for labels its code and the tool that it names. */
export interface StatusLine {
  message: string
  /** `thinking`, `resuming`, `stopping`, `running_tool`, `waiting_for_user`, `waiting_for_page`, `waiting_for_answer`, `waiting_for_model`; empty if the service sent none. */
  code: string
  tool: string
}

/** The line of a code that names no tool. */
export const statusLine = (code: string, message: string): StatusLine => ({ message, code, tool: '' })

/** A run, folded from its frames so far. It is a value: reduceRun returns a new one. */
export interface RunView {
  runId: string
  conversationId?: number
  chatId?: string
  userMessageId?: string
  attempt: number
  /** What the service is doing, or null while it writes. */
  status: StatusLine | null
  fold: Fold
  blocks: readonly Level[]
  threads: readonly Level[]
  active: ActiveTool | null
  /** Set between a recovery and the frame with the text that is still valid. */
  recovering: boolean
  /** Set once a recovery has replaced the text: it is one text now, no longer between the calls. */
  rewritten?: true
  /** Frames that broke the rules; kept as a number, for tests and diagnostics. */
  refused: number
  outcome: Outcome | null
  /** Blocks of documents whose text was withdrawn, with the numbers of the frames that withdrew it. */
  withdrawn: readonly Withdrawn[]
  /** When the last frame was written (ISO 8601); absent where the frame does not say. */
  endedAt?: string
}

export interface Withdrawn {
  ref: string
  at: number
  /** Set if a call writes the block again; otherwise the user has rejected it. */
  again: boolean
}

/** A run before its first event. */
export const emptyRun: RunView = {
  runId: '', attempt: 1, status: null, fold: emptyFold, blocks: [], threads: [], active: null, recovering: false, refused: 0, outcome: null, withdrawn: [],
}

/** Adds a frame of the dialect messages. A refused frame is counted and changes nothing else. */
export function reduceRun(run: RunView, frame: MessageFrame): RunView {
  const seq = sequenceOf(frame)
  if (run.outcome || (seq > 0 && seq <= run.fold.last)) return run
  try {
    if (frame.type === 'event') return reduceEvent({ ...run, fold: fold(run.fold, frame), ...voided(run, frame, seq) }, frame)
    if (run.recovering && frame.type === 'text' && !frame.delta) return stand(run, frame, seq)
    return { ...run, fold: fold(run.fold, frame), ...activity(run, frame) }
  } catch (error) {
    if (error instanceof Refused) return { ...run, refused: run.refused + 1 }
    throw error
  }
}

function reduceEvent(run: RunView, frame: MessageFrame): RunView {
  const data = isObject(frame.props?.data) ? frame.props.data : {}
  switch (frame.props?.event) {
    case 'stream_start':
      return {
        ...run, runId: text(data.run_id), chatId: text(data.chat_id) || undefined, userMessageId: text(data.user_message_id) || undefined,
        conversationId: typeof data.conversation_id === 'number' ? data.conversation_id : undefined,
      }
    case 'block_start': {
      const block = level(text(data.block_id), data, frame)
      return { ...run, blocks: [...run.blocks, block], ...(block.type === 'llm' && block.thread === '' && { status: statusLine('thinking', 'Thinking...') }) }
    }
    case 'block_end':
      return { ...run, blocks: ended(run.blocks, text(data.block_id), data, frame) }
    case 'thread_start':
      return { ...run, threads: [...run.threads, level(text(data.thread_id), data, frame)] }
    case 'thread_end':
      return { ...run, threads: ended(run.threads, text(data.thread_id), data, frame) }
    case 'message_start':
      return run.blocks.find((b) => b.id === frame.block_id)?.type === 'llm' ? { ...run, status: null } : run
    case 'message_end':
      return run.fold.messages.find((m) => m.id === data.message_id)?.type === 'loading' ? { ...run, status: openLine(run) } : run
    case 'withdrawn':
      return { ...run, withdrawn: [...run.withdrawn, { ref: text(data.ref), at: sequenceOf(frame), again: typeof data.tool_use_id === 'string' }] }
    case 'stream_end':
      return { ...run, status: null, active: null, outcome: outcomeOf(data), endedAt: timeOf(frame) }
    default:
      return run
  }
}

/** The status line of a message of type loading. */
function lineOf(props: Props): StatusLine {
  return { message: text(props.message), code: text(props.code), tool: isObject(props.values) ? text(props.values.tool) : '' }
}

/** The newest status line of a call that still runs or waits, if any. */
function openLine(run: RunView): StatusLine | null {
  const line = run.fold.messages.findLast((m) => m.type === 'loading' && !m.closed)
  return line ? lineOf(line.props) : null
}

/** Whether a message is the result of a call and not part of the answer. */
export const isResult = (m: Folded) => m.type === 'text' && typeof m.props.tool_use_id === 'string'

function timeOf({ metadata }: MessageFrame): string | undefined {
  return metadata && metadata.timestamp > 0 ? new Date(metadata.timestamp).toISOString() : undefined
}

function level(id: string, data: Props, frame: MessageFrame): Level {
  return { id, type: text(data.type), label: text(data.label), ref: text(data.ref), thread: frame.thread_id ?? '', block: frame.block_id ?? '', status: '', end: 0 }
}

function ended(levels: readonly Level[], id: string, data: Props, frame: MessageFrame): readonly Level[] {
  return levels.map((l) => (l.id === id ? { ...l, status: text(data.status) || 'completed', end: sequenceOf(frame) } : l))
}

function outcomeOf(data: Props): Outcome {
  const kept = { messageId: text(data.message_id) || undefined, usage: data.usage as Usage | undefined }
  if (data.status === 'completed' && isObject(data.payload)) return { status: 'completed', payload: data.payload as unknown as ChatResponsePayload }
  if (data.status === 'cancelled') return { status: 'cancelled', ...kept }
  return { status: 'error', code: text(data.code) || 'internal', message: text(data.message), retryable: data.retryable === true, ...kept }
}

/** A recovery voids everything after kept_through; the rest is closed. */
function voided(run: RunView, frame: MessageFrame, seq: number): Partial<RunView> {
  if (frame.props?.event !== 'attempt' || !isObject(frame.props.data)) return {}
  const { attempt, kept_through: kept } = frame.props.data
  const through = typeof kept === 'number' ? kept : 0
  return {
    attempt: typeof attempt === 'number' ? attempt : run.attempt + 1,
    fold: { messages: run.fold.messages.filter((m) => m.last <= through), last: Math.max(seq, run.fold.last) },
    recovering: true, active: null, status: statusLine('resuming', 'Resuming...'),
  }
}

/** Applies the valid text after a recovery: if it equals the shown text, that stays in its places. */
function stand(run: RunView, frame: MessageFrame, seq: number): RunView {
  const plain = (s: string) => s.replace(/\s+/g, ' ').trim()
  const here = run.fold.messages.filter((m) => m.type === 'text' && !isResult(m))
  const next = { ...run, recovering: false, status: null }
  if (plain(here.map((m) => text(m.props.content)).join('\n\n')) === plain(text(frame.props?.content))) {
    return { ...next, fold: { ...run.fold, last: Math.max(seq, run.fold.last) } }
  }
  return { ...next, rewritten: true, fold: fold({ ...run.fold, messages: run.fold.messages.filter((m) => !here.includes(m)) }, frame) }
}

/** The changes of a frame to the status line and the running tool. */
function activity(run: RunView, frame: MessageFrame): Partial<RunView> {
  const props = frame.props ?? {}
  if (frame.type === 'loading') return { status: lineOf(props) }
  if (frame.type === 'text') return typeof props.tool_use_id === 'string' ? { active: null } : { status: null, recovering: false }
  if (frame.type !== 'tool_call') return {}
  if (typeof props.index === 'number') return { active: props.denied === true ? null : { toolName: text(props.name), updates: [] } }
  if (!run.active || props.stage === undefined) return {}
  const update: ToolProgressEvent = {
    type: 'tool_progress', tool: run.active.toolName, stage: text(props.stage), message: text(props.status_message),
    progress: typeof props.progress === 'number' ? props.progress : 0, data: props.data ?? null, index: 0,
  }
  return { active: { ...run.active, updates: [...run.active.updates.slice(-MAX_UPDATES), update] } }
}

/** Progress events of one tool that are kept. */
const MAX_UPDATES = 99

/** The text written so far, without markers. */
export function textOf(run: RunView): string {
  return run.fold.messages.filter((m) => m.type === 'text' && m.thread === '' && !isResult(m)).map((m) => text(m.props.content)).join('\n\n')
}

/** The payloads that came so far. */
export function payloadsOf(run: RunView): CustomPayload[] {
  return run.fold.messages
    .filter((m) => typeof m.props.payload_id === 'string')
    .map((m) => ({ type: m.type, payload_id: text(m.props.payload_id), data: m.props.data, summary: text(m.props.summary), source: m.props.source === 'llm' ? 'llm' : 'tool' }))
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
