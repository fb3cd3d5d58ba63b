import { act, fireEvent, screen, waitFor } from '@testing-library/react'
import { describe, expect, it, vi } from 'vitest'
import { ChatStore, useChatStore } from '../src'
import { answerFrames, event, fakeApi, json, sse } from './fakes'
import { chat, gateway, input, live, message, posts, settled, show, slow, type Answer } from './shown'

const stored = [message('q', 'user', 'x'), message('a', 'assistant', 'Kept.')]
const posting = ({ method, path }: { method: string; path: string }) => method === 'POST' && path.startsWith('/api/chat/stream')

function storeOf(answer: Parameters<typeof fakeApi>[0], storageKey = '') {
  const { api, calls } = fakeApi(answer)
  return { store: new ChatStore({ api, storageKey }), calls }
}

describe('messages of the page while a chat is being opened', () => {
  it.each([
    ['begins a new chat', (store: ChatStore) => store.newChat(), null],
    ['opens another chat', (store: ChatStore) => store.open(8), 8],
  ])('all come back where the user %s', async (_, leave, left) => {
    const { store, calls } = storeOf((call) => (posting(call) ? sse(answerFrames('New.')) : call.path.startsWith('/api/chats/7') ? slow().response : chat(stored, { conversation_id: 8 })))
    void store.open(7)
    const sending = [store.sendMessage('for seven'), store.sendMessage('too', { attachments: [{ name: 'f', mime: 'text/plain', content: 'f' }] })]
    await leave(store)
    await Promise.all(sending)
    expect(posts(calls)).toEqual([])
    expect(store.getSnapshot()).toMatchObject({ conversationId: left, queue: [], unsent: { message: 'for seven\ntoo', attachments: [{ name: 'f' }] } })
  })

  it('begin a new chat where the one of the last visit is gone', async () => {
    sessionStorage.setItem('chattray:k:conversation', '7')
    const { store, calls } = storeOf((call) => (posting(call) ? sse(answerFrames('New.')) : undefined), 'k')
    const opening = store.restore()
    await store.sendMessage('hello')
    await opening
    expect(posts(calls)).toMatchObject([{ message: 'hello' }])
    expect(posts(calls)[0].conversation_id).toBeUndefined()
  })

  it('come back with the reason where the open chat was deleted elsewhere', async () => {
    let gone = false
    const { store, calls } = storeOf((call) => (posting(call) ? sse(answerFrames('New.')) : call.path.startsWith('/api/chats/7') && !gone ? chat(stored) : undefined))
    await store.open(7)
    gone = true
    const opening = store.open(7)
    await store.sendMessage('for seven')
    await opening
    expect(posts(calls)).toEqual([])
    expect(store.getSnapshot()).toMatchObject({ conversationId: null, unsent: { message: 'for seven' }, error: { code: 'not_found' } })
  })
})

describe('a message of the page on its way', () => {
  const moves = [
    ['begins a new chat', (store: ChatStore) => store.newChat(), null],
    ['opens another chat', (store: ChatStore) => store.open(8), 8],
  ] as const
  const leave = async (move: (store: ChatStore) => unknown, arrived: boolean) => {
    const { store, calls } = storeOf((call, signal) => {
      if (posting(call)) return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
      if (call.path.startsWith('/api/chat/runs?')) return json({ items: arrived ? [{ run_id: 'r', conversation_id: 7 }] : [] })
      return chat(stored, { conversation_id: call.path.startsWith('/api/chats/8') ? 8 : 7 })
    })
    await store.open(7)
    const sending = store.sendMessage('for seven')
    await vi.waitFor(() => expect(posts(calls)).toHaveLength(1))
    await move(store)
    await sending
    await vi.waitFor(() => expect(calls.some((c) => c.path.startsWith('/api/chat/runs?'))).toBe(true))
    return store
  }

  it.each(moves)('comes back where the user %s', async (_, move, chat) => {
    const store = await leave(move, false)
    await vi.waitFor(() => expect(store.getSnapshot()).toMatchObject({ conversationId: chat, isOpening: false, unsent: { message: 'for seven' } }))
  })

  it.each(moves)('is not sent twice where the user %s and it has arrived', async (_, move, chat) => {
    const store = await leave(move, true)
    await store.runOf('one that is asked later')
    expect(store.getSnapshot()).toMatchObject({ conversationId: chat, unsent: null })
  })
})

it('a message that waits is not sent when the one before it is stopped on its way', async () => {
  const { store, calls } = storeOf((call, signal) => (posting(call) ? new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason))) : chat(stored)))
  await store.open(7)
  const sending = store.sendMessage('one')
  await store.sendMessage('two')
  await vi.waitFor(() => expect(posts(calls)).toHaveLength(1))
  await store.stop() // as soon as it has an id
  await store.stop() // now
  await sending
  expect(posts(calls).map((body) => body.message)).toEqual(['one'])
  expect(store.getSnapshot()).toMatchObject({ unsent: { message: 'one' }, queue: [{ message: 'two' }] })
})

