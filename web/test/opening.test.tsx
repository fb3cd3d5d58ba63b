import { screen, waitFor } from '@testing-library/react'
import { beforeEach, describe, expect, it } from 'vitest'
import { ChatStore } from '../src/state/store/store'
import { answerFrames, fakeApi, json, sse } from './fakes'
import { chat, input, live, message, posts, show, slow } from './shown'

beforeEach(() => {
  sessionStorage.setItem('chattray:k:conversation', '7')
})
const stored = [message('q', 'user', 'x'), message('a', 'assistant', 'Kept.')]

/** A tray whose chat is still being opened, with a question for which Enter was pressed. */
async function asked(posted: () => Response = () => sse(answerFrames('New.'))) {
  const opening = slow()
  const shown = show(({ method, path }) => {
    if (path.startsWith('/api/chats/7?')) return opening.response
    return method === 'POST' ? posted() : undefined
  }, {}, 'k')
  await waitFor(() => expect(shown.calls.some((c) => c.path.startsWith('/api/chats/7?'))).toBe(true))
  await shown.user.type(input(), 'next{Enter}')
  expect(posts(shown.calls)).toEqual([])
  expect(screen.getByRole('button', { name: 'Send' }).getAttribute('aria-busy')).toBe('true')
  expect(input().value).toBe('next')
  return { ...shown, go: opening.go }
}

describe('while a chat is being opened', () => {
  it('Enter has the message sent once it is open', async () => {
    const { go, calls } = await asked()
    go(chat(stored))
    await screen.findByText('New.')
    expect(posts(calls)).toMatchObject([{ message: 'next', conversation_id: 7 }])
    await waitFor(() => expect(input().value).toBe(''))
  })

  it('a message waits for the answer that turns out to be under way', async () => {
    const run = live('r')
    const { go } = await asked(() => run.response)
    go(chat(stored, { active_run_id: 'r' }))
    await screen.findByRole('list', { name: 'Waiting messages' })
    await waitFor(() => expect(input().value).toBe(''))
  })

  it('a text that is changed after Enter is not sent', async () => {
    const { go, calls, user } = await asked()
    await user.type(input(), ' week')
    go(chat(stored))
    await screen.findByText('Kept.')
    expect(input().value).toBe('next week')
    expect(posts(calls)).toEqual([])
  })

  it('the text stays where the chat cannot be opened', async () => {
    const { go, calls } = await asked()
    go(json({ detail: 'not today', code: 'unavailable', status: 503 }, 503))
    await waitFor(() => expect(screen.getByRole('button', { name: 'Send' }).getAttribute('aria-busy')).toBeNull())
    expect(input().value).toBe('next')
    expect(posts(calls)).toEqual([])
  })

  it.each([
    ['is shown', () => chat(stored, { conversation_id: 8 }), null],
    ['cannot be opened', () => json({ detail: 'not today', code: 'unavailable', status: 503 }, 503), 'not today'],
  ])('a message of the page to a chat that the user leaves goes to no other chat (the next one %s)', async (_, answer, problem) => {
    const { api, calls } = fakeApi(({ method, path }) => (method === 'POST' ? sse(answerFrames('New.')) : path.startsWith('/api/chats/7') ? slow().response : answer()))
    const store = new ChatStore({ api })
    void store.open(7)
    const sending = store.sendMessage('for seven')
    await store.open(8)
    await sending
    expect(posts(calls)).toEqual([])
    expect(store.getSnapshot()).toMatchObject({ conversationId: 8, queue: [], unsent: { message: 'for seven' } })
    expect(store.getSnapshot().error?.message ?? null).toBe(problem)
  })
})
