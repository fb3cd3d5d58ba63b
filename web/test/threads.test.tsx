import { act, render, screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, it, vi } from 'vitest'
import { ChatProvider, useChatContext } from '../src'
import HistoryPanel from '../src/components/HistoryPanel'
import { answerFrames, event, fakeApi, json, sse } from './fakes'
import { chat, live, message, slow } from './shown'

const chatOf = (id: number) => ({ conversation_id: id, chat_id: `c${id}`, title: `chat ${id}`, created_at: '', updated_at: `2026-01-01T00:00:${String(id).padStart(2, '0')}Z` })
const titles = () => screen.getAllByText(/^chat \d+$/).map((title) => title.textContent)

/** The list of the chats, whose second page the test gives, and each later one is as given. */
function listed(newer: number[] = []) {
  const pages: ReturnType<typeof slow>[] = []
  let first = [5, 4]
  const { api } = fakeApi(({ method, path }) => {
    if (method === 'POST') {
      first = [...newer, 5]
      return sse(answerFrames('Answer.'))
    }
    if (!path.startsWith('/api/chats?')) return undefined
    if (!path.includes('cursor=')) return json({ items: first.map(chatOf), next_cursor: `after ${first.at(-1)}` })
    pages.push(slow())
    return pages.at(-1)!.response
  })
  let send: ReturnType<typeof useChatContext>['sendMessage'] = () => Promise.reject()
  function Page() {
    send = useChatContext().sendMessage
    return null
  }
  render(<ChatProvider api={api} storageKey=""><Page /><HistoryPanel /></ChatProvider>)
  return { pages, user: userEvent.setup(), send: () => act(() => send('hello')), give: (page: number, ids: number[], next?: string) => act(async () => pages[page]!.go(json({ items: ids.map(chatOf), next_cursor: next }))) }
}
const more = () => screen.findByRole('button', { name: 'More' })

it('a page that is asked for twice is shown once, and the next one follows it', async () => {
  const { pages, user, give } = listed()
  await user.dblClick(await more())
  await waitFor(() => expect(pages).toHaveLength(2))
  await give(0, [3, 2], 'after 2')
  await waitFor(() => expect(titles()).toHaveLength(4))
  await give(1, [3, 2], 'after 2')
  await user.click(await more())
  await waitFor(() => expect(pages).toHaveLength(3))
  await give(2, [1])
  await waitFor(() => expect(titles()).toEqual([5, 4, 3, 2, 1].map((id) => `chat ${id}`)))
})

it('a page that is asked for before a chat is created does not follow the list that is read after', async () => {
  const { pages, user, send, give } = listed([7])
  await user.click(await more())
  await waitFor(() => expect(pages).toHaveLength(1))
  await send()
  await screen.findByText('chat 7')
  await give(0, [3, 2])
  await user.click(await more())
  await waitFor(() => expect(pages).toHaveLength(2))
  await give(1, [4, 3])
  await waitFor(() => expect(titles()).toEqual([7, 5, 4, 3].map((id) => `chat ${id}`)))
})

it('a chat that is on two pages, as it was changed between them, is shown once', async () => {
  const { pages, user, give } = listed()
  await user.click(await more())
  await waitFor(() => expect(pages).toHaveLength(1))
  await give(0, [4, 3])
  await waitFor(() => expect(titles()).toEqual([5, 4, 3].map((id) => `chat ${id}`)))
})

it('the next page takes the place of chats that were all archived', async () => {
  const left = [5, 4, 3]
  const { api } = fakeApi(({ method, path }) => {
    if (method === 'PATCH') return json({})
    return path.startsWith('/api/chats?') ? json(path.includes('cursor=') ? { items: left.slice(2).map(chatOf) } : { items: left.slice(0, 2).map(chatOf), next_cursor: 'after 4' }) : undefined
  })
  render(<ChatProvider api={api} storageKey=""><HistoryPanel /></ChatProvider>)
  const user = userEvent.setup()
  await user.click(await screen.findByRole('button', { name: 'Archive: chat 5' }))
  await user.click(screen.getByRole('button', { name: 'Archive: chat 4' }))
  await screen.findByText('chat 3')
  expect(titles()).toEqual(['chat 3'])
  await user.click(screen.getByRole('button', { name: 'Archive: chat 3' }))
  expect(await screen.findByText('No chats yet.')).toBeTruthy()
})

