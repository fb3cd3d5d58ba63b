import { ApiError, checked, unreachable } from './errors'
import { eventReader } from './events'

/** One event of a stream: its cursor and its JSON. */
export interface StreamEvent<T> {
  id: string
  data: T
}

/** The connection of a stream: being opened, open, or lost and being opened again. */
export type Connection = 'connecting' | 'live' | 'reconnecting'

/** Limits and waits of a stream that is read over any number of connections. */
export const STREAM_LIMITS = {
  /** First wait before a new connection, doubled each time. */
  firstWait: 250,
  /** Longest wait between two connections. */
  longestWait: 8_000,
  /** The most that a Retry-After of the service lengthens a wait. */
  longestAsked: 60_000,
  /** Connections in a row that were short and without an event, after which the reader gives up. */
  attempts: 60,
  /** Longest silence of a connection, after which it is taken for lost. The service sends a comment after 15 s (its setting keepalive). */
  silence: 45_000,
  /** Characters of a request for which its answer may take a millisecond longer. */
  sent: 8,
  /** Longest event that is read, in characters. */
  eventSize: 16 * 1024 * 1024,
}

export interface FollowOptions<T> {
  /** Opens the first connection; absent when there is none to open. */
  open: (signal: AbortSignal) => Promise<Response>
  /** Opens a later connection, after the cursor; null while the run is unknown. */
  reopen: (cursor: string, signal: AbortSignal) => Promise<Response> | null
  /** Whether an event is the last one. */
  isTerminal: (data: T) => boolean
  signal: AbortSignal
  /** Characters that the first connection sends. */
  size?: number
  /** Called with every change; `now` ends the wait for a new connection, or replaces the present one. */
  onConnection?: (state: Connection, waitMs?: number, now?: () => void) => void
  /** Called when a connection was answered, with access to its headers. */
  onResponse?: (response: Response) => void
  random?: () => number
}

/**
 * Yields the events of a run until its terminal one, over as many connections as it takes. Events are not yielded twice.
 * It returns early on 204 (there is nothing more) and when the signal is aborted; it throws ApiError when the service
 * refuses, or when no connection is possible. A response that cannot be
 * read, or has an event that is not JSON, is a lost connection.
 */
export async function* follow<T>(options: FollowOptions<T>): AsyncGenerator<StreamEvent<T>, void, void> {
  const { signal, random } = options
  let cursor = ''
  let failures = 0
  let next = options.open
  let size = options.size ?? 0
  options.onConnection?.('connecting')
  while (!signal.aborted) {
    const line = connection(signal)
    const begun = performance.now()
    let problem: unknown
    try {
      line.heard(size / STREAM_LIMITS.sent)
      const response = await next(line.signal)
      if (response.status === 204) return
      await checked(response, /html|json/)
      line.heard()
      options.onResponse?.(response)
      options.onConnection?.('live', 0, line.close)
      for await (const event of eventsOf<T>(response, line.signal, () => line.heard())) {
        failures = 0
        if (event.id) cursor = event.id
        yield event
        if (options.isTerminal(event.data)) return
      }
    } catch (error) {
      if (signal.aborted) return
      const lost = line.signal.aborted || error instanceof TypeError || (error instanceof ApiError && again(error, cursor !== ''))
      if (!lost) throw error
      problem = error
    } finally {
      line.close()
    }
    if (signal.aborted) return
    if (performance.now() - begun > STREAM_LIMITS.longestWait) failures = 0
    size = 0
    if (++failures > STREAM_LIMITS.attempts) throw unreachable()
    const wait = waitAfter(problem, failures, STREAM_LIMITS, random)
    const now = new AbortController()
    options.onConnection?.('reconnecting', wait, () => now.abort())
    await pause(wait, signal, now.signal)
    next = (line) => options.reopen(cursor, line) ?? options.open(line)
  }
}

/**
 * A connection of a reader. It closes with the reader, when it is silent for too long, and when the browser is online again: then it
 * is no longer heard. A timer does not count the time in which the computer slept; it counts when the page is seen again.
 */
function connection(reader: AbortSignal) {
  const control = new AbortController()
  const { signal } = control
  let timer: ReturnType<typeof setTimeout> | undefined
  const close = () => {
    clearTimeout(timer)
    control.abort()
  }
  let due = Infinity
  reader.addEventListener('abort', close, { signal })
  globalThis.addEventListener?.('online', close, { signal })
  globalThis.document?.addEventListener('visibilitychange', () => Date.now() > due && close(), { signal })
  /** Something has arrived; the next thing may take this many milliseconds longer than usual. */
  const heard = (longer = 0) => {
    clearTimeout(timer)
    longer += STREAM_LIMITS.silence
    due = Date.now() + longer
    timer = setTimeout(close, longer)
  }
  return { signal, close, heard }
}

/** Whether a refusal may be temporary: the service cannot be reached, restarts, or is overloaded. */
function again(error: ApiError, begun: boolean): boolean {
  if (error.status === 0 || (error.code === 'http' && error.status > 501 && error.status < 505)) return true // a proxy says so
  return begun && (error.status === 429 || error.status >= 500)
}

/** The milliseconds before a request is repeated by itself: longer after each failure, and as long as the service asks. */
export function waitAfter(problem: unknown, failures: number, { firstWait, longestWait }: { firstWait: number; longestWait: number }, random = Math.random): number {
  const asked = problem instanceof ApiError ? (problem.retryAfter ?? 0) * 1000 : 0
  return Math.max(Math.min(firstWait * 2 ** Math.min(failures - 1, 10), longestWait) * (0.5 + random() / 2), Math.min(asked, STREAM_LIMITS.longestAsked))
}

/** Waits, at most until the browser is online again or a signal is aborted. */
export function pause(ms: number, ...signals: AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      for (const signal of signals) signal.removeEventListener('abort', end)
      globalThis.removeEventListener?.('online', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    for (const signal of signals) signal.addEventListener('abort', end)
    globalThis.addEventListener?.('online', end)
  })
}

/** Yields the events of one response; heard is called when a part of it arrives. What cannot be read, such as an event that is not JSON, is a lost connection. */
async function* eventsOf<T>(response: Response, signal?: AbortSignal, heard?: () => void): AsyncGenerator<StreamEvent<T>, void, void> {
  const ready: StreamEvent<T>[] = []
  let size = 0
  const feed = eventReader(({ id, data }) => {
    size = 0
    ready.push({ id, data: JSON.parse(data) as T })
  })
  const reader = response.body!.getReader()
  const decoder = new TextDecoder()
  const stop = () => void reader.cancel().catch(() => undefined)
  signal?.addEventListener('abort', stop)
  try {
    for (;;) {
      const { value, done } = await reader.read()
      if (done) return
      heard?.()
      size += value.byteLength
      feed(decoder.decode(value, { stream: true }))
      if (size > STREAM_LIMITS.eventSize && ready.length === 0) throw new ApiError('An event is too large.', 502, 'too_large')
      yield* ready.splice(0)
    }
  } catch (error) {
    throw error instanceof ApiError ? error : unreachable()
  } finally {
    signal?.removeEventListener('abort', stop)
    stop()
  }
}
