import { screen, waitFor } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { answerFrames, event, json, sse } from './fakes'
import { show, input, posts, settled, message, chat, slow, live } from './shown'

describe('a question on its way', () => {
  it('comes back if the page is loaded again before the service has it', async () => {
    const { response } = slow()
    const { user, unmount } = show(({ method }) => (method === 'POST' ? response : undefined), {}, 'k')
    await user.type(input(), 'one{Enter}')
    await waitFor(() => expect(input().value).toBe(''))
    unmount()
    show(() => undefined, {}, 'k')
    await waitFor(() => expect(input().value).toBe('one'))
  })

  it('does not come back once it is asked', async () => {
    const { response, send } = live('r')
    const { user, unmount } = show(({ method }) => (method === 'POST' ? response : undefined), {}, 'k')
    await user.type(input(), 'one{Enter}')
    send([event('stream_start', { run_id: 'r', conversation_id: 7, user_message_id: 'q1' })])
    await waitFor(() => expect(sessionStorage.getItem('chattray:k:conversation')).toBe('7'))
    unmount()
    show(({ path }) => (path.startsWith('/api/chats/7') ? chat([message('q1', 'user', 'one'), message('a1', 'assistant', 'First.')]) : undefined), {}, 'k')
    await screen.findByText('First.')
    await user.click(screen.getByRole('button', { name: 'New chat' }))
    expect(input().value).toBe('')
  })

  it('that failed comes back when another one is asked, which is the one that gets the id', async () => {
    let asked = 0
    const { user, calls } = show(({ method }) => (method === 'POST' ? (++asked === 1 ? json({ detail: 'full', code: 'internal', status: 500 }, 500) : sse(answerFrames('Second.'))) : undefined))
    await user.type(input(), 'one{Enter}')
    await screen.findByRole('button', { name: 'Try again' })
    await user.type(input(), 'two{Enter}')
    await screen.findByText('Second.')
    await settled()
    expect(input().value).toBe('one')
    expect(document.querySelectorAll('[data-role=user]')).toHaveLength(1)
    expect(posts(calls)).toMatchObject([{ message: 'one' }, { message: 'two' }])
  })

  it('that failed comes back when its error is hidden', async () => {
    const { user } = show(({ method }) => (method === 'POST' ? json({ detail: 'full', code: 'internal', status: 500 }, 500) : undefined))
    await user.type(input(), 'one{Enter}')
    await screen.findByRole('button', { name: 'Try again' })
    await user.click(screen.getByRole('button', { name: 'Dismiss' }))
    await waitFor(() => expect(input().value).toBe('one'))
  })

  it('is the same request when it is tried again', async () => {
    let asked = 0
    const { user, calls } = show(({ method }) => (method === 'POST' ? (++asked === 1 ? json({ detail: 'full', code: 'internal', status: 500 }, 500) : sse(answerFrames('Done.'))) : undefined))
    await user.type(input(), 'one{Enter}')
    await user.click(await screen.findByRole('button', { name: 'Try again' }))
    await screen.findByText('Done.')
    const [first, second] = calls.filter((c) => c.method === 'POST')
    expect(second).toEqual(first)
    expect(first!.headers['Idempotency-Key']).toBeTruthy()
  })

  it('is sent again by itself while a proxy says that the service is away', async () => {
    let asked = 0
    const { user, calls } = show(({ method }) => (method === 'POST' ? (++asked === 1 ? new Response('<h1>Bad Gateway</h1>', { status: 502 }) : sse(answerFrames('Done.'))) : undefined))
    await user.type(input(), 'one{Enter}')
    await screen.findByText('Done.')
    const [first, second] = calls.filter((c) => c.method === 'POST')
    expect(second).toEqual(first)
  })
})