it('a first page without chats is followed by the next one, and nothing says that there are none', async () => {
  const second = slow()
  const { api } = fakeApi(({ path }) => (path.startsWith('/api/chats?') ? (path.includes('cursor=') ? second.response : json({ items: [], next_cursor: 'n' })) : undefined))
  render(<ChatProvider api={api} storageKey=""><HistoryPanel /></ChatProvider>)
  await screen.findByRole('button', { name: 'More' })
  expect(screen.queryByText('No chats yet.')).toBeNull()
  await act(async () => second.go(json({ items: [chatOf(3)] })))
  expect(titles()).toEqual(['chat 3'])
})

it('what another tab does to a chat is in the list too', async () => {
  const chats = new Map([3, 2, 1].map((id) => [id, { ...chatOf(id), archived: false, pinned: false }]))
  const { api } = fakeApi(({ method, path, body }) => {
    const id = Number(/^\/api\/chats\/(\d+)/.exec(path)?.[1])
    if (method === 'PATCH') chats.set(id, { ...chats.get(id)!, ...body })
    if (method === 'DELETE') chats.delete(id)
    if (method !== 'GET') return json({})
    const archived = path.includes('archived=true')
    return path.startsWith('/api/chats?') ? json({ items: [...chats.values()].filter((c) => c.archived === archived) }) : undefined
  })
  const tab = () => {
    const { container } = render(<ChatProvider api={api} storageKey="lists"><HistoryPanel /></ChatProvider>)
    return { ...within(container), titles: () => [...container.querySelectorAll('.ct-chat-open > span')].map((e) => e.textContent) }
  }
  const [one, other] = [tab(), tab()]
  const user = userEvent.setup()
  const click = async (name: string) => user.click(await one.findByRole('button', { name }))
  const both = (...expected: string[]) => waitFor(() => expect([one.titles(), other.titles()]).toEqual([expected, expected]))
  await both('chat 3', 'chat 2', 'chat 1')
  await click('Pin: chat 1')
  await both('chat 1', 'chat 3', 'chat 2')
  await click('Rename: chat 2')
  await user.type(one.getByLabelText('Rename'), ' b{Enter}')
  await both('chat 1', 'chat 3', 'chat 2 b')
  await click('Archive: chat 3')
  await both('chat 1', 'chat 2 b')
  await click('Delete: chat 1')
  await click('Delete')
  await both('chat 2 b')
  await click('Archived chats')
  await click('Unarchive: chat 3')
  await waitFor(() => expect(other.titles()).toEqual(['chat 3', 'chat 2 b']))
})

it.each([true, false])('a chat that another tab creates, which has a list: %s, is in the list, and the list is read again when its tab is seen', async (hasList) => {
  let chats = [1]
  const { api } = fakeApi(({ method, path }) => {
    if (method === 'POST') {
      chats = [7, ...chats]
      return sse(answerFrames('Answer.'))
    }
    return path.startsWith('/api/chats?') ? json({ items: chats.map(chatOf) }) : undefined
  })
  let send: ReturnType<typeof useChatContext>['sendMessage'] = () => Promise.reject()
  function Page() {
    send = useChatContext().sendMessage
    return null
  }
  const other = render(<ChatProvider api={api} storageKey="made"><HistoryPanel /></ChatProvider>)
  await within(other.container).findByText('chat 1')
  const here = render(<ChatProvider api={api} storageKey="made"><Page />{hasList && <HistoryPanel />}</ChatProvider>)
  if (hasList) await within(here.container).findByText('chat 1')
  await act(() => send('hello'))
  await within(other.container).findByText('chat 7')
  chats = [8, ...chats]
  act(() => void document.dispatchEvent(new Event('visibilitychange')))
  await within(other.container).findByText('chat 8')
})

