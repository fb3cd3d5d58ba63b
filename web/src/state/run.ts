import type { ChatEventFrame, ChatResponsePayload, CustomPayload, MessageFrame, Props, ToolProgressEvent } from '../api/types'
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
}

export interface ActiveTool {
  toolName: string
  updates: ToolProgressEvent[]
}

/** How a run ended. */
export type Outcome =
  | { status: 'completed'; payload: ChatResponsePayload }
  | { status: 'error'; code: string; message: string; retryable: boolean; messageId?: string }
  | { status: 'cancelled'; messageId?: string }

/** A run as far as its frames have come. It is a value: reduceRun returns a new one. */
export interface RunView {
  runId: string
  conversationId?: number
  chatId?: string
  userMessageId?: string
  attempt: number
  /** What the service is doing, or null while it writes. */
  status: string | null
  fold: Fold
  blocks: readonly Level[]
  threads: readonly Level[]
  active: ActiveTool | null
  /** Set between a recovery and the frame that says what text stands. */
  recovering: boolean
  /** Frames that broke the rules; kept as a number, for tests and diagnostics. */
  refused: number
  outcome: Outcome | null
}

export const emptyRun: RunView = {
  runId: '', attempt: 1, status: null, fold: emptyFold, blocks: [], threads: [], active: null, recovering: false, refused: 0, outcome: null,
}

/** Folds a frame of the dialect messages in. A refused frame is counted and changes nothing else. */
export function reduceRun(run: RunView, frame: MessageFrame): RunView {
  const seq = sequenceOf(frame)
  if (run.outcome || (seq > 0 && seq <= run.fold.last)) return run
  try {
    if (frame.type === 'event') return { ...reduceEvent(run, frame), fold: fold(run.fold, frame), ...voided(run, frame, seq) }
    if (frame.type === 'loading') return { ...run, status: text(frame.props?.message), fold: { ...run.fold, last: Math.max(seq, run.fold.last) } }
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
    case 'block_start':
      return { ...run, blocks: [...run.blocks, level(text(data.block_id), data, frame)] }
    case 'block_end':
      return { ...run, blocks: ended(run.blocks, text(data.block_id), data) }
    case 'thread_start':
      return { ...run, threads: [...run.threads, level(text(data.thread_id), data, frame)] }
    case 'thread_end':
      return { ...run, threads: ended(run.threads, text(data.thread_id), data) }
    case 'message_start':
      return text(data.type) === 'tool_result' ? run : { ...run, status: null }
    case 'stream_end':
      return { ...run, status: null, active: null, outcome: outcomeOf(data) }
    default:
      return run
  }
}

function level(id: string, data: Props, frame: MessageFrame): Level {
  return { id, type: text(data.type), label: text(data.label), ref: text(data.ref), thread: frame.thread_id ?? '', block: frame.block_id ?? '', status: '' }
}

function ended(levels: readonly Level[], id: string, data: Props): readonly Level[] {
  return levels.map((l) => (l.id === id ? { ...l, status: text(data.status) || 'completed' } : l))
}

function outcomeOf(data: Props): Outcome {
  const messageId = text(data.message_id) || undefined
  if (data.status === 'completed' && isObject(data.payload)) return { status: 'completed', payload: data.payload as unknown as ChatResponsePayload }
  if (data.status === 'cancelled') return { status: 'cancelled', messageId }
  return { status: 'error', code: text(data.code) || 'internal', message: text(data.message), retryable: data.retryable === true, messageId }
}

/** A recovery voids what came behind kept_through; what is left is closed. */
function voided(run: RunView, frame: MessageFrame, seq: number): Partial<RunView> {
  if (frame.props?.event !== 'attempt' || !isObject(frame.props.data)) return {}
  const { attempt, kept_through: kept } = frame.props.data
  const through = typeof kept === 'number' ? kept : 0
  return {
    attempt: typeof attempt === 'number' ? attempt : run.attempt + 1,
    fold: { messages: run.fold.messages.filter((m) => m.last <= through), last: Math.max(seq, run.fold.last) },
    recovering: true, active: null, status: 'Resuming...',
  }
}

/** The text that stands after a recovery: where it is the text that is there, that one stays in its places. */
function stand(run: RunView, frame: MessageFrame, seq: number): RunView {
  const plain = (s: string) => s.replace(/\s+/g, ' ').trim()
  const here = run.fold.messages.filter((m) => m.type === 'text')
  const next = { ...run, recovering: false, status: null }
  if (plain(here.map((m) => text(m.props.content)).join('\n\n')) === plain(text(frame.props?.content))) {
    return { ...next, fold: { ...run.fold, last: Math.max(seq, run.fold.last) } }
  }
  return { ...next, fold: fold({ ...run.fold, messages: run.fold.messages.filter((m) => m.type !== 'text') }, frame) }
}

