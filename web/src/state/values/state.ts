import type { Attachment, Chat, CustomPayload, Message, MessageFrame, SuggestedAction, Usage } from '../../api/types'
import { emptyRun, payloadsOf, reduceRun, statusLine, textOf, type Outcome, type RunView } from './run'

/** A message as the tray shows it: what the service stores, and for answers of this visit the run that made it. */
export interface GeneralChatMessage extends Omit<Message, 'conversation_id'> {
  conversation_id?: number
  /** The run with its reasoning and threads; for a loaded message it comes later, and only if it has any. */
  view?: RunView
  /** The images of a question of this visit, as URLs of data, by the place of the attachment. */
  previews?: (string | undefined)[]
}

/** Why the last request failed. */
export interface Failure {
  message: string
  code: string
  retryable: boolean
  /** The error does not belong to the last question, so there is nothing to retry. */
  unrelated?: boolean
}

/** A message that the service did not accept, for the user to send again. */
export interface Unsent {
  message: string
  attachments: Attachment[]
  /** The key of its request, if it was sent. */
  key?: string | undefined
}

/** How a message is sent. */
export interface SendOptions {
  interactionType?: 'text_input' | 'value_selected' | 'action_executed' | undefined
  action?: SuggestedAction | undefined
  attachments?: Attachment[] | undefined
  /** The id of the user message to replace. Its files are kept, unless `attachments` or `keepAttachments` is given. */
  editMessageId?: string | undefined
  /** Which files of the edited message are kept, as indexes; `attachments` come after them. */
  keepAttachments?: number[] | undefined
  /** An assistant message that is answered again. */
  regenerateMessageId?: string | undefined
  /** The Idempotency-Key of the request: the same key finds the same run. By default each message has its own. */
  key?: string | undefined
  /** Wait for the end of the current answer, if another tab has begun one. */
  waits?: boolean | undefined
}

/** A message that waits until the current answer has ended. */
export interface Queued extends Unsent {
  id: string
  /** How the page has sent it; absent for a text of the user. */
  interactionType?: SendOptions['interactionType'] | undefined
}

/** The connection of the current run; `idle` when there is none. */
export type Link = 'idle' | 'connecting' | 'live' | 'reconnecting'

/** The whole state of a tray. It is a value: reduce returns a new one. */
export interface ChatState {
  conversationId: number | null
  chatId: string | null
  title: string
  messages: readonly GeneralChatMessage[]
  /** What comes after the answer of the current run, as of when the chat was opened: questions that wait in the service. */
  waiting: readonly GeneralChatMessage[]
  /** The current run; null when there is none. */
  run: RunView | null
  /** Whether a request is in progress, from the click on. */
  isLoading: boolean
  /** Whether a chat is being fetched. */
  isOpening: boolean
  link: Link
  error: Failure | null
  /** A message for the composer to take back. */
  unsent: Unsent | null
  /** The cursor of the messages before the first one. */
  olderCursor: string | null
  /** The page that is shown, as the context names it. */
  page: string
  /** Payloads whose decision is being sent. */
  deciding: readonly string[]
  /** Decisions of this visit, by payload; those about the current run are not in a message yet. */
  decided: Readonly<Record<string, 'accepted' | 'rejected'>>
  /** Messages that are sent one after the other, once the current answer has ended. */
  queue: readonly Queued[]
  /** The model that the user chose; empty is the page's, or the service's own. */
  model: string
  /** What all runs of the chat have used. */
  usage: Usage | null
}

/** While nothing is read. */
const idle: Pick<ChatState, 'run' | 'isLoading' | 'isOpening' | 'link'> = { run: null, isLoading: false, isOpening: false, link: 'idle' }

/** The state before anything is known. */
export const emptyState: ChatState = {
  conversationId: null, chatId: null, title: '', messages: [], waiting: [], ...idle, error: null, unsent: null, olderCursor: null, page: '', deciding: [], decided: {},
  queue: [], model: '', usage: null,
}

