import { ApiError, checked, jsonIn, signedOut, unreachable } from './errors'
import { follow, type Connection, type StreamEvent } from './stream'
import type {
  Chat, ChatEventFrame, ChatList, ChatPatch, ChatRequest, ChatResponsePayload, CustomPayload, Diagnostics, Feedback, Message, MessageFrame,
  ModelList, Page, PageList, Run, ToolCall, ToolList, User, VersionList,
} from './types'

export interface ChatApiOptions {
  /** Where the service is; the page's own origin when empty. */
  baseUrl?: string | undefined
  /** Called before every request; return a fresh token, or nothing. If it throws, the request fails as one without a sign-in: status 401, code `signed_out`; after 30 s with code `token_timeout`. */
  getToken?: (() => string | null | undefined | Promise<string | null | undefined>) | undefined
  /** More headers for every request; with the token they may take 30 s. */
  headers?: (() => Record<string, string> | Promise<Record<string, string>>) | undefined
  fetch?: typeof fetch | undefined
}

export interface StreamOptions {
  /** Called with every change; `now` ends the wait for a new connection, or replaces the present one. */
  onConnection?: ((state: Connection, waitMs?: number, now?: () => void) => void) | undefined
  /** Called as soon as the run has an id. */
  onRun?: ((runId: string) => void) | undefined
  /** The Idempotency-Key of a request that starts a run; the same key finds the same run. By default each call has its own. */
  key?: string | undefined
}

/** How one request is sent. Every request uses it, so that tests can replace it. */
export type Send = (method: string, path: string, body?: unknown, init?: SendOptions) => Promise<Response>

export interface SendOptions {
  signal?: AbortSignal | undefined
  headers?: Record<string, string> | undefined
  /** The request may outlive the page; its body must be small. */
  keepalive?: boolean | undefined
}

/** The service's REST and streams. Every method throws ApiError when the service refuses or cannot be reached. */
export interface ChatApi {
  /** Where the service is, as configured; absent or empty means the page's own origin. */
  readonly baseUrl?: string
  /** Starts a run and follows it to its end, over any number of connections (dialect messages). */
  streamMessage(request: ChatRequest, signal: AbortSignal, options?: StreamOptions): AsyncGenerator<StreamEvent<MessageFrame>, void, void>
  /** Follows a run from the cursor on; without one from its beginning. */
  followRun(runId: string, signal: AbortSignal, options?: StreamOptions & { after?: string }): AsyncGenerator<StreamEvent<MessageFrame>, void, void>
  /** The same in the dialect chat. */
  streamChatEvents(request: ChatRequest, signal: AbortSignal, options?: StreamOptions): AsyncGenerator<StreamEvent<ChatEventFrame>, void, void>
  /** Starts a run and waits for its end. */
  sendMessage(request: ChatRequest, signal?: AbortSignal): Promise<ChatResponsePayload>
  cancelRun(runId: string): Promise<Run>
  /** Allows or denies a call that waits for the user; an input replaces the call's own. */
  answerApproval(runId: string, approvalId: string, approved: boolean, input?: unknown): Promise<Run>
  /** Sends the result of a tool of the page. The first one counts; the same one may be sent again. */
  postToolResult(runId: string, toolUseId: string, output: unknown, isError?: boolean): Promise<Run>
  getRun(runId: string): Promise<Run>
  getDiagnostics(runId: string): Promise<Diagnostics>
  getToolCall(runId: string, index: number): Promise<ToolCall>
  listChats(query?: { q?: string; cursor?: string; limit?: number; archived?: 'true' }, signal?: AbortSignal): Promise<ChatList>
  getChat(conversationId: number, query?: { cursor?: string; limit?: number }, signal?: AbortSignal): Promise<Chat>
  /** Renames, pins or archives a chat; absent fields are not changed. */
  patchChat(conversationId: number, patch: ChatPatch): Promise<Chat>
  /** The chat as a file's content. */
  exportChat(conversationId: number, format: 'markdown' | 'json'): Promise<Blob>
  /** The versions of a question or an answer, the oldest first. */
  listVersions(conversationId: number, messageId: string): Promise<VersionList>
  /** Goes back to a version; the next question continues from it. */
  selectVersion(conversationId: number, messageId: string): Promise<Chat>
  deleteChat(conversationId: number): Promise<void>
  getPayload(conversationId: number, payloadId: string): Promise<CustomPayload>
  resolvePayload(conversationId: number, payloadId: string, outcome: 'accepted' | 'rejected'): Promise<CustomPayload>
  postFeedback(conversationId: number, messageId: string, feedback: Feedback): Promise<Message>
  deleteFeedback(conversationId: number, messageId: string): Promise<void>
  listPages(): Promise<PageList>
  getPage(page: string): Promise<Page>
  listTools(place?: { page?: string; tab?: string; subtab?: string }): Promise<ToolList>
  listModels(): Promise<ModelList>
  getMe(): Promise<User>
  /** Sends any request in the same way; other clients are built on it. A refusal is returned as a response. */
  send: Send
}