/** What the frame says about the status line and the tool at work. */
function activity(run: RunView, frame: MessageFrame): Partial<RunView> {
  if (frame.type !== 'tool_result') return frame.type === 'text' ? { status: null, recovering: false } : {}
  const props = frame.props ?? {}
  if (props.status === 'running') return { active: { toolName: text(props.name), updates: [] } }
  if (props.status === 'completed' || props.status === 'error') return { active: null }
  if (!run.active || props.stage === undefined) return {}
  const update: ToolProgressEvent = {
    type: 'tool_progress', tool: run.active.toolName, stage: text(props.stage), message: text(props.status_message),
    progress: typeof props.progress === 'number' ? props.progress : 0, data: props.data ?? null, index: 0,
  }
  return { active: { ...run.active, updates: [...run.active.updates.slice(-MAX_UPDATES), update] } }
}

/** Progress events of one tool that are kept. */
const MAX_UPDATES = 99

const blank: Folded = { id: '', type: '', props: {}, block: '', thread: '', closed: false, first: 0, last: 0 }

/** Folds an event of the dialect chat in, so that both dialects give the same view. */
export function reduceChatEvent(run: RunView, event: ChatEventFrame, seq: number): RunView {
  if (run.outcome || (seq > 0 && seq <= run.fold.last)) return run
  const next = { ...run, fold: { ...run.fold, last: Math.max(seq, run.fold.last) } }
  switch (event.type) {
    case 'status':
      return chatStatus(next, event)
    case 'text_delta':
      return { ...next, status: null, fold: appendText(next.fold, event.text, seq) }
    case 'tool_start': {
      const props = { id: event.tool_use_id, name: event.tool, index: event.index, input: event.input, status: 'running', progress: 0 }
      const item: Folded = { ...blank, id: `tool:${event.index}`, type: 'tool_result', props, block: 'tool', first: seq, last: seq }
      return { ...next, active: { toolName: event.tool, updates: [] }, fold: { ...next.fold, messages: [...next.fold.messages, item] } }
    }
    case 'tool_progress':
      return {
        ...changeTool(next, event.index, { progress: event.progress, stage: event.stage, status_message: event.message }),
        active: next.active && { ...next.active, updates: [...next.active.updates.slice(-MAX_UPDATES), event] },
      }
    case 'tool_complete':
      return { ...changeTool(next, event.index, { status: event.is_error ? 'error' : 'completed', is_error: event.is_error ?? false, progress: 1 }), active: null, status: null }
    case 'complete':
      return { ...next, status: null, active: null, outcome: { status: 'completed', payload: event.payload } }
    case 'error':
      return { ...next, status: null, active: null, outcome: { status: 'error', code: event.code, message: event.message, retryable: event.retryable ?? false, messageId: event.message_id } }
    case 'cancelled':
      return { ...next, status: null, active: null, outcome: { status: 'cancelled', messageId: event.message_id } }
    default:
      return next
  }
}

function chatStatus(run: RunView, event: Extract<ChatEventFrame, { type: 'status' }>): RunView {
  const next = {
    ...run, status: event.message, runId: event.run_id ?? run.runId, conversationId: event.conversation_id ?? run.conversationId,
    chatId: event.chat_id ?? run.chatId, userMessageId: event.user_message_id ?? run.userMessageId, attempt: event.attempt ?? run.attempt,
  }
  if (event.text === undefined) return next
  const through = event.kept_through ?? 0
  const kept = run.fold.messages.filter((m) => m.type !== 'text' && m.last <= through)
  return { ...next, fold: appendText({ ...next.fold, messages: kept }, event.text.replace(/\[\[tool:\d+\]\]/g, ''), run.fold.last) }
}

/** Appends visible text. A marker stands where its tool is already and only ends the text before it. */
function appendText(state: Fold, more: string, seq: number): Fold {
  if (/^\[\[tool:\d+\]\]$/.test(more)) return state
  const last = state.messages.at(-1)
  if (last?.type === 'text') {
    const joined = { ...last, last: seq, props: { content: text(last.props.content) + more } }
    return { ...state, messages: state.messages.with(-1, joined) }
  }
  if (more.trim() === '') return state
  const item: Folded = { ...blank, id: `text:${state.messages.length}`, type: 'text', props: { content: more }, block: `llm:${state.messages.length}`, first: seq, last: seq }
  return { ...state, messages: [...state.messages, item] }
}

function changeTool(run: RunView, index: number, change: Props): RunView {
  const messages = run.fold.messages.map((m) => (m.type === 'tool_result' && m.props.index === index ? { ...m, last: run.fold.last, props: { ...m.props, ...change } } : m))
  return { ...run, fold: { ...run.fold, messages } }
}

/** The text written so far, without markers. */
export function textOf(run: RunView): string {
  return run.fold.messages.filter((m) => m.type === 'text' && m.thread === '').map((m) => text(m.props.content)).join('\n\n')
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