export type ChatEvent =
  | { type: 'opened'; chat: Chat }
  | { type: 'reset' }
  | { type: 'send'; message: GeneralChatMessage | null; replaces?: string }
  | { type: 'frame'; frame: MessageFrame }
  | { type: 'failed'; failure: Failure }
  | { type: 'stopping' }
  | { type: 'settled' }
  | { type: 'set'; set: Partial<ChatState> }
  | { type: 'message'; messageId: string; set: Partial<GeneralChatMessage> }
  | { type: 'resolved'; payloadId: string; outcome: 'accepted' | 'rejected' }

/** The one reducer: live streams, replays and tests go through it. It is pure. */
export function reduce(state: ChatState, event: ChatEvent): ChatState {
  switch (event.type) {
    case 'opened':
      return opened(state, event.chat)
    case 'reset':
      return emptied(state)
    case 'send':
      return sent(state, event)
    case 'frame':
      return state.run ? advance(state, reduceRun(state.run, event.frame)) : state
    case 'failed':
      return { ...state, messages: [...state.messages, ...begun(state.run, event.failure), ...state.waiting], waiting: [], ...idle, error: event.failure }
    case 'stopping':
      return { ...state, run: state.run && { ...state.run, status: statusLine('stopping', 'Stopping...') } }
    case 'settled':
      return { ...state, ...idle }
    case 'set':
      return { ...state, ...event.set }
    case 'message':
      return { ...state, messages: state.messages.map((m) => (m.id === event.messageId ? { ...m, ...event.set } : m)) }
    case 'resolved':
      return { ...state, decided: { ...state.decided, [event.payloadId]: event.outcome }, messages: state.messages.map((m) => withOutcomes(m, { [event.payloadId]: event.outcome })) }
    default:
      return state // of a tab with another version of the tray
  }
}

/** The state without a chat. What is being decided is decided in any chat. */
export function emptied({ page, model, deciding }: ChatState): ChatState {
  return { ...emptyState, page, model, deciding }
}

function opened(state: ChatState, chat: Chat): ChatState {
  const messages = (chat.messages ?? []).map((m) => (m.status === 'complete' ? { ...m, view: state.messages.find(({ id }) => id === m.id)?.view } : m))
  return {
    ...state, ...idle, error: null, unsent: null, usage: chat.usage ?? null, conversationId: chat.conversation_id, chatId: chat.chat_id, title: chat.title, ...parted(messages, chat.active_run_id ?? null), olderCursor: chat.next_cursor ?? null,
  }
}

/** The messages up to the question that is being answered, by its id or its run's, and those after its answer. */
function parted(all: readonly GeneralChatMessage[], asked: string | null | undefined): Pick<ChatState, 'messages' | 'waiting'> {
  const end = all.findLastIndex((m) => m.id === asked || m.run_id === asked) + 1 || all.length
  return { messages: all.slice(0, end), waiting: all.slice(end) }
}

/** The user's message is shown at once; an edited message and all after it, or an answer that is generated again, are removed. */
function sent(state: ChatState, event: Extract<ChatEvent, { type: 'send' }>): ChatState {
  const at = state.messages.findIndex((m) => m.id === event.replaces)
  const kept = at < 0 ? state.messages.filter((m) => m.status !== 'error' || m.content || m.role === 'user' || m.view) : state.messages.slice(0, at)
  return {
    ...state, title: state.title || titleOf(event.message), messages: kept.concat(event.message ?? []), run: { ...emptyRun, status: statusLine('thinking', 'Thinking...') }, isLoading: true, isOpening: false,
    link: 'connecting', error: null,
  }
}

/** A new chat is named after its first message, as the service does it. */
function titleOf(message: GeneralChatMessage | null): string {
  return [...(message?.content ?? '')].slice(0, TITLE_LENGTH).join('').trim()
}

const TITLE_LENGTH = 60

