import { act, createEvent, fireEvent, render, screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it, vi } from 'vitest'
import { ChatProvider, ChatTray, useChatContext } from '../src'
import { answerFrames, event, fakeApi, frame, json, png, sse, type Call } from './fakes'
import { chat, input, live, message, posts, settled, show, slow } from './shown'

const opened = () => sessionStorage.setItem('chattray:k:conversation', '7')

describe('versions', () => {
  const first = { version: { number: 1, count: 2, next_id: 'a2' } }
  const second = { version: { number: 2, count: 2, previous_id: 'a1' } }

  it('of an answer are gone through with buttons, and the next question continues from the one that is shown', async () => {
    opened()
    const { user, calls } = show(({ method, path }) => {
      if (path.endsWith('/messages/a1/select')) return chat([message('q', 'user', 'x'), message('a1', 'assistant', 'One.', first)])
      if (path.startsWith('/api/chats/7')) return chat([message('q', 'user', 'x'), message('a2', 'assistant', 'Two.', second)])
      return method === 'POST' ? sse(answerFrames('Three.')) : undefined
    }, {}, 'k')
    await screen.findByText('Two.')
    const group = await screen.findByRole('group', { name: 'Versions' })
    within(group).getByRole('img', { name: 'Version 2 of 2' })
    expect(within(group).getByRole<HTMLButtonElement>('button', { name: 'Next version' }).disabled).toBe(true)
    await user.click(within(group).getByRole('button', { name: 'Previous version' }))
    await screen.findByText('One.')
    expect(screen.queryByText('Two.')).toBeNull()
    await waitFor(() => expect(screen.getByRole('status').textContent).toBe('Version 1 of 2'))
    expect(document.activeElement).toBe(screen.getByRole('button', { name: 'Next version' }))
    await user.type(input(), 'next{Enter}')
    await screen.findByText('Three.')
    expect(posts(calls)[0].conversation_id).toBe(7)
  })

  it('leave the focus where the user has moved it', async () => {
    opened()
    const { response, go } = slow()
    const { user } = show(({ path }) => (path.endsWith('/select') ? response : path.startsWith('/api/chats/7') ? chat([message('q', 'user', 'x'), message('a2', 'assistant', 'Two.', second)]) : undefined), {}, 'k')
    await user.click(await screen.findByRole('button', { name: 'Previous version' }))
    await user.type(input(), 'meanwhile')
    go(chat([message('q', 'user', 'x'), message('a1', 'assistant', 'One.', first)]))
    await screen.findByText('One.')
    await screen.findByRole('img', { name: 'Version 1 of 2' })
    expect(document.activeElement).toBe(input())
  })

  it('keep the focus in the tray that has it', async () => {
    opened()
    const { api } = fakeApi(({ path }) => (path.startsWith('/api/chats/7') ? path.endsWith('/select') ? chat([message('a1', 'assistant', 'One.', first)]) : chat([message('a2', 'assistant', 'Two.', second)]) : undefined))
    const user = userEvent.setup()
    render(<ChatProvider api={api} storageKey="k">{['first', 'last'].map((name) => <div key={name} data-testid={name}><ChatTray layout="sidebar" storageKey={name} /></div>)}</ChatProvider>)
    const last = within(screen.getByTestId('last'))
    await user.click(await last.findByRole('button', { name: 'Previous version' }))
    expect(document.activeElement).toBe(await last.findByRole('button', { name: 'Next version' }))
  })

  it('are known as soon as a question was edited', async () => {
    const { user, calls } = show(({ method, path }) => {
      const asked = /messages\/(\w+)\/versions$/.exec(path)?.[1]
      if (asked) return json({ items: [{ message_id: 'old', current: false }, { message_id: asked, current: true }] })
      return method === 'POST' ? sse(answerFrames('Answer.')) : undefined
    })
    await user.type(input(), 'one{Enter}')
    await settled()
    await user.click(screen.getByRole('button', { name: 'Edit' }))
    await user.type(await screen.findByRole('textbox', { name: 'Edit message' }), ' more{Enter}')
    await screen.findByLabelText('Version 2 of 2')
    expect(posts(calls)[1].edit_message_id).toMatch(/^q/)
  })

  it('keep the files of the question, as they are shown', async () => {
    opened()
    const files = [{ name: 'a.txt', mime: 'text/plain', size: 1 }, { name: 'b.txt', mime: 'text/plain', size: 2 }]
    const { user, calls } = show(({ method, path }) => {
      if (path.startsWith('/api/chats/7')) return chat([message('q', 'user', 'x', { attachments: files }), message('a', 'assistant', 'One.')])
      return method === 'POST' ? sse(answerFrames('Answer.')) : undefined
    }, {}, 'k')
    const chips = () => [...document.querySelectorAll('[data-role=user] .ct-attachment bdi')].map((e) => e.textContent)
    await screen.findByText('One.')
    await user.click(screen.getByRole('button', { name: 'Edit' }))
    await screen.findByRole('textbox', { name: 'Edit message' })
    await waitFor(() => expect(chips()).toEqual(['a.txt', 'b.txt']))
    await user.click(screen.getByRole('button', { name: 'Remove: a.txt' }))
    await user.type(screen.getByRole('textbox', { name: 'Edit message' }), ' more{Enter}')
    await waitFor(() => expect(posts(calls)[0]).toMatchObject({ message: 'x more', edit_message_id: 'q', keep_attachments: [1] }))
    expect(posts(calls)[0]).not.toHaveProperty('attachments')
    expect(chips()).toEqual(['b.txt'])
  })

  it('leave the focus at the button when the question stays as it is', async () => {
    sessionStorage.setItem('chattray:k:conversation', '7')
    const { user } = show(({ path }) => (path.startsWith('/api/chats/7') ? chat([message('q', 'user', 'x'), message('a', 'assistant', 'One.')]) : undefined), {}, 'k')
    await screen.findByText('One.')
    expect(document.activeElement).not.toBe(screen.getByRole('button', { name: 'Edit' }))
    await user.click(screen.getByRole('button', { name: 'Edit' }))
    await user.type(await screen.findByRole('textbox', { name: 'Edit message' }), '{Escape}')
    expect(document.activeElement).toBe(screen.getByRole('button', { name: 'Edit' }))
  })

  it('that cannot be selected leave everything unchanged, with a message', async () => {
    opened()
    const { user } = show(({ path }) => {
      if (path.endsWith('/select')) return json({ detail: 'this chat has an answer under way', code: 'busy', status: 409 }, 409)
      return path.startsWith('/api/chats/7') ? chat([message('q', 'user', 'x'), message('a2', 'assistant', 'Two.', second)]) : undefined
    }, {}, 'k')
    await user.click(await screen.findByRole('button', { name: 'Previous version' }))
    await screen.findByText('this chat has an answer under way')
    await act(async () => undefined)
    screen.getByText('Two.')
    expect(screen.getByRole('status').textContent).not.toContain('Version')
  })
})

