import { act, render, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it, vi } from 'vitest'
import { ChatProvider, ChatTray, createChatApi, useChatStore, type ChatStore } from '../src'
import { answerFrames, event, fakeApi, json, sse } from './fakes'
import { show, input, posts, settled, message, chat, slow, live } from './shown'

const started = (id: string) => event('stream_start', { run_id: 'r', conversation_id: 7, user_message_id: id })
const found = json({ items: [{ run_id: 'r', conversation_id: 7, chat_id: 'c', state: 'completed', attempt: 1, last_sequence: 9, created_at: '', usage: {} }] })
const questions = () => [...document.querySelectorAll('[data-role=user] .ct-bubble')].map((e) => e.textContent)

describe('a question on its way', () => {
  it('is a message, and not in the input too, when its tray is removed and comes again', async () => {
    const { response, send } = live('r')
    const { api } = fakeApi(({ method }) => (method === 'POST' ? response : undefined))
    const page = (tray: boolean) => <ChatProvider api={api} storageKey="k">{tray && <ChatTray layout="sidebar" />}</ChatProvider>
    const { rerender } = render(page(true))
    const user = userEvent.setup()
    await user.type(input(), 'one{Enter}')
    rerender(page(false))
    rerender(page(true))
    expect([input().value, questions()]).toEqual(['', ['one']])
    rerender(page(false))
    await act(async () => send([started('q1'), ...answerFrames('First.').slice(1)], true))
    rerender(page(true))
    await screen.findByText('First.')
    expect([input().value, questions()]).toEqual(['', ['one']])
    await user.click(screen.getByRole('button', { name: 'New chat' }))
    expect(input().value).toBe('')
  })

  it('is sent on when React leaves the provider’s effects and begins them again, as it does where the page is hidden', async () => {
    let asked = 0
    const { api, calls } = fakeApi(({ method }) => (method !== 'POST' ? undefined : ++asked === 1 ? new Promise<Response>(() => undefined) : sse(answerFrames('First.'))))
    let store: ChatStore
    const Take = () => void (store = useChatStore())
    render(<ChatProvider api={api} storageKey="k"><ChatTray layout="sidebar" /><Take /></ChatProvider>)
    await userEvent.setup().type(input(), 'one{Enter}')
    act(() => {
      store.disconnect()
      void store.restore()
    })
    await screen.findByText('First.')
    const [first, second] = calls.filter((c) => c.method === 'POST')
    expect(second).toEqual(first)
    expect([input().value, questions()]).toEqual(['', ['one']])
  })

  it('comes back with its files if the page is loaded again before the service has it', async () => {
    const { user, unmount, container } = show(({ method }) => (method === 'POST' ? slow().response : undefined), {}, 'k')
    await user.upload(container.querySelector<HTMLInputElement>('input[type=file]')!, new File(['a,b'], 'cells.csv', { type: 'text/csv' }))
    await screen.findByText(/cells.csv/)
    await user.type(input(), 'one{Enter}')
    await waitFor(() => expect(questions()).toEqual(['one']))
    unmount()
    const next = show(({ method }) => (method === 'POST' ? sse(answerFrames('First.')) : undefined), {}, 'k')
    await waitFor(() => expect(input().value).toBe('one'))
    await next.user.type(input(), '{Enter}')
    await screen.findByText('First.')
    expect(posts(next.calls)).toMatchObject([{ message: 'one', attachments: [{ name: 'cells.csv', content: 'a,b' }] }])
    expect(sessionStorage.getItem('chattray:k:draft:["u"," sent",null]')).toBe(null)
  })

  it('is opened, not written again, if the page is loaded again after the service has begun its chat', async () => {
    const { user, unmount } = show(({ method }) => (method === 'POST' ? slow().response : undefined), {}, 'k')
    await user.type(input(), 'one{Enter}')
    await waitFor(() => expect(questions()).toEqual(['one']))
    unmount()
    show(({ path }) => (path.startsWith('/api/chat/runs?idempotency_key=') ? found.clone() : path.startsWith('/api/chats/7') ? chat([message('q1', 'user', 'one'), message('a1', 'assistant', 'First.')]) : undefined), {}, 'k')
    await screen.findByText('First.')
    expect(input().value).toBe('')
  })

  it.each([['opened', true], ['given back', false]])('is %s once the service can say whether it arrived, if the page is loaded again before (arrived: %s)', async (_, arrived) => {
    const { user, unmount } = show(({ method }) => (method === 'POST' ? slow().response : undefined), {}, 'k')
    await user.type(input(), 'one{Enter}')
    await waitFor(() => expect(questions()).toEqual(['one']))
    unmount()
    let isAway = true
    const asked = () => calls.filter(({ path }) => path.includes('idempotency_key='))
    const { calls } = show(({ path }) => {
      if (path.startsWith('/api/chat/runs?idempotency_key=')) return isAway ? json({ detail: 'it starts', code: 'unavailable' }, 503) : arrived ? found.clone() : json({ items: [] })
      return path.startsWith('/api/chats/7') ? chat([message('q1', 'user', 'one'), message('a1', 'assistant', 'First.')]) : undefined
    }, {}, 'k')
    await waitFor(() => expect(asked()).toHaveLength(1))
    await act(async () => undefined)
    expect([input().value, sessionStorage.getItem('chattray:k:draft:["u"," sent",null]')]).toEqual(['', expect.stringContaining('one')])
    isAway = false
    act(() => void dispatchEvent(new Event('online')))
    if (arrived) await screen.findByText('First.')
    else await waitFor(() => expect(input().value).toBe('one'))
    expect(input().value).toBe(arrived ? '' : 'one')
  })

  it('comes back when another one is sent before the service can say whether it arrived', async () => {
    const { user, unmount } = show(({ method }) => (method === 'POST' ? slow().response : undefined), {}, 'k')
    await user.type(input(), 'one{Enter}')
    await waitFor(() => expect(questions()).toEqual(['one']))
    unmount()
    const { user: again, calls } = show(({ method, path }) => (method === 'POST' ? sse(answerFrames('Second.')) : path.startsWith('/api/chat/runs?') ? json({ detail: 'it starts', code: 'unavailable' }, 503) : undefined), {}, 'k')
    await waitFor(() => expect(calls.some(({ path }) => path.includes('idempotency_key='))).toBe(true))
    await again.type(input(), 'two{Enter}')
    await screen.findByText('Second.')
    expect([input().value, questions()]).toEqual(['one', ['two']])
  })

  it('comes back though the question before it was the same', async () => {
    sessionStorage.setItem('chattray:k:conversation', '7')
    const answer = () => chat([message('q1', 'user', 'go on'), message('a1', 'assistant', 'First.')])
    const { user, unmount } = show(({ method, path }) => (method === 'POST' ? slow().response : path.startsWith('/api/chats/7') ? answer() : undefined), {}, 'k')
    await screen.findByText('First.')
    await user.type(input(), 'go on{Enter}')
    await waitFor(() => expect(questions()).toEqual(['go on', 'go on']))
    unmount()
    show(({ path }) => (path.startsWith('/api/chats/7') ? answer() : undefined), {}, 'k')
    await waitFor(() => expect(input().value).toBe('go on'))
  })

  it.each([['sent', false], ['not sent again', true]])('from those that waited is %s after the page is loaded again (arrived: %s)', async (_, arrived) => {
    const before = () => chat([message('q0', 'user', 'zero'), message('a0', 'assistant', 'Zero.')])
    const { response, send } = live('r')
    let asked = 0
    sessionStorage.setItem('chattray:k:conversation', '7')
    const { user, unmount, calls } = show(({ method, path }) => (method === 'POST' ? (++asked === 1 ? response : slow().response) : path.startsWith('/api/chats/7') ? before() : undefined), {}, 'k')
    await screen.findByText('Zero.')
    await user.type(input(), 'one{Enter}')
    act(() => send([started('q1')]))
    await user.type(input(), 'two{Enter}')
    await act(async () => send(answerFrames('First.').slice(1), true))
    await waitFor(() => expect(posts(calls)).toHaveLength(2))
    unmount()
    const after = show(({ method, path }) => {
      if (method === 'POST') return sse(answerFrames('Second.'))
      if (path.startsWith('/api/chat/runs?idempotency_key=')) return arrived ? found.clone() : json({ items: [] })
      return path.startsWith('/api/chats/7') ? chat([message('q1', 'user', 'one'), message('a1', 'assistant', 'First.'), ...(arrived ? [message('q2', 'user', 'two'), message('a2', 'assistant', 'Second.')] : [])]) : undefined
    }, {}, 'k')
    await screen.findByText('Second.')
    await settled()
    expect(posts(after.calls).map((body) => body.message)).toEqual(arrived ? [] : ['two'])
    expect(questions()).toEqual(['one', 'two'])
    expect(sessionStorage.getItem('chattray:k:queue:7')).toBe(null)
  })

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

it.each([['nothing', undefined], ['an error with the status of a refusal', Object.assign(new Error('of the page'), { status: 400 })]])('a page that throws %s while a question is sent is told so, and the question can be sent again', async (_, thrown) => {
  vi.spyOn(console, 'error').mockImplementation(() => undefined)
  let headers = () => Promise.reject<Record<string, string>>(thrown)
  const api = createChatApi({ headers: () => headers(), fetch: async (_, init) => (init?.method === 'POST' ? sse(answerFrames('First.')) : json({ items: [] })) })
  render(<ChatProvider api={api}><ChatTray layout="sidebar" /></ChatProvider>)
  const user = userEvent.setup()
  await user.type(input(), 'one{Enter}')
  const again = await screen.findByRole('button', { name: 'Try again' })
  expect([input().value, questions()]).toEqual(['', ['one']])
  headers = () => Promise.resolve({})
  await user.click(again)
  await screen.findByText('First.')
  vi.restoreAllMocks()
})

it.each([['nothing', undefined], ['an error with the status of a run that is gone', { status: 404 }], ['an error with the status of a lost connection', { status: 0 }]])('a page that throws %s while an answer is stopped is told so, and it can be stopped again', async (_, thrown) => {
  const { response, send } = live('r')
  let asked = 0
  const { user } = show(({ method, path }) => {
    if (path.endsWith('/cancel')) return asked++ ? json({}) : Promise.reject(thrown)
    return method === 'POST' ? response : undefined
  })
  await user.type(input(), 'one{Enter}')
  send([event('stream_start', { run_id: 'r', conversation_id: 7, user_message_id: 'q' })])
  const stop = await screen.findByRole('button', { name: 'Stop' })
  await user.click(stop)
  expect((await screen.findByRole('alert')).textContent).toContain('Something went wrong')
  await user.click(stop)
  await waitFor(() => expect(asked).toBe(2))
  send([event('stream_end', { status: 'cancelled', message_id: 'a' })], true)
  await settled()
  expect(screen.queryByRole('alert')).toBeNull()
})

it('frames that are malformed are left out, and the answer goes on', async () => {
  const [start, ...rest] = answerFrames('First.')
  const again = { ...event('stream_start', { run_id: 'r', conversation_id: 7 }), chunk_id: '' }
  const odd = ['approval', 'client_tool_call', 'tool_call'].map((type) => ({ type, props: null, message_id: type }))
  const { user } = show(({ method }) => (method === 'POST' ? sse([start, ...odd, again, ...rest]) : undefined))
  await user.type(input(), 'one{Enter}')
  await screen.findByText('First.')
  await settled()
  expect(questions()).toEqual(['one'])
})
