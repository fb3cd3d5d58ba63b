import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ApiError, createChatApi } from '../src'
import { STREAM_LIMITS } from '../src/api/stream'
import { answerFrames, fakeApi, json, sse } from './fakes'

const request = { message: 'hi' }
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

/** Reads a stream to its end, letting all waits pass. */
async function read(stream: AsyncGenerator<{ id: string; data: unknown }>): Promise<string[]> {
  const ids: string[] = []
  const done = (async () => {
    for await (const { id } of stream) ids.push(id)
  })()
  let over = false
  done.then(() => (over = true), () => (over = true))
  while (!over) await vi.advanceTimersByTimeAsync(STREAM_LIMITS.longestWait)
  await done
  return ids
}

/** A body that ends with an error, by default one of the network. */
const broken = (frames: unknown[], from = 1, error: Error = new TypeError('network')) => {
  const whole = sse(frames, from)
  const body = new ReadableStream({
    async start(controller) {
      controller.enqueue(new TextEncoder().encode(await whole.text()))
    },
    pull(controller) {
      controller.error(error)
    },
  })
  return new Response(body, { headers: whole.headers })
}

/** A body that sends these frames and then neither continues nor ends. */
const silent = (frames: unknown[], from = 1) => {
  const whole = sse(frames, from)
  const body = new ReadableStream({
    async start(controller) {
      controller.enqueue(new TextEncoder().encode(await whole.text()))
    },
  })
  return new Response(body, { headers: whole.headers })
}