describe('a message that is sent while an answer is written', () => {
  const start = [event('stream_start', { run_id: 'run-1', conversation_id: 7, user_message_id: 'q0' }), event('block_start', { block_id: 'B1', type: 'llm' }), frame('text', { content: 'Work' }, { message_id: 'M1', block_id: 'B1', delta: true })]

  it('is shown waiting, can be taken back and changed, and is sent after the answer', async () => {
    const { response, send } = live('run-1')
    let asked = 0
    const { user, calls } = show(({ method, path }) => (method === 'POST' && path.startsWith('/api/chat/stream') ? (++asked === 1 ? response : sse(answerFrames(`Answer ${asked}.`))) : undefined))
    await user.type(input(), 'one{Enter}')
    act(() => send(start))
    await user.type(input(), 'two{Enter}')
    await user.type(input(), 'three{Enter}')
    await user.type(input(), 'four{Enter}')
    const list = await screen.findByRole('list', { name: 'Waiting messages' })
    expect(within(list).getAllByRole('listitem').map((li) => li.textContent)).toEqual(['two', 'three', 'four'])
    expect(input().value).toBe('')
    await user.click(screen.getByRole('button', { name: 'Take back: three' }))
    await user.click(screen.getByRole('button', { name: 'Edit: four' }))
    expect(input().value).toBe('four')
    await user.clear(input())
    act(() => send(answerFrames('Worked.').slice(-1), true))
    await screen.findByText('Answer 2.')
    await settled()
    expect(posts(calls).map((b) => b.message)).toEqual(['one', 'two'])
    expect(posts(calls)[1].if_busy).toBe('queue')
    expect(screen.queryByRole('list', { name: 'Waiting messages' })).toBeNull()
  })

  it('is held after an answer that failed, until the user sends it', async () => {
    const { response, send } = live('run-1')
    let asked = 0
    const { user, calls } = show(({ method }) => (method === 'POST' ? (++asked === 1 ? response : sse(answerFrames('Fine.'))) : undefined))
    await user.type(input(), 'one{Enter}')
    act(() => send(start))
    await user.type(input(), 'two{Enter}')
    act(() => send([event('stream_end', { status: 'error', code: 'internal', message: 'broken', message_id: 'e1' })], true))
    await settled()
    expect(posts(calls)).toHaveLength(1)
    await user.click(await screen.findByRole('button', { name: 'Send now: two' }))
    await screen.findByText('Fine.')
  })

  it('is still there after a reload', async () => {
    opened()
    sessionStorage.setItem('chattray:k:queue:7', JSON.stringify([{ id: '1', message: 'later', attachments: [] }, { bad: true }]))
    const { calls } = show(({ method, path }) => (path.startsWith('/api/chats/7') ? chat([message('q', 'user', 'x'), message('a', 'assistant', 'Done.')]) : method === 'POST' ? sse(answerFrames('Late.')) : undefined), {}, 'k')
    await screen.findByText('Late.')
    expect(posts(calls)[0].message).toBe('later')
    expect(sessionStorage.getItem('chattray:k:queue:7')).toBeNull()
  })
})

