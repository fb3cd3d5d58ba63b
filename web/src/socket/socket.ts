import { ApiError, jsonIn } from '../api/errors'
import { newKey, type ChatApi } from '../api/client'
import { waitAfter } from '../api/stream'
import type { SocketChunk, SocketEvent } from '../api/types'
import { RenderThrottle } from '../state/store/renderThrottle'
import { emptySocketFold, foldChunk, type SocketFold, type SocketRun } from './chunks'

/** Limits and waits of a socket. */
export const SOCKET_LIMITS = {
  /** First wait before a new connection, doubled each time. */
  firstWait: 250,
  /** Longest wait between two connections. */
  longestWait: 8_000,
  /** Connections in a row that did not open, after which the socket gives up until it is asked again. */
  attempts: 60,
  /** Longest silence of a connection from which something is awaited, after which it is taken for lost. A run that is silent for so long is asked for. */
  silence: 20_000,
  /** Events that wait for their answer. */
  pending: 64,
  /** Characters of all of them. */
  pendingSize: 16 * 1024 * 1024,
  /** Chats that are watched; the service allows as many. The oldest is dropped first. */
  chats: 32,
}

/** How late a timer may be in a page that is not seen. One that is later did not count the time in which the computer slept. */
const LATE = 60_000

export type SocketLink = 'closed' | 'connecting' | 'live' | 'reconnecting'

/** A question over the socket. */
export type SocketQuestion = Omit<SocketEvent, 'name' | 'id' | 'message' | 'user_id' | 'run_id' | 'after' | 'approval_id' | 'approved' | 'input' | 'tool_use_id' | 'output' | 'is_error'>

export interface SocketState extends SocketFold {
  link: SocketLink
  /** Why the service refuses the connection, or an event that nobody waits for; empty if it does not. */
  problem: string
}

export interface SocketOptions {
  api: Pick<ChatApi, 'send' | 'baseUrl'>
  /** Makes the connection; the browser's own when absent. */
  WebSocket?: typeof WebSocket | undefined
  random?: (() => number) | undefined
}

/**
 * One websocket to the service, over any number of connections. Runs continue
 * where the connection broke, and unanswered events are sent again: the service
 * handles each of them once. Methods reject with ApiError when the service
 * refuses.
 */
export interface ChatSocket {
  /** The state as it was last shown; the same value until listeners are called. */
  getSnapshot(): SocketState
  subscribe(listener: () => void): () => void
  /** Connects, and stays connected until the returned function is called. The state is kept. */
  connect(): () => void
  /** Ends the wait for a lost connection and connects at once. */
  reconnect(): void
  /** Watches the runs of a chat. */
  watch(chatId: string): void
  /** Sends a question; the promise is settled when the question is stored. */
  message(content: string, question?: SocketQuestion): Promise<SocketChunk>
  approve(runId: string, approvalId: string, approved: boolean, input?: unknown): Promise<void>
  toolResult(runId: string, toolUseId: string, output: unknown, isError?: boolean): Promise<void>
  /** Ends the running runs of a chat, and the waiting ones. */
  stop(chatId: string): Promise<void>
  /** Ends the running runs of a chat; the waiting ones continue. */
  pause(chatId: string): Promise<void>
}

interface Pending {
  event: SocketEvent
  frame: string
  resolve: (chunk: SocketChunk) => void
  reject: (error: ApiError) => void
}

/** Makes a socket. Nothing happens before connect. */
export function createSocket(options: SocketOptions): ChatSocket {
  return new Socket(options)
}

class Socket implements ChatSocket {
  private readonly options: SocketOptions
  private state: SocketState = { ...emptySocketFold, link: 'closed', problem: '' }
  private shown = this.state
  private readonly listeners = new Set<() => void>()
  private readonly throttle = new RenderThrottle(() => this.show())
  private readonly pending = new Map<string, Pending>()
  private readonly chats = new Set<string>()
  /** The chats whose last run is being resumed, by the id of the event. */
  private readonly resumes = new Map<string, string>()
  private wanted = 0
  private failures = 0
  private line: WebSocket | null = null
  private timer: ReturnType<typeof setTimeout> | undefined
  private due = 0
  /** Cancels the current attempt, or the wait for the next one. */
  private attempt: AbortController | null = null

  constructor(options: SocketOptions) {
    this.options = options
  }

  readonly getSnapshot = (): SocketState => this.shown

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  connect(): () => void {
    this.wanted++
    globalThis.addEventListener?.('online', this.online)
    globalThis.document?.addEventListener('visibilitychange', this.wake)
    if (!this.line && !this.attempt) void this.open()
    let left = false
    return () => {
      if (left) return
      left = true
      if (--this.wanted === 0) this.leave()
    }
  }

  private leave(): void {
    globalThis.removeEventListener?.('online', this.online)
    globalThis.document?.removeEventListener('visibilitychange', this.wake)
    clearTimeout(this.timer)
    this.attempt?.abort()
    this.attempt = null
    const { line } = this
    this.line = null
    line?.close()
    for (const one of this.pending.values()) one.reject(new ApiError('The connection was closed.', 0, 'network'))
    this.pending.clear()
    this.set({ link: 'closed' })
  }