it('a message on its way in one chat does not wait in the next one', async () => {
  const runs = [live('r1'), live('r2')]
  let asked = 0
  const { store } = storeOf((call) => (posting(call) ? [runs[0]!.response, slow().response, runs[1]!.response][asked++] : undefined), 'k')
  void store.sendMessage('one')
  runs[0]!.send([event('stream_start', { run_id: 'r1', conversation_id: 7 })])
  await vi.waitFor(() => expect(store.getSnapshot().conversationId).toBe(7))
  void store.sendMessage('two')
  runs[0]!.send(answerFrames('One.').slice(1), true)
  await vi.waitFor(() => expect(asked).toBe(2))
  store.newChat()
  void store.sendMessage('three')
  runs[1]!.send([event('stream_start', { run_id: 'r2', conversation_id: 8 })])
  await vi.waitFor(() => expect(store.getSnapshot().conversationId).toBe(8))
  await store.sendMessage('four')
  expect(JSON.parse(sessionStorage.getItem('chattray:k:queue:8')!)).toMatchObject([{ message: 'four' }])
  expect(JSON.parse(sessionStorage.getItem('chattray:k:queue:7')!)).toMatchObject([{ message: 'two' }])
})

it('a question that the service has answered, but said nothing about yet, is stopped and not given back', async () => {
  const run = live('r')
  const { store, calls } = storeOf((call) => (posting(call) ? run.response : call.path.endsWith('/cancel') ? json({}) : undefined))
  void store.sendMessage('one')
  await vi.waitFor(() => expect(store.getSnapshot().link).toBe('live'))
  await store.stop()
  expect(store.getSnapshot()).toMatchObject({ isLoading: true, unsent: null })
  run.send([event('stream_start', { run_id: 'r', conversation_id: 7 })])
  await vi.waitFor(() => expect(calls.map((c) => c.path)).toContain('/api/chat/runs/r/cancel'))
  run.send([event('stream_end', { status: 'cancelled' })], true)
  await vi.waitFor(() => expect(store.getSnapshot()).toMatchObject({ isLoading: false, unsent: null }))
})

it('a chat that could not be read again is read when the user tries again', async () => {
  let away = false
  const answers = [...stored]
  const { store } = storeOf(({ path }) => (!path.startsWith('/api/chats/7') ? undefined : away ? json({ detail: 'not today', code: 'unavailable', status: 503 }, 503) : chat(answers)))
  await store.open(7)
  away = true
  await store.open(7)
  expect(store.getSnapshot().error).toMatchObject({ message: 'not today' })
  away = false
  answers.push(message('q2', 'user', 'theirs'), message('a2', 'assistant', 'Theirs.'))
  await store.retry()
  expect(store.getSnapshot().error).toBeNull()
  expect(store.getSnapshot().messages.at(-1)?.content).toBe('Theirs.')
})

it('a new chat stays open though the question that was on its way has begun another one', async () => {
  const found = { items: [{ run_id: 'r', conversation_id: 7, chat_id: 'c', state: 'completed', attempt: 1, last_sequence: 9, created_at: '', usage: {} }] }
  const { user, calls } = show((call) => (posting(call) ? slow().response : call.path.includes('idempotency_key=') ? json(found) : call.path.startsWith('/api/chats/7') ? chat(stored) : undefined), {}, 'k')
  await user.type(input(), 'one{Enter}')
  await screen.findByText('one', { selector: '.ct-bubble' })
  await user.click(screen.getByRole('button', { name: 'New chat' }))
  await settled()
  await waitFor(() => expect(calls.some(({ path }) => path.includes('idempotency_key='))).toBe(true))
  await waitFor(() => expect(sessionStorage.getItem('chattray:k:draft:["u"," sent",null]')).toBe(null))
  await act(async () => undefined)
  expect(calls.filter(({ path }) => path.startsWith('/api/chats/7'))).toEqual([])
  expect([input().value, screen.queryByText('Kept.')]).toEqual(['', null])
})