describe('what a / and an @ offer', () => {
  const answer = ({ path, method }: Call) => {
    if (path.startsWith('/api/tools')) return json({ items: [{ name: 'search_articles', description: 'Searches articles. And more.', input_schema: {} }, { name: 'get_report', description: 'Reads a report.', input_schema: {} }] })
    if (path.startsWith('/api/documents')) return json({ items: [{ id: 'd1', title: 'Gold', revision: 1 }] })
    return method === 'POST' ? sse(answerFrames('Yes.')) : undefined
  }

  it('is a list that the keys go through while the focus stays in the input', async () => {
    const { user, calls } = show(answer)
    await user.type(input(), 'look @')
    const list = await screen.findByRole('listbox', { name: 'Tools and documents' })
    expect(within(list).getAllByRole('option').map((o) => o.textContent)).toEqual(['@GoldDocument', '@search_articlesSearches articles', '@get_reportReads a report'])
    expect(document.activeElement).toBe(input())
    expect(input().getAttribute('aria-controls')).toBe(list.id)
    await user.keyboard('{ArrowDown}')
    expect(document.getElementById(input().getAttribute('aria-activedescendant')!)?.textContent).toContain('search_articles')
    await user.keyboard('{Enter}')
    expect(input().value).toBe('look @search_articles ')
    expect(screen.queryByRole('listbox')).toBeNull()
    await user.type(input(), '@go{Tab}')
    expect(input().value).toBe('look @search_articles @Gold (document d1) ')
    await user.type(input(), '{Enter}')
    await screen.findByText('Yes.')
    expect(posts(calls)[0].message).toBe('look @search_articles @Gold (document d1)')
  })

  it('goes with Escape, and an address or a path does not open it', async () => {
    const { user } = show(answer)
    await user.type(input(), 'me@there.org and/or ')
    expect(screen.queryByRole('listbox')).toBeNull()
    await user.clear(input())
    await user.type(input(), '/')
    await screen.findByRole('listbox', { name: 'Commands' })
    await user.keyboard('{Escape}')
    expect(screen.queryByRole('listbox')).toBeNull()
    await user.type(input(), 'ne')
    expect(screen.queryByRole('listbox')).toBeNull()
  })

  it('does what a command says, the page\'s own too', async () => {
    const run = vi.fn()
    const { user, calls } = show(answer, { commands: [{ name: 'report', title: 'Write a report', run }] })
    await user.type(input(), 'x{Enter}')
    await settled()
    await user.type(input(), '/rep')
    await user.click(await screen.findByRole('option', { name: /report/ }))
    expect(run).toHaveBeenCalledOnce()
    expect(input().value).toBe('')
    await user.type(input(), '/again{Enter}')
    await waitFor(() => expect(posts(calls)).toHaveLength(2))
    expect(posts(calls)[1].regenerate_message_id).toBeTruthy()
    await settled()
    await user.type(input(), '/new')
    await screen.findByRole('option', { name: /New chat/ })
    await user.keyboard('{Enter}')
    await screen.findByText('How can I help?')
  })

  it.each(['/again', 'its button'])('answers a question again whose answer was stopped before its first word: %s', async (by) => {
    const { response, go } = slow()
    const { user, calls } = show(({ method, path }) => {
      if (path.endsWith('/cancel')) return json({ run_id: 'r' })
      if (method === 'POST') return posts(calls).length === 1 ? response : sse(answerFrames('Yes.'))
      return path.startsWith('/api/chats/7?') ? chat([message('q', 'user', 'x')]) : undefined
    })
    await user.type(input(), 'x{Enter}')
    await user.click(screen.getByRole('button', { name: 'Stop' }))
    await screen.findByText('Stopping…')
    go(sse([event('stream_start', { run_id: 'r', conversation_id: 7, user_message_id: 'q' }), event('stream_end', { status: 'cancelled' })]))
    await screen.findByText('You stopped this answer.')
    await settled()
    if (by === '/again') await user.type(input(), '/again{Enter}')
    else await user.click(screen.getByRole('button', { name: 'Answer again' }))
    await waitFor(() => expect(posts(calls)).toHaveLength(2))
    expect(posts(calls)[1]).toMatchObject({ message: 'x', edit_message_id: 'q' })
    await screen.findByText('Yes.')
  })
})

