import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { ChatStore } from '../src'
import { answerFrames, fakeApi, json, sse } from './fakes'
import { chat, message, slow } from './shown'

const stored = [message('q', 'user', 'x'), message('a', 'assistant', 'Kept.')]
const failed = () => json({ detail: 'not today', code: 'unavailable', status: 503 }, 503)

describe('a rating that fails late', () => {
  async function rated() {
    const sent: ReturnType<typeof slow>[] = []
    const { api } = fakeApi(({ method }) => (method === 'GET' ? chat(stored) : (sent.push(slow()), sent.at(-1)!.response)))
    const store = new ChatStore({ api })
    await store.open(7)
    const rating = () => store.getSnapshot().messages.at(-1)?.feedback?.rating
    const rate = (thumb: 'up' | 'down') => store.feedback('a', { rating: thumb }).catch(() => undefined)
    const [up, down] = [rate('up'), rate('down')]
    await vi.waitFor(() => expect(sent).toHaveLength(2))
    return { store, rating, up, down, sent }
  }

  it('does not hide the one after it', async () => {
    const { store, rating, up, down, sent } = await rated()
    sent[1]!.go(json({}))
    await down
    sent[0]!.go(failed())
    await up
    expect([rating(), store.getSnapshot().error?.message]).toEqual(['down', 'not today'])
  })

  it('is not shown either when the one after it has failed', async () => {
    const { rating, up, down, sent } = await rated()
    sent[1]!.go(failed())
    await down
    expect(rating()).toBe('up')
    sent[0]!.go(failed())
    await up
    expect(rating()).toBeUndefined()
  })
})

describe('a title that was asked for before the user renamed the chat', () => {
  /** A store with a new chat, and the answer about its title. */
  async function answered() {
    const { response, go } = slow()
    const { api } = fakeApi(({ method, path }) => (method === 'POST' ? sse(answerFrames('Answer.')) : method === 'PATCH' ? json({}) : path.startsWith('/api/chats/7') ? response : undefined))
    const store = new ChatStore({ api })
    await store.sendMessage('hello')
    return { store, go: () => go(chat([], { title: 'Greeting' })) }
  }

  it('does not take the place of the new name', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const { store, go } = await answered()
    await vi.advanceTimersByTimeAsync(2_500)
    await store.rename(7, 'Mine')
    go()
    await vi.advanceTimersByTimeAsync(1)
    expect(store.getSnapshot().title).toBe('Mine')
    expect(vi.getTimerCount()).toBe(0)
  })

  it('does not when the page is seen again, either', async () => {
    const { store, go } = await answered()
    const looking = store.refresh()
    await store.rename(7, 'Mine')
    go()
    await looking
    expect(store.getSnapshot().title).toBe('Mine')
    store.disconnect()
  })
})