it('a chat that is answered says so until the answer ends, in the open chat at once', async () => {
  vi.useFakeTimers({ shouldAdvanceTime: true })
  try {
    const { response, send } = live('r')
    let answering = true
    let away = false
    const { api, calls } = fakeApi(({ path }) => {
      if (path.startsWith('/api/chats?')) return away ? Promise.reject(new TypeError('away')) : json({ items: [{ ...chatOf(7), active_run_id: 'r' }, { ...chatOf(5), active_run_id: answering ? 'q' : undefined }] })
      if (path.startsWith('/api/chats/7')) return chat([message('q1', 'user', 'one')], { active_run_id: 'r' })
      return path.includes('/runs/r/stream') ? response : undefined
    })
    const { container } = render(<ChatProvider api={api} storageKey=""><HistoryPanel /></ChatProvider>)
    const busy = () => [...container.querySelectorAll('.ct-chat-row:has(.ct-spinner) .ct-chat-open > span')].map((e) => e.textContent)
    const row = await screen.findByText('chat 7')
    act(() => row.click())
    await waitFor(() => expect(busy()).toEqual(['chat 7', 'chat 5']))
    await act(async () => send([event('stream_start', { run_id: 'r', conversation_id: 7 }), ...answerFrames('Answer.').slice(1)], true))
    await waitFor(() => expect(busy()).toEqual(['chat 5']))
    answering = false
    away = true
    await act(() => vi.advanceTimersByTimeAsync(10_000))
    expect(busy()).toEqual(['chat 5'])
    away = false
    // A tab that nobody sees asks nothing.
    const hidden = vi.spyOn(document, 'hidden', 'get').mockReturnValue(true)
    const asked = calls.length
    await act(() => vi.advanceTimersByTimeAsync(60_000))
    expect(calls.length).toBe(asked)
    hidden.mockRestore()
    await act(() => vi.advanceTimersByTimeAsync(10_000))
    expect(busy()).toEqual([])
  } finally {
    vi.useRealTimers()
  }
})

it('a page that fails after the search text has changed shows no error over the chats that were found', async () => {
  const later = slow()
  const { api } = fakeApi(({ path }) => {
    if (!path.startsWith('/api/chats?')) return undefined
    return path.includes('cursor=') ? later.response : path.includes('q=') ? json({ items: [chatOf(4)] }) : json({ items: [5, 4].map(chatOf), next_cursor: 'after 4' })
  })
  render(<ChatProvider api={api} storageKey=""><HistoryPanel /></ChatProvider>)
  const user = userEvent.setup()
  await user.click(await more())
  await user.type(screen.getByRole('searchbox'), '4')
  await waitFor(() => expect(titles()).toEqual(['chat 4']))
  await act(async () => later.go(json({ detail: 'not today', code: 'unavailable', status: 503 }, 503)))
  expect(titles()).toEqual(['chat 4'])
  expect(screen.queryByRole('alert')).toBeNull()
})

it('a page that failed and is asked for again takes its error away', async () => {
  const { pages, user, give } = listed()
  await user.click(await more())
  await waitFor(() => expect(pages).toHaveLength(1))
  await act(async () => pages[0]!.go(json({ detail: 'not today', code: 'unavailable', status: 503 }, 503)))
  expect(screen.getAllByRole('alert')).toHaveLength(1)
  await user.click(await more())
  await waitFor(() => expect(pages).toHaveLength(2))
  await give(1, [3])
  await screen.findByText('chat 3')
  expect(screen.queryByRole('alert')).toBeNull()
})