describe('a drop', () => {
  const drop = (target: Element, files: File[], types = ['Files']) => {
    const made = createEvent.drop(target)
    Object.defineProperty(made, 'dataTransfer', { value: { files, types } })
    fireEvent(target, made)
    return made
  }

  it('anywhere on the tray attaches the files and never leaves the page', async () => {
    const { user } = show(() => undefined)
    await screen.findByText('How can I help?')
    expect(drop(screen.getByRole('log'), [new File(['text'], 'notes.md')]).defaultPrevented).toBe(true)
    await screen.findByText('notes.md')
    await user.click(screen.getByRole('button', { name: 'Chats' }))
    const panel = await screen.findByRole('region', { name: 'Chats' })
    expect(drop(panel, [new File(['text'], 'more.md')]).defaultPrevented).toBe(true)
    await screen.findByText('more.md')
    expect(drop(screen.getByRole('log'), [], ['text/plain']).defaultPrevented).toBe(false)
  })

  it('of an image shows it, before and after it is sent', async () => {
    const { user, container } = show(({ method }) => (method === 'POST' ? sse(answerFrames('A dot.')) : undefined))
    drop(screen.getByRole('complementary'), [png('dot.png')])
    await screen.findByText('dot.png')
    expect(container.querySelector('.ct-attachment img')?.getAttribute('src')).toBe('data:image/png;base64,iVBORw0KGgo=')
    await user.type(input(), 'what?{Enter}')
    await screen.findByText('A dot.')
    expect(container.querySelectorAll('.ct-message .ct-attachment img')).toHaveLength(1)
  })
})

