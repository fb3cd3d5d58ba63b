import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ApiError } from '../src'
import type { SocketChunk, SocketEvent } from '../src/api/types'
import { createSocket, SOCKET_LIMITS, type ChatSocket } from '../src/socket/socket'
import { fakeLines, FakeLine } from './lines'

let lines: FakeLine[]
let tickets: (() => Response)[]
let socket: ChatSocket
let leave: () => void

beforeEach(() => {
  vi.useFakeTimers()
  tickets = []
  const made = fakeLines(() => tickets.shift()?.())
  lines = made.lines
  socket = createSocket({ api: made.api, WebSocket: made.WebSocket, random: () => 1 })
})
afterEach(() => {
  leave?.()
  vi.useRealTimers()
})

const soon = () => vi.advanceTimersByTimeAsync(1000)
const connect = async () => {
  leave = socket.connect()
  await soon()
  lines[0]!.accept()
}
const started = (line: FakeLine, run = 'r1', chat = 'c1') => line.give({ type: 'status', content: 'Thinking...', run_id: run, chat_id: chat, message_id: 'm1', seq: 1 })

describe('a socket', () => {
  it('opens with a ticket, and says its events with ids', async () => {
    await connect()
    expect(lines[0]!.url).toMatch(/^ws:\/\/.*\/api\/ws\?ticket=ticket-1$/)
    expect(socket.getSnapshot().link).toBe('live')
    const asked = socket.message('Write', { document_id: 'd', chat_id: 'c1', mode: 'agent' })
    const [event] = lines[0]!.events
    expect(event).toMatchObject({ name: 'message', message: { content: 'Write', role: 'user' }, document_id: 'd', mode: 'agent' })
    lines[0]!.give({ type: 'ack', event_id: event!.id, run_id: 'r1', chat_id: 'c1' })
    await expect(asked).resolves.toMatchObject({ run_id: 'r1' })
  })

  it('resumes each chat at its place after a cut, and sends unanswered events again, once each', async () => {
    await connect()
    socket.watch('c1')
    socket.watch('c2')
    started(lines[0]!)
    lines[0]!.give({ type: 'md', block_ids: 'm1', content: 'One ', seq: 4 })
    const asked = socket.message('Second', { chat_id: 'c1' })
    const approved = socket.approve('r1', 'a1', true, { seat: '1A' })
    const before = lines[0]!.events
    lines[0]!.drop()
    await soon()
    expect(socket.getSnapshot().link).toBe('reconnecting')
    lines[1]!.accept()
    expect(lines[1]!.url).toContain('ticket-2')
    const resumes = lines[1]!.events.filter((e) => e.name === 'resume').map(({ chat_id, run_id, after }) => ({ chat_id, run_id, after }))
    expect(resumes).toEqual([{ chat_id: 'c2', run_id: undefined, after: undefined }, { chat_id: 'c1', run_id: 'r1', after: 4 }])
    expect(lines[1]!.events.filter((e) => e.name !== 'resume')).toEqual(before.filter((e) => e.name !== 'resume'))
    for (const { id, name } of lines[1]!.events) if (name !== 'resume') lines[1]!.give({ type: 'ack', event_id: id })
    await Promise.all([asked, approved])
    lines[1]!.give({ type: 'md', block_ids: 'm1', content: 'One ', run_id: 'r1', seq: 4 })
    lines[1]!.give({ type: 'md', block_ids: 'm1', content: 'two', seq: 5 })
    await soon()
    expect(socket.getSnapshot().blocks.m1!.content).toBe('One two')
    lines[1]!.drop()
    await soon()
    lines[2]!.accept()
    expect(lines[2]!.events.filter((e) => e.name !== 'resume')).toEqual([])
  })

  it('continues with a chat whose last run no longer exists', async () => {
    await connect()
    socket.watch('c1')
    started(lines[0]!)
    lines[0]!.drop()
    await soon()
    lines[1]!.accept()
    lines[1]!.give({ type: 'error', code: 'not_found', content: 'there is nothing under this id', end: true, event_id: lines[1]!.events[0]!.id })
    expect(lines[1]!.events[1]).toMatchObject({ name: 'resume', chat_id: 'c1' })
    expect(lines[1]!.events[1]!.run_id).toBeUndefined()
    expect(socket.getSnapshot().problem).toBe('')
  })

  it('reports why an event is refused to its sender only', async () => {
    await connect()
    const wrong = socket.toolResult('r1', 't1', { rows: [4] }, true)
    expect(lines[0]!.events[0]).toMatchObject({ name: 'tool_result', run_id: 'r1', tool_use_id: 't1', output: { rows: [4] }, is_error: true })
    lines[0]!.give({ type: 'error', code: 'conflict', content: 'this call already has a different answer', end: true, event_id: lines[0]!.events[0]!.id })
    await expect(wrong).rejects.toMatchObject({ status: 409, code: 'conflict', message: 'this call already has a different answer' })
    expect(socket.getSnapshot().problem).toBe('')
    lines[0]!.give({ type: 'error', code: 'bad_request', content: 'the frame is empty', end: true })
    expect(socket.getSnapshot().problem).toBe('the frame is empty')
  })

  it('stops, pauses, and watches a stopped chat again', async () => {
    await connect()
    const names = () => lines[0]!.events.map((e) => `${e.name} ${e.chat_id}`)
    const ack = () => lines[0]!.give({ type: 'ack', event_id: lines[0]!.events.at(-1)!.id })
    const paused = socket.pause('c1')
    ack()
    await paused
    const stopped = socket.stop('c1')
    ack()
    await stopped
    expect(names()).toEqual(['pause c1', 'stop c1', 'resume c1'])
  })

  it('takes a connection for lost that does not answer, and asks a run that is silent', async () => {
    await connect()
    await vi.advanceTimersByTimeAsync(10 * SOCKET_LIMITS.silence)
    expect(lines).toHaveLength(1) // nothing is awaited
    const asked = socket.message('Write', { chat_id: 'c1' })
    await vi.advanceTimersByTimeAsync(SOCKET_LIMITS.silence - 1)
    expect(lines).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1001)
    expect(lines).toHaveLength(2)
    lines[1]!.accept()
    lines[1]!.give({ type: 'ack', event_id: lines[1]!.events.find((e) => e.name === 'message')!.id, run_id: 'r1', chat_id: 'c1' })
    await expect(asked).resolves.toMatchObject({ run_id: 'r1' })
    for (const e of lines[1]!.events.filter((one) => one.name === 'resume')) lines[1]!.give({ type: 'ack', event_id: e.id })
    started(lines[1]!)
    const before = lines[1]!.events.length
    await vi.advanceTimersByTimeAsync(SOCKET_LIMITS.silence)
    const [probe] = lines[1]!.events.slice(before)
    expect(probe).toMatchObject({ name: 'resume', run_id: 'r1', after: 1 })
    lines[1]!.give({ type: 'ack', event_id: probe!.id })
    await vi.advanceTimersByTimeAsync(2 * SOCKET_LIMITS.silence + 1000)
    expect(lines).toHaveLength(3) // the next one was not answered
  })

  it('uses a new connection when the browser is online again, and when one does not open', async () => {
    await connect()
    globalThis.dispatchEvent(new Event('online'))
    await soon()
    expect(lines).toHaveLength(2)
    await vi.advanceTimersByTimeAsync(SOCKET_LIMITS.silence + 1000)
    expect(lines).toHaveLength(3)
    lines[2]!.accept()
    expect(socket.getSnapshot().link).toBe('live')
  })

  it('uses a new connection when the page is seen again after the computer slept for longer than a silence', async () => {
    await connect()
    socket.watch('c1')
    started(lines[0]!)
    const seen = async () => {
      document.dispatchEvent(new Event('visibilitychange'))
      await soon()
    }
    vi.setSystemTime(Date.now() + SOCKET_LIMITS.silence) // as when a timer is late in a page that is not seen
    await seen()
    expect(lines).toHaveLength(1)
    vi.setSystemTime(Date.now() + 60_000) // no timer counts this time
    await seen()
    expect(lines).toHaveLength(2)
    lines[1]!.accept()
    expect(lines[1]!.events).toMatchObject([{ name: 'resume', run_id: 'r1', after: 1 }])
    await seen()
    expect(lines).toHaveLength(2)
  })

  it('opens one connection when the browser reports the end of the former one later', async () => {
    await connect()
    globalThis.dispatchEvent(new Event('online'))
    lines[0]!.drop() // the connection of before closes while the ticket for the next one is on its way
    await soon()
    expect(lines).toHaveLength(2)
    lines[1]!.accept()
    await soon()
    expect(lines).toHaveLength(2)
    expect(socket.getSnapshot().link).toBe('live')
    lines[1]!.drop()
    await soon()
    expect(lines).toHaveLength(3)
  })

  it('waits longer each time, and connects at once when it is told to', async () => {
    leave = socket.connect()
    await soon()
    const waits: number[] = []
    for (let i = 0; i < 7; i++) {
      const made = lines.length
      lines.at(-1)!.drop()
      let wait = 0
      while (lines.length === made) {
        await vi.advanceTimersByTimeAsync(50)
        wait += 50
      }
      waits.push(wait)
    }
    expect(waits).toEqual([250, 500, 1000, 2000, 4000, 8000, 8000])
    lines.at(-1)!.drop()
    socket.reconnect()
    await vi.advanceTimersByTimeAsync(0)
    expect(lines.length).toBe(9)
  })

  it('gives up after so many attempts, until it is asked again', async () => {
    leave = socket.connect()
    await soon()
    for (let i = 0; i < SOCKET_LIMITS.attempts; i++) {
      lines.at(-1)!.drop()
      await vi.advanceTimersByTimeAsync(SOCKET_LIMITS.longestWait)
    }
    lines.at(-1)!.drop()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(socket.getSnapshot().link).toBe('closed')
    const made = lines.length
    socket.reconnect()
    await soon()
    expect(lines.length).toBe(made + 1)
  })

  it('asks for no second ticket while one is on its way, and says why it is refused', async () => {
    tickets.push(() => new Response(JSON.stringify({ detail: 'a bearer token is required', code: 'unauthorized' }), { status: 401 }))
    leave = socket.connect()
    const asked = socket.message('x')
    const refused = expect(asked).rejects.toMatchObject({ status: 401 })
    await soon()
    await refused
    expect(lines).toEqual([])
    expect(socket.getSnapshot()).toMatchObject({ link: 'closed', problem: 'a bearer token is required' })
  })

  it('retries while the service is not available', async () => {
    tickets.push(() => new Response('{}', { status: 503 }))
    leave = socket.connect()
    await soon()
    expect(lines.length).toBe(1)
  })

  it('waits as long as the service asks for before it retries', async () => {
    tickets.push(() => new Response('{"code":"too_many_streams"}', { status: 429, headers: { 'Retry-After': '30' } }))
    leave = socket.connect()
    await vi.advanceTimersByTimeAsync(29_000)
    expect(lines.length).toBe(0)
    await vi.advanceTimersByTimeAsync(2_000)
    expect(lines.length).toBe(1)
  })

  it('keeps what waits bounded, and takes back a message that is too large', async () => {
    await connect()
    const all = Array.from({ length: SOCKET_LIMITS.pending }, () => socket.message('x').catch((error: ApiError) => error.code))
    await expect(socket.message('one more')).rejects.toThrow('Too much waits')
    for (const { id } of lines[0]!.events) lines[0]!.give({ type: 'ack', event_id: id })
    await Promise.all(all)
    const large = socket.message('y'.repeat(1000))
    const refused = expect(large).rejects.toMatchObject({ status: 413 })
    lines[0]!.drop(1009)
    await refused
    await soon()
    lines[1]!.accept()
    expect(lines[1]!.events.filter((e) => e.name === 'message')).toEqual([])
  })

  it('pauses when nothing happens, and continues when it is used', async () => {
    await connect()
    lines[0]!.drop(1000)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(lines.length).toBe(1)
    expect(socket.getSnapshot().link).toBe('closed')
    void socket.message('x').catch(() => undefined)
    await soon()
    lines[1]!.accept()
    expect(lines[1]!.events.map((e: SocketEvent) => e.name)).toEqual(['message'])
  })

  it.each([['another chat', ['c1', 'c2']], ['a chat that it has watched', ['c2', 'c1']]])('continues to watch %s', async (_, [first, second]) => {
    await connect()
    socket.watch('c1')
    lines[0]!.drop(1000)
    socket.watch(second!)
    socket.watch(first!)
    await soon()
    expect(lines).toHaveLength(2)
    lines[1]!.accept()
    expect(lines[1]!.events.map((e: SocketEvent) => e.chat_id).toSorted()).toEqual(['c1', 'c2'])
  })

  it('can be closed and connected again, as by React in strict mode, and continues', async () => {
    await connect()
    socket.watch('c1')
    started(lines[0]!)
    leave()
    expect(lines[0]!.closed).toBe(true)
    expect(socket.getSnapshot().link).toBe('closed')
    await expect(socket.message('x')).rejects.toThrow('closed')
    leave = socket.connect()
    await soon()
    lines[1]!.accept()
    expect(lines[1]!.events[0]).toMatchObject({ name: 'resume', run_id: 'r1', after: 1 })
  })

  it('ignores invalid frames', async () => {
    await connect()
    const before = socket.getSnapshot()
    for (const frame of ['', '{', 'null', '[]', '7', '{"type":7,"seq":1,"run_id":"x"}', '{"seq":-1}', '{"type":"tool","run_id":"x","seq":2}']) lines[0]!.raw(frame)
    await soon()
    expect(socket.getSnapshot().link).toBe(before.link)
    started(lines[0]!)
    await soon()
    expect(socket.getSnapshot().runs.some((r) => r.run_id === 'r1')).toBe(true)
  })
})

it('many tokens are shown a few times', async () => {
  await connect()
  let shown = 0
  socket.subscribe(() => shown++)
  started(lines[0]!)
  for (let i = 0; i < 1000; i++) lines[0]!.give({ type: 'md', block_ids: 'm1', content: 'x', seq: 2 + i } as SocketChunk)
  await soon()
  expect(socket.getSnapshot().blocks.m1!.content.length).toBe(1000)
  expect(shown).toBeLessThan(5)
})