/** Stores a run's progress; at its end the answer joins the messages. */
function advance(state: ChatState, run: RunView): ChatState {
  if (run === state.run) return state
  const asked = run.userMessageId
  const next: ChatState = {
    ...state, run, conversationId: run.conversationId ?? state.conversationId, chatId: run.chatId ?? state.chatId,
    ...(asked && asked !== state.run?.userMessageId && parted([...state.messages, ...state.waiting].map((m) => (m.id.startsWith(LOCAL_ID) ? { ...m, id: asked } : m)), asked)),
  }
  if (!run.outcome) return next
  const decided = { ...state.decided, ...acceptedBy(next.messages.findLast((m) => m.role === 'user'), run.outcome) }
  const answer = withOutcomes(answerOf(run, run.outcome), decided)
  const messages = next.messages.filter((m) => m.id !== answer.id).map((m) => withOutcomes(m, decided))
  return { ...next, decided, ...idle, messages: [...messages, answer], usage: sumOf(next.usage, answer.usage), error: run.outcome.status === 'error' ? run.outcome : null }
}

/** The payload that a click accepts, once its action is done. */
function acceptedBy(question: GeneralChatMessage | undefined, outcome: Outcome): ChatState['decided'] {
  const payload = outcome.status === 'completed' && question?.action?.payload_id
  return payload ? { [payload]: 'accepted' } : {}
}

function sumOf(a: Usage | null, b: Usage | undefined): Usage | null {
  if (!a || !b) return b ?? a
  return {
    input_tokens: a.input_tokens + b.input_tokens, output_tokens: a.output_tokens + b.output_tokens, total_tokens: a.total_tokens + b.total_tokens,
    cost_usd: (a.cost_usd ?? 0) + (b.cost_usd ?? 0) || undefined,
  }
}

/** The beginning of the id of a message that has no id of the service yet. */
export const LOCAL_ID = 'local:'

/** The beginning of the id of an answer whose end was not received. */
export const CUT_ID = 'answer:'

function answerOf(run: RunView, outcome: Outcome): GeneralChatMessage {
  const base = { role: 'assistant' as const, type: 'md', run_id: run.runId, created_at: run.endedAt ?? '', view: run }
  if (outcome.status === 'completed') {
    const { message, message_id: id, diagnostics: _, ...rest } = outcome.payload
    return { ...base, ...rest, id, content: message, status: 'complete' }
  }
  const partial = { ...base, id: outcome.messageId ?? CUT_ID + run.runId, content: textOf(run), payloads: payloadsOf(run), usage: outcome.usage }
  if (outcome.status === 'cancelled') return { ...partial, status: 'cancelled' }
  return { ...partial, status: 'error', error: { code: outcome.code as NonNullable<Message['error']>['code'], message: outcome.message } }
}

/** What was read of an answer before reading it failed, if only that there is one; it stays in sight until it is read again. */
function begun(run: RunView | null, failure: Failure): GeneralChatMessage[] {
  return run?.runId ? [answerOf(run, { status: 'error', ...failure })] : []
}

/** The status of the answer that is being written; no message of the service has it. */
export const LIVE = 'streaming' as GeneralChatMessage['status']

/** The current run as a message. */
export function liveMessage(run: RunView, decided: ChatState['decided'] = {}): GeneralChatMessage {
  return withOutcomes({ id: 'live', role: 'assistant', type: 'md', content: '', status: LIVE, created_at: '', run_id: run.runId || undefined, view: run, payloads: payloadsOf(run) }, decided)
}

/** A message whose payloads have the decisions about them. */
function withOutcomes(message: GeneralChatMessage, decided: ChatState['decided']): GeneralChatMessage {
  const outcomeOf = ({ payload_id: id = '' }: CustomPayload) => (Object.hasOwn(decided, id) ? decided[id] : undefined)
  const change = (p: CustomPayload): CustomPayload => (outcomeOf(p) ? { ...p, outcome: outcomeOf(p) } : p)
  const { payloads, custom_payload: last } = message
  if (!payloads?.some(outcomeOf) && !(last && outcomeOf(last))) return message
  return { ...message, payloads: payloads?.map(change), custom_payload: last && change(last) }
}