it('why a file was refused is said of the chat that it was for, also once another one is opened', async () => {
  const { user, container } = show(({ method, path }) => {
    if (path.startsWith('/api/chats/')) return chat([message('a1', 'assistant', 'Another chat.')], { conversation_id: 9 })
    return method === 'POST' ? sse(answerFrames('Done.')) : undefined
  }, { components: { Header: () => <Opens /> } })
  await user.type(input(), 'x{Enter}')
  await settled()
  await user.upload(container.querySelector<HTMLInputElement>('input[type=file]')!, new File([new Uint8Array([0, 1, 2, 255])], 'x.bin', { type: 'application/octet-stream' }))
  expect((await screen.findByRole('alert')).textContent).toContain('x.bin')
  await user.click(screen.getByText('open'))
  await screen.findByText('Another chat.')
  expect(screen.queryByRole('alert')).toBeNull()
})

function Opens() {
  const { openChat } = useChatContext()
  return <button onClick={() => void openChat(9)}>open</button>
}

describe('the list of chats', () => {
  const days = (n: number) => new Date(Date.now() - n * 86_400_000).toISOString()
  const row = (id: number, title: string, updated: string, more: object = {}) => ({ conversation_id: id, chat_id: `${id}`, title, created_at: updated, updated_at: updated, ...more })

  it('is grouped by the days of the calendar, also when the clocks have changed', async () => {
    const midnights = [Date.UTC(2026, 9, 23, 22), Date.UTC(2026, 9, 24, 22), Date.UTC(2026, 9, 25, 23)] // the 25th has 25 hours
    vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2026, 9, 26, 9) })
    const zone = vi.spyOn(Date.prototype, 'setHours').mockImplementation(function (this: Date) { return midnights.findLast((at) => at <= this.getTime())! })
    try {
      const { user } = show(({ path }) => (path.startsWith('/api/chats?') ? json({ items: [row(1, 'Night', '2026-10-24T22:20:00Z'), row(2, 'Evening before', '2026-10-24T21:20:00Z')] }) : undefined))
      await user.click(screen.getByRole('button', { name: 'Chats' }))
      await screen.findByText('Night')
      expect(screen.getAllByRole('heading', { level: 3 }).map((h) => h.textContent)).toEqual(['Yesterday', 'The last 7 days'])
    } finally {
      zone.mockRestore()
      vi.useRealTimers()
    }
  })

  it('is grouped by day with pinned chats first; a chat is pinned and archived', async () => {
    const { user, calls } = show(({ method, path, body }) => {
      if (method === 'PATCH') return json(row(2, 'Now', days(0), body))
      if (path.includes('archived=true')) return json({ items: [row(9, 'Put away', days(3), { archived: true })] })
      return path.startsWith('/api/chats?') ? json({ items: [row(1, 'Kept', days(50), { pinned: true }), row(2, 'Now', days(0)), row(3, 'Past', days(3)), row(4, 'Long ago', days(90))] }) : undefined
    })
    await user.click(screen.getByRole('button', { name: 'Chats' }))
    await screen.findByText('Long ago')
    const heads = () => screen.getAllByRole('heading', { level: 3 }).map((h) => h.textContent)
    expect(heads()).toEqual(['Pinned', 'Today', 'The last 7 days', 'Earlier'])
    await user.click(screen.getByRole('button', { name: 'Pin: Now' }))
    await waitFor(() => expect(heads()).toEqual(['Pinned', 'The last 7 days', 'Earlier']))
    await user.click(screen.getByRole('button', { name: 'Archive: Past' }))
    await waitFor(() => expect(screen.queryByText('Past')).toBeNull())
    expect(calls.filter((c) => c.method === 'PATCH').map((c) => [c.path, c.body])).toEqual([['/api/chats/2', { pinned: true }], ['/api/chats/3', { archived: true }]])
    await user.click(screen.getByRole('button', { name: 'Archived chats' }))
    await screen.findByText('Put away')
    await user.click(screen.getByRole('button', { name: 'Unarchive: Put away' }))
    await waitFor(() => expect(screen.queryByText('Put away')).toBeNull())
  })
})