  private readonly wake = (): void => {
    if (globalThis.document?.visibilityState === 'hidden') return
    if (this.line && Date.now() > this.due + LATE) this.lose()
    this.reconnect()
  }

  /** A connection of before is no longer heard. */
  private readonly online = (): void => {
    if (this.line) this.lose()
    this.wake()
  }

  /** Takes the connection for lost. When its end is reported later, it is a former one. */
  private lose(): void {
    const { line } = this
    this.closed(0)
    line?.close()
  }

  /** Waits for the next frame. */
  private listen(): void {
    clearTimeout(this.timer)
    this.due = Date.now() + SOCKET_LIMITS.silence
    this.timer = setTimeout(() => this.silent(), SOCKET_LIMITS.silence)
  }

  private silent(): void {
    if (!this.line) {
      this.attempt?.abort()
      return void this.again()
    }
    if (this.awaits()) return this.lose()
    this.listen()
    const run = this.state.runs.findLast(underWay)
    if (run) this.resume(run.chat_id) // it is answered if the connection works
  }

  /** Whether an event has not been answered. */
  private awaits(): boolean {
    return this.pending.size > 0 || this.resumes.size > 0
  }

  reconnect(): void {
    if (this.wanted === 0 || this.line) return
    this.attempt?.abort()
    this.failures = 0
    void this.open()
  }

  /** Opens a connection for what is asked of the socket. */
  private need(): void {
    if (!this.attempt) this.reconnect()
  }

  watch(chatId: string): void {
    const watched = this.chats.has(chatId)
    if (!watched) this.note(chatId)
    if (this.state.link !== 'live') return this.need()
    if (!watched) this.resume(chatId)
  }

  private note(chatId: string): void {
    this.chats.delete(chatId)
    this.chats.add(chatId)
    for (const oldest of this.chats) if (this.chats.size > SOCKET_LIMITS.chats) this.chats.delete(oldest)
  }

  message(content: string, question: SocketQuestion = {}): Promise<SocketChunk> {
    const chatId = question.chat_id ?? question.document_id
    if (chatId) this.note(chatId)
    return this.send({ name: 'message', message: { content, role: 'user' }, ...question })
  }

  async approve(runId: string, approvalId: string, approved: boolean, input?: unknown): Promise<void> {
    await this.send({ name: 'approve', run_id: runId, approval_id: approvalId, approved, ...(input !== undefined && { input }) })
  }

  async toolResult(runId: string, toolUseId: string, output: unknown, isError = false): Promise<void> {
    await this.send({ name: 'tool_result', run_id: runId, tool_use_id: toolUseId, output: output ?? null, ...(isError && { is_error: true }) })
  }

  async stop(chatId: string): Promise<void> {
    await this.send({ name: 'stop', chat_id: chatId })
    this.note(chatId)
    this.resume(chatId) // the service no longer watches it
  }

  async pause(chatId: string): Promise<void> {
    await this.send({ name: 'pause', chat_id: chatId })
  }

  /** Sends an event, and again after each lost connection until it is answered. */
  private send(event: SocketEvent): Promise<SocketChunk> {
    const id = newKey()
    const frame = JSON.stringify({ ...event, id })
    const size = [...this.pending.values()].reduce((sum, one) => sum + one.frame.length, frame.length)
    if (this.wanted === 0) return Promise.reject(new ApiError('The connection was closed.', 0, 'network'))
    if (this.pending.size >= SOCKET_LIMITS.pending || size > SOCKET_LIMITS.pendingSize) return Promise.reject(new ApiError('Too much waits to be sent.', 0, 'network'))
    return new Promise((resolve, reject) => {
      if (!this.awaits()) this.listen()
      this.pending.set(id, { event, frame, resolve, reject })
      if (this.state.link === 'live') this.line?.send(frame)
      else this.need()
    })
  }

  /** Opens a connection, and tries until there is one. */
  private async open(): Promise<void> {
    const attempt = new AbortController()
    this.attempt = attempt
    this.listen()
    this.set({ link: this.failures > 0 || this.state.runs.length > 0 ? 'reconnecting' : 'connecting' })
    try {
      const response = await this.options.api.send('POST', '/api/ws/ticket', undefined, { signal: attempt.signal })
      const { ticket } = await jsonIn<{ ticket: string }>(response)
      if (attempt.signal.aborted) return
      const Line = this.options.WebSocket ?? globalThis.WebSocket
      const line = new Line(`${addressOf(this.options.api.baseUrl)}/api/ws?ticket=${encodeURIComponent(ticket)}`)
      attempt.signal.addEventListener('abort', () => line.close())
      line.onopen = () => this.opened(line, attempt)
      line.onmessage = ({ data }) => this.line === line && this.take(String(data))
      line.onclose = ({ code }) => (this.line === line || this.attempt === attempt) && this.closed(code)
    } catch (error) {
      if (attempt.signal.aborted) return
      const refused = error instanceof ApiError && error.status !== 0 && !error.retryable
      if (!refused) return void this.again(error)
      clearTimeout(this.timer)
      this.attempt = null
      for (const one of this.pending.values()) one.reject(error)
      this.pending.clear()
      this.set({ link: 'closed', problem: error.message })
    }
  }