describe('a message of the page that is on its way', () => {
  /** A store whose chat 7 is open, and where a message waits for its first answer. */
  async function sent() {
    const service = { away: false }
    const { store, calls } = storeOf((call) => {
      if (posting(call)) return posts(calls).length === 1 ? slow().response : sse(answerFrames('One.'))
      return !call.path.startsWith('/api/chats/7') ? undefined : service.away ? json({ detail: 'not today', code: 'unavailable', status: 503 }, 503) : chat(stored)
    })
    await store.open(7)
    void store.sendMessage('one')
    await vi.waitFor(() => expect(posts(calls)).toHaveLength(1))
    return { service, store, calls }
  }

  it('comes back though its chat is opened twice', async () => {
    const { store } = await sent()
    void store.open(7)
    await store.open(7)
    expect(store.getSnapshot()).toMatchObject({ messages: stored, isLoading: false, unsent: { message: 'one' } })
  })

  it('can be sent again as the same one when its chat cannot be opened', async () => {
    const { service, store, calls } = await sent()
    service.away = true
    await store.open(7)
    expect(store.getSnapshot()).toMatchObject({ isLoading: false, isOpening: false, error: { message: 'not today' } })
    await store.retry()
    const [first, second] = calls.filter(posting)
    expect(second).toEqual(first)
    expect(store.getSnapshot().messages.map((m) => m.content)).toEqual(['x', 'Kept.', 'one', 'One.'])
  })

  it('comes back when it is stopped while its chat is opened', async () => {
    const { store } = await sent()
    void store.open(7)
    await store.stop() // as soon as it has an id
    await store.stop() // now
    expect(store.getSnapshot()).toMatchObject({ isLoading: false, isOpening: false, unsent: { message: 'one' } })
  })
})

describe('a stop is not forgotten when React leaves the provider’s effects and begins them again', () => {
  const again = (store: ChatStore) => {
    store.disconnect()
    return store.restore()
  }
  const cancels = (calls: { path: string }[]) => calls.filter((c) => c.path.endsWith('/cancel')).length

  it('before the run has an id', async () => {
    const run = live('r')
    const { store, calls } = storeOf((call) => (posting(call) ? (posts(calls).length === 1 ? slow().response : run.response) : call.path.endsWith('/cancel') ? json({}) : undefined))
    void store.sendMessage('one')
    await vi.waitFor(() => expect(posts(calls)).toHaveLength(1))
    await store.stop()
    void again(store)
    expect(store.getSnapshot().run?.status?.code).toBe('stopping')
    run.send([event('stream_start', { run_id: 'r', conversation_id: 7 })])
    await vi.waitFor(() => expect(cancels(calls)).toBe(1))
    run.send([event('stream_end', { status: 'cancelled' })], true)
    await vi.waitFor(() => expect(store.getSnapshot().isLoading).toBe(false))
  })

  it('while the service cannot be reached', async () => {
    const runs = [live('r'), live('r')]
    const { store, calls } = storeOf((call) => {
      if (posting(call)) return runs[0]!.response
      if (call.path.endsWith('/cancel')) return cancels(calls) === 1 ? Promise.reject(new TypeError('offline')) : json({})
      return call.path.startsWith('/api/chats/7') ? chat(stored, { active_run_id: 'r' }) : runs[1]!.response
    })
    void store.sendMessage('one')
    runs[0]!.send([event('stream_start', { run_id: 'r', conversation_id: 7 })])
    await vi.waitFor(() => expect(store.getSnapshot().run?.runId).toBe('r'))
    await store.stop()
    expect(cancels(calls)).toBe(1)
    void again(store)
    await vi.waitFor(() => expect(cancels(calls)).toBe(2))
    runs[1]!.send([event('stream_start', { run_id: 'r', conversation_id: 7 }), event('stream_end', { status: 'cancelled', message_id: 'a2' })], true)
    await vi.waitFor(() => expect(store.getSnapshot().isLoading).toBe(false))
  })
})

it('a failure to read more of a chat is not told in another one, and holds no message there', async () => {
  const older = slow()
  const { store } = storeOf((call) => {
    if (call.path.includes('cursor=')) return older.response
    return call.path.startsWith('/api/chats/7') ? chat(stored, { next_cursor: 'before' }) : chat(stored, { conversation_id: 8 })
  })
  await store.open(7)
  const reading = store.loadOlder()
  await store.open(8)
  older.go(json({ detail: 'no', code: 'bad', status: 400 }, 400))
  await reading
  expect(store.getSnapshot()).toMatchObject({ conversationId: 8, error: null })
})

it('a file of a chat that was left takes no problem from the chat that is open', async () => {
  const chats: Answer = ({ path }) => (/^\/api\/chats\/[78]\?/.test(path) ? chat([], { conversation_id: Number(path[11]) }) : undefined)
  let store!: ChatStore
  function Held() {
    store = useChatStore()
    return null
  }
  const { user } = show(chats, { welcome: <Held /> }, 'k')
  const refused = gateway()
  const drop = (...files: File[]) => fireEvent.drop(screen.getByRole('log'), { dataTransfer: { types: ['Files'], files } })
  await act(() => store.open(7))
  drop(Object.assign(new File(['x'], 'slow.bin', { type: 'application/x' }), { arrayBuffer: () => refused.opened.then(() => new Uint8Array([0xff, 0]).buffer) }))
  await act(() => store.open(8))
  drop(new File([new Uint8Array([0xff, 0])], 'one.bin', { type: 'application/x' }))
  await screen.findByText(/^one.bin/)
  await act(async () => refused.open())
  await user.type(input(), 'a')
  screen.getByText(/^one.bin/)
})