describe('a stream', () => {
  const frames = answerFrames('Hello')

  it('is read to its end', async () => {
    const { api, calls } = fakeApi(() => sse(frames))
    expect(await read(api.streamMessage(request, new AbortController().signal))).toEqual(['1', '2', '3', '4', '5', '6'])
    expect(calls).toHaveLength(1)
    expect(calls[0]!.headers['Idempotency-Key']).toMatch(/.{8}/)
  })

  it('passes by the cache: in Firefox a second tab waits there until the first one has the whole stream', async () => {
    const caches: unknown[] = []
    const api = createChatApi({ fetch: async (_, init) => {
      caches.push(init?.cache)
      return sse(frames)
    } })
    await read(api.followRun('r', new AbortController().signal))
    expect(caches).toEqual(['no-store'])
  })

  it('continues after its cursor when the connection breaks or ends early', async () => {
    const links: string[] = []
    const { api, calls } = fakeApi(({ method, headers }) => {
      if (method === 'POST') return broken(frames.slice(0, 2))
      if (headers['Last-Event-ID'] === '2') return sse(frames.slice(2, 3), 3)
      return sse(frames.slice(3), 4)
    })
    const ids = await read(api.streamMessage(request, new AbortController().signal, { onConnection: (s) => links.push(s) }))
    expect(ids).toEqual(['1', '2', '3', '4', '5', '6'])
    expect(calls.map((c) => c.headers['Last-Event-ID'])).toEqual([undefined, '2', '3'])
    expect(calls[1]!.path).toBe('/api/chat/runs/run-1/stream?dialect=messages')
    expect(links).toEqual(['connecting', 'live', 'reconnecting', 'live', 'reconnecting', 'live'])
  })

  it.each(['upstream error', '{"type":"te'])('is read again where something on the way has written %s into it', async (text) => {
    const { api, calls } = fakeApi(async ({ method, headers: { 'Last-Event-ID': cursor } }) => {
      const from = Number(cursor ?? 0)
      if (method !== 'POST') return sse(frames.slice(from), from + 1)
      const whole = sse(frames.slice(0, 2))
      return new Response(`${await whole.text()}data: ${text}\n\n`, { headers: whole.headers })
    })
    expect(await read(api.streamMessage(request, new AbortController().signal))).toEqual(['1', '2', '3', '4', '5', '6'])
    expect(calls).toHaveLength(2)
  })

  it('continues after its cursor when a body of the page ends with an error of its own', async () => {
    const { api } = fakeApi(({ method }) => (method === 'POST' ? broken(frames.slice(0, 2), 1, new Error('of the page')) : sse(frames.slice(2), 3)))
    expect(await read(api.streamMessage(request, new AbortController().signal))).toEqual(['1', '2', '3', '4', '5', '6'])
  })

  it.each(['headers', 'fetch', 'onConnection', 'onRun'])('throws at once what %s of the page throws', async (name) => {
    let thrown = 0
    const fails = (given?: unknown): never | void => {
      if (given === 'connecting') return
      thrown++
      throw new Error('of the page')
    }
    const api = createChatApi({ fetch: async () => sse(frames), ...(name in { headers: 1, fetch: 1 } && { [name]: fails }) })
    await expect(read(api.streamMessage(request, new AbortController().signal, { [name]: fails }))).rejects.toThrow('of the page')
    expect(thrown).toBe(1)
  })

  it('continues after its cursor when nothing comes any more', async () => {
    const { api, calls } = fakeApi(({ method, headers }) => {
      if (method === 'POST') return silent(frames.slice(0, 2))
      return headers['Last-Event-ID'] === '2' ? silent(frames.slice(2, 3), 3) : sse(frames.slice(3), 4)
    })
    expect(await read(api.streamMessage(request, new AbortController().signal))).toEqual(['1', '2', '3', '4', '5', '6'])
    expect(calls.map((c) => c.headers['Last-Event-ID'])).toEqual([undefined, '2', '3'])
  })

  it('is asked for again when no answer to the request comes', async () => {
    let tries = 0
    const { api, calls } = fakeApi((_, signal) => (++tries === 1 ? new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new DOMException('gone', 'AbortError')))) : sse(frames)))
    expect(await read(api.streamMessage(request, new AbortController().signal))).toHaveLength(6)
    expect(calls[1]!.headers['Idempotency-Key']).toBe(calls[0]!.headers['Idempotency-Key'])
  })

  it('is not lost while comments come', async () => {
    const { api, calls } = fakeApi(() => {
      const body = new ReadableStream({
        async start(controller) {
          const send = (text: string) => controller.enqueue(new TextEncoder().encode(text))
          const [first, ...rest] = (await sse(frames).text()).split(/(?<=\n\n)/)
          send(first!)
          for (let i = 0; i < 10; i++) {
            await new Promise((resolve) => setTimeout(resolve, STREAM_LIMITS.silence / 3))
            send(': keep-alive\n\n')
          }
          send(rest.join(''))
          controller.close()
        },
      })
      return new Response(body, { headers: sse(frames).headers })
    })
    expect(await read(api.streamMessage(request, new AbortController().signal))).toHaveLength(6)
    expect(calls).toHaveLength(1)
  })

  it('uses a new connection when the browser is online again, or when it is told to', async () => {
    const { api, calls } = fakeApi(({ method, headers }) => {
      if (method === 'POST') return silent(frames.slice(0, 2))
      return headers['Last-Event-ID'] === '2' ? silent(frames.slice(2, 3), 3) : sse(frames.slice(3), 4)
    })
    const ids: string[] = []
    let now: (() => void) | undefined
    for await (const { id } of api.streamMessage(request, new AbortController().signal, { onConnection: (_, __, replace) => (now = replace) })) {
      ids.push(id)
      if (id === '2') globalThis.dispatchEvent(new Event('online'))
      if (id === '3') now?.()
      if (id === '2' || id === '3') void vi.advanceTimersByTimeAsync(STREAM_LIMITS.firstWait)
    }
    expect(ids).toEqual(['1', '2', '3', '4', '5', '6'])
    expect(calls.map((c) => c.headers['Last-Event-ID'])).toEqual([undefined, '2', '3'])
  })

  it('uses a new connection when the page is seen again after the computer slept for longer than a silence', async () => {
    const { api, calls } = fakeApi(({ method }) => (method === 'POST' ? silent(frames.slice(0, 3)) : sse(frames.slice(3), 4)))
    const ids: string[] = []
    const now = vi.spyOn(Date, 'now')
    for await (const { id } of api.streamMessage(request, new AbortController().signal)) {
      ids.push(id)
      if (id === '3') now.mockReturnValue(new Date().getTime() + STREAM_LIMITS.silence + 60_000)
      if (id === '2' || id === '3') document.dispatchEvent(new Event('visibilitychange'))
      if (id === '3') void vi.advanceTimersByTimeAsync(STREAM_LIMITS.firstWait)
    }
    expect(ids).toEqual(['1', '2', '3', '4', '5', '6'])
    expect(calls.map((c) => c.headers['Last-Event-ID'])).toEqual([undefined, '3'])
  })

  it('is asked for again under the same key when the service cannot be reached', async () => {
    let tries = 0
    const { api, calls } = fakeApi(() => {
      if (++tries < 4) throw new TypeError('refused')
      return sse(frames)
    })
    expect(await read(api.streamMessage(request, new AbortController().signal))).toHaveLength(6)
    expect(new Set(calls.map((c) => c.headers['Idempotency-Key'])).size).toBe(1)
  })

  it('ends at 204', async () => {
    const { api } = fakeApi(({ method }) => (method === 'POST' ? sse(frames.slice(0, 2)) : new Response(null, { status: 204 })))
    expect(await read(api.streamMessage(request, new AbortController().signal))).toEqual(['1', '2'])
  })

  it('waits for a service that restarts, and gives up on a refusal', async () => {
    let tries = 0
    const { api } = fakeApi(({ method }) => {
      if (method === 'POST') return sse(frames.slice(0, 1))
      return ++tries < 3 ? json({ detail: 'about to stop', code: 'shutting_down' }, 503) : json({ detail: 'gone', code: 'not_found' }, 404)
    })
    await expect(read(api.streamMessage(request, new AbortController().signal))).rejects.toThrow('gone')
    expect(tries).toBe(3)
  })

  it.each([
    { asked: '30', wait: 30_000 },
    { asked: 'in 30 s', wait: 30_000 },
    { asked: '86400', wait: STREAM_LIMITS.longestAsked },
    { asked: '', wait: STREAM_LIMITS.firstWait },
    { asked: '-5', wait: STREAM_LIMITS.firstWait },
    { asked: 'soon', wait: STREAM_LIMITS.firstWait },
  ])('waits as long as a service that has too much to do asks for, within a bound: $asked', async ({ asked, wait }) => {
    const after = asked === 'in 30 s' ? new Date(Date.now() + 30_999).toUTCString() : asked
    let tries = 0
    const { api } = fakeApi(({ method }) => {
      if (method === 'POST') return sse(frames.slice(0, 2))
      return ++tries === 2 ? sse(frames.slice(2), 3) : new Response('{"code":"too_many_streams"}', { status: 429, headers: { 'Retry-After': after } })
    })
    const waits: number[] = []
    const ids = read(api.streamMessage(request, new AbortController().signal, { onConnection: (state, ms) => state === 'reconnecting' && waits.push(ms ?? 0) }))
    expect(await ids).toHaveLength(6)
    // The first wait follows an end without an error.
    expect(waits).toHaveLength(2)
    expect(waits[0]).toBeLessThanOrEqual(STREAM_LIMITS.firstWait)
    expect(waits[1]).toBeGreaterThan(wait === STREAM_LIMITS.firstWait ? 0 : wait - 1_500)
    expect(waits[1]).toBeLessThanOrEqual(wait === STREAM_LIMITS.firstWait ? 2 * wait : wait + 1_000)
  })

  it('does not wait as long when the user asks for a connection', async () => {
    let tries = 0
    const { api } = fakeApi(({ method }) => {
      if (method === 'POST') return sse(frames.slice(0, 2))
      return ++tries === 2 ? sse(frames.slice(2), 3) : new Response('{"code":"store_unavailable"}', { status: 503, headers: { 'Retry-After': '30' } })
    })
    const ids: string[] = []
    for await (const { id } of api.streamMessage(request, new AbortController().signal, { onConnection: (state, _, now) => state === 'reconnecting' && queueMicrotask(() => now?.()) })) ids.push(id)
    expect(ids).toHaveLength(6)
  })

  it('throws the service’s error immediately', async () => {
    const { api } = fakeApi(() => json({ detail: 'the body has values that are not allowed', code: 'invalid', errors: [{ pointer: '/message', detail: 'must not be empty' }] }, 422))
    const failed = await read(api.streamMessage(request, new AbortController().signal)).catch((e: unknown) => e)
    expect(failed).toBeInstanceOf(ApiError)
    expect(failed).toMatchObject({ status: 422, code: 'invalid', retryable: false, message: 'the body has values that are not allowed: /message must not be empty' })
  })

  it('gives up in the end', async () => {
    const { api, calls } = fakeApi(() => {
      throw new TypeError('refused')
    })
    await expect(read(api.streamMessage(request, new AbortController().signal))).rejects.toThrow('cannot be reached')
    expect(calls).toHaveLength(STREAM_LIMITS.attempts + 1)
  })

  it('stops when it is told to', async () => {
    const stop = new AbortController()
    const { api } = fakeApi(() => broken(frames.slice(0, 2)))
    const ids: string[] = []
    for await (const { id } of api.streamMessage(request, stop.signal)) {
      ids.push(id)
      if (id === '2') stop.abort()
    }
    expect(ids).toEqual(['1', '2'])
  })
})