  private opened(line: WebSocket, attempt: AbortController): void {
    if (attempt.signal.aborted) return
    this.line = line
    this.attempt = null
    this.failures = 0
    this.resumes.clear()
    this.listen()
    this.set({ link: 'live', problem: '' })
    for (const chat of this.chats) this.resume(chat)
    for (const { frame } of this.pending.values()) line.send(frame)
  }

  /** Watches a chat, from where its last run was shown. */
  private resume(chatId: string): void {
    const last = this.state.runs.findLast((run) => run.chat_id === chatId)
    const id = newKey()
    if (!this.awaits()) this.listen()
    if (last) this.resumes.set(id, chatId)
    this.line?.send(JSON.stringify({ name: 'resume', id, chat_id: chatId, ...(last && { run_id: last.run_id, after: last.last }) }))
  }

  /** A run that cannot be resumed no longer exists: only new runs are watched. */
  private resumed(id: string, chunk: SocketChunk): boolean {
    const chatId = this.resumes.get(id)
    if (chatId === undefined) return false
    this.resumes.delete(id)
    if (chunk.type === 'error') {
      this.set({ runs: this.state.runs.filter((run) => run.chat_id !== chatId) })
      this.resume(chatId)
    }
    return true
  }

  private closed(code: number): void {
    clearTimeout(this.timer)
    this.line = null
    if (this.wanted === 0) return
    if (code === 1009) this.tooLarge()
    // The socket was idle for too long: it opens again when needed.
    if (code === 1000 && this.pending.size === 0 && !this.state.runs.some(underWay)) return this.set({ link: 'closed' })
    void this.again()
  }

  private tooLarge(): void {
    const largest = [...this.pending].toSorted(([, a], [, b]) => b.frame.length - a.frame.length)[0]
    if (!largest) return
    this.pending.delete(largest[0])
    largest[1].reject(new ApiError('The message is too large.', 413, 'too_large'))
  }

  private async again(problem?: unknown): Promise<void> {
    clearTimeout(this.timer)
    if (++this.failures > SOCKET_LIMITS.attempts) {
      this.attempt = null
      return this.set({ link: 'closed', problem: 'The service cannot be reached.' })
    }
    const wait = waitAfter(problem, this.failures, SOCKET_LIMITS, this.options.random)
    const attempt = new AbortController()
    this.attempt = attempt
    this.set({ link: 'reconnecting' })
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, wait)
      attempt.signal.addEventListener('abort', () => (clearTimeout(timer), resolve()))
    })
    if (!attempt.signal.aborted) void this.open()
  }

  private take(frame: string): void {
    const chunk = chunkOf(frame)
    if (!chunk) return
    this.listen()
    const { event_id: event = '' } = chunk
    if (this.resumed(event, chunk)) return
    const one = this.pending.get(event)
    if (one) {
      this.pending.delete(event)
      if (chunk.type === 'error') one.reject(new ApiError(chunk.content ?? '', statusOf(chunk.code), chunk.code ?? 'internal'))
      else one.resolve(chunk)
      if (chunk.type === 'ack' && one.event.name === 'message' && chunk.chat_id) this.note(chunk.chat_id)
      return
    }
    if (chunk.type === 'error' && !chunk.seq) return this.set({ problem: chunk.content ?? '' })
    const fold = foldChunk(this.state, chunk)
    if (fold === this.state) return
    this.state = fold as SocketState
    this.throttle.soon()
  }

  private set(change: Partial<SocketState>): void {
    this.state = { ...this.state, ...change }
    this.throttle.now()
  }

  private show(): void {
    if (this.shown === this.state) return
    this.shown = this.state
    for (const listener of this.listeners) listener()
  }
}

/** Whether a run has not ended. */
export function underWay(run: SocketRun): boolean {
  return run.state === ''
}

/** The chunk of a frame; null if the frame is not a chunk. */
function chunkOf(frame: string): SocketChunk | null {
  try {
    const value = JSON.parse(frame) as SocketChunk | null
    return typeof value?.type === 'string' ? value : null
  } catch {
    return null
  }
}

/** The service's address for websockets; the page's own origin when base is empty. */
function addressOf(base = ''): string {
  return new URL(base || '/', globalThis.location?.href ?? 'http://localhost').href.replace(/^http/, 'ws').replace(/\/$/, '')
}

/** The HTTP status that corresponds to a refusal over the socket. */
function statusOf(code: string | undefined): number {
  return { bad_request: 400, unauthorized: 401, forbidden: 403, not_found: 404, conflict: 409, busy: 409, too_large: 413, invalid: 422, too_many_requests: 429, too_many_streams: 429, shutting_down: 503 }[code ?? ''] ?? 500
}