/** Makes the client of a service. */
export function createChatApi(options: ChatApiOptions = {}): ChatApi {
  const send = createSend(options)
  const json = jsonOf(send)
  const get = <T>(path: string, signal?: AbortSignal) => json<T>('GET', path, undefined, { signal })
  // The user's decision reaches the service even if the page is left at once.
  const decide = <T>(method: string, path: string, body?: unknown) => json<T>(method, path, body, { keepalive: true })

  async function* stream<T>(dialect: string, request: ChatRequest, signal: AbortSignal, o: StreamOptions, ends: (data: T) => boolean) {
    const key = { 'Idempotency-Key': o.key ?? newKey() }
    let run = ''
    yield* follow<T>({
      open: (s) => send('POST', `/api/chat/stream?dialect=${dialect}`, request, { signal: s, headers: key }),
      reopen: (cursor, s) => (run ? openRun(run, dialect, cursor, s) : null),
      isTerminal: ends,
      signal,
      size: JSON.stringify(request).length,
      onConnection: o.onConnection,
      onResponse: (response) => {
        run ||= response.headers.get('X-Run-Id') ?? ''
        if (run) o.onRun?.(run)
      },
    })
  }
  const openRun = (run: string, dialect: string, cursor: string, signal: AbortSignal) =>
    send('GET', `/api/chat/runs/${encodeURIComponent(run)}/stream?dialect=${dialect}`, undefined, {
      signal, headers: cursor ? { 'Last-Event-ID': cursor } : {},
    })

  return {
    baseUrl: options.baseUrl,
    streamMessage: (request, signal, o = {}) => stream<MessageFrame>('messages', request, signal, o, isStreamEnd),
    streamChatEvents: (request, signal, o = {}) => stream<ChatEventFrame>('chat', request, signal, o, (e) => terminal.has(e.type)),
    async *followRun(runId, signal, o = {}) {
      const reopen = (cursor: string, s: AbortSignal) => openRun(runId, 'messages', cursor || o.after || '', s)
      yield* follow<MessageFrame>({
        open: (s) => reopen('', s),
        reopen,
        isTerminal: isStreamEnd,
        signal,
        onConnection: o.onConnection,
      })
    },
    sendMessage: (request, signal) => json('POST', '/api/chat', request, { signal }),
    cancelRun: (run) => decide('POST', `/api/chat/runs/${encodeURIComponent(run)}/cancel`),
    answerApproval: (run, approval, approved, input) => decide('POST', `/api/chat/runs/${encodeURIComponent(run)}/approvals/${encodeURIComponent(approval)}`, { approved, input }),
    postToolResult: (run, id, output, isError = false) => json('POST', `/api/chat/runs/${encodeURIComponent(run)}/tool_results`, { tool_use_id: id, output, is_error: isError || undefined }),
    getRun: (run) => get(`/api/chat/runs/${encodeURIComponent(run)}`),
    getDiagnostics: (run) => get(`/api/chat/runs/${encodeURIComponent(run)}/diagnostics`),
    getToolCall: (run, index) => get(`/api/chat/runs/${encodeURIComponent(run)}/tools/${index}`),
    listChats: (query = {}, signal) => get(`/api/chats${queryOf(query)}`, signal),
    getChat: (id, query = {}, signal) => get(`/api/chats/${id}${queryOf(query)}`, signal),
    patchChat: (id, patch) => decide('PATCH', `/api/chats/${id}`, patch),
    exportChat: async (id, format) => (await checked(await send('GET', `/api/chats/${id}/export?format=${format}`))).blob(),
    listVersions: (id, message) => get(`/api/chats/${id}/messages/${encodeURIComponent(message)}/versions`),
    selectVersion: (id, message) => json('POST', `/api/chats/${id}/messages/${encodeURIComponent(message)}/select`),
    deleteChat: (id) => decide('DELETE', `/api/chats/${id}`),
    getPayload: (id, payload) => get(`/api/chats/${id}/payloads/${encodeURIComponent(payload)}`),
    resolvePayload: (id, payload, outcome) => decide('POST', `/api/chats/${id}/payloads/${encodeURIComponent(payload)}/resolve`, { outcome }),
    deleteFeedback: (id, message) => decide('DELETE', `/api/chats/${id}/messages/${encodeURIComponent(message)}/feedback`),
    postFeedback: (id, message, feedback) => decide('POST', `/api/chats/${id}/messages/${encodeURIComponent(message)}/feedback`, feedback),
    listPages: () => get('/api/pages'),
    getPage: (page) => get(`/api/pages/${encodeURIComponent(page)}`),
    listTools: (place = {}) => get(`/api/tools${queryOf(place)}`),
    listModels: () => get('/api/models'),
    getMe: () => get('/api/me'),
    send,
  }
}