it('the focus stays on the button of a chat that is pinned, and goes to the next chat when one is archived or deleted', async () => {
  const all = [1, 2, 3].map((id) => ({ conversation_id: id, chat_id: `${id}`, title: `chat ${id}`, created_at: '', updated_at: `2026-01-0${4 - id}T00:00:00Z` }))
  const { user } = show(({ method, path }) => {
    if (method !== 'GET') return json({})
    return path.startsWith('/api/chats?') ? json({ items: all }) : undefined
  })
  await user.click(screen.getByRole('button', { name: 'Chats' }))
  const press = async (name: string) => {
    ;(await screen.findByRole('button', { name })).focus()
    await user.keyboard('{Enter}')
  }
  const focused = () => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.querySelector('span')?.textContent
  await press('Pin: chat 2')
  await screen.findByRole('button', { name: 'Unpin: chat 2' })
  await waitFor(() => expect(focused()).toBe('Unpin: chat 2'))
  await press('Archive: chat 2')
  await waitFor(() => expect(focused()).toBe('chat 1'))
  await press('Delete: chat 3')
  await user.keyboard('{Enter}')
  await waitFor(() => expect(screen.queryByText('chat 3')).toBeNull())
  await waitFor(() => expect(focused()).toBe('chat 1'))
})

it('a question that was stopped before its first word says so when the chat is opened', async () => {
  sessionStorage.setItem('chattray:k:conversation', '7')
  const { user, calls } = show(({ method, path }) => {
    if (method === 'POST') return sse(answerFrames('It fell.'))
    return path.startsWith('/api/chats/7?') ? chat([message('q', 'user', 'Gold?')]) : undefined
  }, {}, 'k')
  await screen.findByText('You stopped this answer.')
  await user.click(screen.getByRole('button', { name: 'Answer again' }))
  await screen.findByText('It fell.')
  expect(screen.queryByText('You stopped this answer.')).toBeNull()
  expect(posts(calls)).toMatchObject([{ message: 'Gold?', edit_message_id: 'q' }])
})

it('a chat is saved from the menu', async () => {
  opened()
  const made = vi.spyOn(URL, 'createObjectURL').mockReturnValue('blob:x')
  vi.spyOn(URL, 'revokeObjectURL').mockReturnValue(undefined)
  const saved: string[] = []
  vi.spyOn(HTMLAnchorElement.prototype, 'click').mockImplementation(function (this: HTMLAnchorElement) {
    saved.push(this.download)
  })
  const { user, calls } = show(({ path }) => {
    if (path.startsWith('/api/chats/7/export')) return new Response('# t\n', { headers: { 'Content-Type': 'text/markdown' } })
    return path.startsWith('/api/chats/7') ? chat([message('q', 'user', 'x'), message('a', 'assistant', 'Done.')], { title: 'A/B: what?\u202E' }) : undefined
  }, {}, 'k')
  await screen.findByText('Done.')
  await user.click(await screen.findByRole('button', { name: 'More options' }))
  await user.click(screen.getByRole('menuitem', { name: 'Save as Markdown' }))
  await waitFor(() => expect(saved).toEqual(['A B  what.md']))
  expect(made).toHaveBeenCalledOnce()
  expect(calls.some((c) => c.path === '/api/chats/7/export?format=markdown')).toBe(true)
})

it('a message has the time at which it was written, with the day if that is not today', async () => {
  sessionStorage.setItem('chattray:k:conversation', '7')
  const [now, then] = [new Date().toISOString(), '2026-01-02T15:04:00Z']
  const { container } = show(({ path }) => (path.startsWith('/api/chats/7') ? chat([message('q', 'user', 'Gold?', { created_at: then }), message('a', 'assistant', 'It fell.', { created_at: now })]) : undefined), {}, 'k')
  await screen.findByText('It fell.')
  const times = [...container.querySelectorAll<HTMLTimeElement>('.ct-message time')]
  expect(times.map((t) => [t.closest<HTMLElement>('.ct-message')!.dataset.role, t.dateTime])).toEqual([['user', then], ['assistant', now]])
  expect(times[0]!.textContent).toBe(new Date(then).toLocaleDateString(undefined, { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' }))
  expect(times[1]!.textContent).toBe(new Date(now).toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' }))
})