const terminal = new Set(['complete', 'error', 'cancelled'])

/** Whether a frame is the last one of its run. */
export function isStreamEnd(frame: MessageFrame): boolean {
  return frame.type === 'event' && frame.props?.event === 'stream_end'
}

function createSend(options: ChatApiOptions): Send {
  const base = (options.baseUrl ?? '').replace(/\/$/, '')
  return async (method, path, body, init = {}) => {
    const [token, more] = await inTime(fromHost(options), init.signal)
    const headers: Record<string, string> = { ...more, ...init.headers }
    if (token) headers.Authorization = `Bearer ${token}`
    if (body !== undefined) headers['Content-Type'] = 'application/json'
    const call = options.fetch ?? globalThis.fetch.bind(globalThis)
    // What is not JSON is an error of the page, and not of the connection.
    const json = JSON.stringify(body)
    try {
      // With a cache Firefox lets a second tab wait until the first one has read the same stream to its end.
      return await call(base + path, { ...init, method, headers, body: json, cache: 'no-store' })
    } catch (error) {
      throw error instanceof TypeError ? unreachable() : error
    }
  }
}

/** The longest time that a host may take for the token and the headers of a request, in milliseconds. */
export const HOST_LIMIT = 30_000

const fromHost = async (options: ChatApiOptions) => [await tokenOf(options), await options.headers?.()] as const

/** Waits for what the host gives, for a limited time and while the request is wanted. */
function inTime<T>(given: Promise<T>, signal?: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new ApiError('The page takes too long to sign you in. Try again.', 401, 'token_timeout')), HOST_LIMIT)
    signal?.addEventListener('abort', () => reject(signal.reason))
    given.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/** Returns the host's token. A TypeError, which fetch throws when there is no connection, is not taken for a missing sign-in. */
async function tokenOf(options: ChatApiOptions) {
  try {
    return await options.getToken?.()
  } catch (error) {
    if (error instanceof ApiError) throw error
    if (error instanceof TypeError) throw unreachable()
    console.error(error)
    throw signedOut()
  }
}

/** Sends a request and reads the JSON of its answer; a refusal is thrown as ApiError. */
export function jsonOf(send: Send) {
  return async <T>(method: string, path: string, body?: unknown, init?: SendOptions): Promise<T> => jsonIn(await send(method, path, body, init))
}

export function queryOf(query: Record<string, string | number | undefined>): string {
  const entries = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  return entries.length === 0 ? '' : `?${new URLSearchParams(entries.map(([key, value]) => [key, String(value)]))}`
}

/** A new key; on pages without TLS there is no randomUUID. */
export function newKey(): string {
  return globalThis.crypto?.randomUUID?.() ?? `${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}`
}
