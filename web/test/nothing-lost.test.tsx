import { act, fireEvent, render, screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { StrictMode, useEffect, useState } from 'react'
import { renderToString } from 'react-dom/server'
import { describe, expect, it, vi } from 'vitest'
import { ChatProvider, ChatStore, ChatTray, useChatContext, type ChatTrayProps } from '../src'
import { answerFrames, event, fakeApi, frame, json, sse, type Call } from './fakes'

type Answer = (call: Call) => Response | Promise<Response> | undefined

function show(answer: Answer, props: Partial<ChatTrayProps> = {}, storageKey = '') {
  const { api, calls } = fakeApi(answer)
  const shown = render(<ChatProvider api={api} storageKey={storageKey}><ChatTray layout="sidebar" {...props} /></ChatProvider>)
  return { calls, user: userEvent.setup(), ...shown }
}

const input = () => screen.getByLabelText<HTMLTextAreaElement>('Message')
const posts = (calls: Call[]) => calls.filter((c) => c.method === 'POST' && c.path.startsWith('/api/chat/stream')).map((c) => c.body)
const settled = () => screen.findByRole('button', { name: 'Send' })
const message = (id: string, role: string, content: string, more: object = {}) => ({ id, conversation_id: 7, role, type: 'md', content, status: 'complete', created_at: '2026-01-01T00:00:00Z', ...more })
const chat = (messages: object[], more: object = {}) => json({ conversation_id: 7, chat_id: 'c', title: 't', created_at: '', updated_at: '', messages, ...more })
const busy = () => json({ detail: 'this chat is being answered', code: 'busy', status: 409 }, 409)

/** A response that goes on when it is told to. */
function slow() {
  let go: (response: Response) => void = () => undefined
  const response = new Promise<Response>((resolve) => {
    go = resolve
  })
  return { response, go }
}

/** A stream whose frames come when they are sent. */
function live(runId: string) {
  let send: (frames: unknown[], end?: boolean) => void = () => undefined
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      send = (frames, end = false) => {
        frames.forEach((f) => controller.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(f)}\n\n`)))
        if (end) controller.close()
      }
    },
  })
  return { response: new Response(body, { headers: { 'X-Run-Id': runId } }), send: (frames: unknown[], end?: boolean) => send(frames, end) }
}

describe('what is typed', () => {
  it('stays when the new chat gets its name', async () => {
    const { response, go } = slow()
    const { user } = show(({ method }) => (method === 'POST' ? response : undefined))
    await user.type(input(), 'one{Enter}')
    await user.type(input(), 'half a thought')
    go(sse(answerFrames('The answer.')))
    await settled()
    expect(input().value).toBe('half a thought')
    await user.click(screen.getByRole('button', { name: 'New chat' }))
    expect(input().value).toBe('')
  })

  it('goes on when a panel opens by itself', async () => {
    const { response, send } = live('r')
    const payload = { payload_id: 'p1', data: {}, summary: 'A thing', source: 'tool' }
    const { user } = show(({ method }) => (method === 'POST' ? response : undefined), { payloadHandlers: { thing: { render: () => <p>card</p>, renderOptions: { headerTitle: 'Mine' } } } })
    await user.type(input(), 'one{Enter}')
    send([event('stream_start', { run_id: 'r', conversation_id: 7 }), frame('thing', payload, { message_id: 'M1' })])
    await screen.findByText('card')
    expect(document.activeElement).toBe(input())
    expect(screen.getAllByRole('status')[0]!.textContent).toBe('Mine opened beside the chat.')
    send(answerFrames('x').slice(-1), true)
    await settled()
    await user.keyboard('{Escape}')
    expect(screen.queryByText('card')).toBeNull()
  })

  it('comes back when the chat is answered elsewhere, and that answer is followed', async () => {
    let asked = 0
    const { response, send } = live('other')
    const { user, calls } = show(({ method, path }) => {
      if (path.startsWith('/api/chats/7')) return chat([message('q1', 'user', 'one'), message('a1', 'assistant', 'First.'), message('q2', 'user', 'theirs')], { active_run_id: 'other' })
      if (path.includes('/runs/other/stream')) return response
      return method === 'POST' ? (++asked === 1 ? sse(answerFrames('First.')) : busy()) : undefined
    })
    await user.type(input(), 'one{Enter}')
    await screen.findByText('First.')
    await settled()
    await user.type(input(), 'mine{Enter}')
    await screen.findByText('theirs')
    await waitFor(() => expect(input().value).toBe('mine'))
    expect(screen.getByRole('alert').textContent).toContain('this chat is being answered')
    expect(within(screen.getByRole('alert')).queryByRole('button', { name: 'Try again' })).toBeNull()
    send([...answerFrames('Theirs.')].map((f) => ({ ...f, chunk_id: undefined })), true)
    await screen.findByText('Theirs.')
    await settled()
    expect(posts(calls)).toHaveLength(2)
  })

  it('is not sent while the chat is still being fetched', async () => {
    localStorage.setItem('chattray:k:conversation', '7')
    const { response, go } = slow()
    const { user, calls } = show(({ method, path }) => (path.startsWith('/api/chats/7') ? response : method === 'POST' ? sse(answerFrames('Second.')) : undefined), {}, 'k')
    await user.type(input(), 'two{Enter}')
    expect(input().value).toBe('two')
    go(chat([message('q1', 'user', 'one'), message('a1', 'assistant', 'First.')]))
    await screen.findByText('First.')
    await user.type(input(), '{Enter}')
    await screen.findByText('Second.')
    expect(screen.getByText('First.')).toBeTruthy()
    expect(posts(calls)).toMatchObject([{ message: 'two', conversation_id: 7 }])
  })

  it('is not sent in the middle of a word that is being composed', async () => {
    const { user, calls } = show(() => undefined)
    await user.type(input(), 'ni')
    const key = new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true })
    Object.defineProperty(key, 'keyCode', { value: 229 })
    act(() => void input().dispatchEvent(key))
    expect(input().value).toBe('ni')
    expect(posts(calls)).toEqual([])
  })
})

describe('what is attached', () => {
  const choose = (user: ReturnType<typeof userEvent.setup>, ...names: string[]) =>
    user.upload(document.querySelector<HTMLInputElement>('input[type=file]')!, names.map((name) => new File(['x'.repeat(4 * 1024 * 1024)], name, { type: 'text/plain' })))

  it('is no more than a request may be', async () => {
    const { user } = show(() => undefined)
    await choose(user, 'a.txt', 'b.txt')
    expect((await screen.findByRole('alert')).textContent).toBe('b.txt is too large.')
    await user.click(screen.getByLabelText('Remove: a.txt'))
    await choose(user, 'c.txt')
    await screen.findByText('c.txt')
  })

  it('is a picture that is pasted, but not the picture of a text', async () => {
    show(() => undefined)
    const paste = (types: string[]) => fireEvent.paste(input(), { clipboardData: { files: [new File([new Uint8Array([1, 2])], 'x.png', { type: 'image/png' })], types } })
    expect(paste(['text/plain', 'Files'])).toBe(true)
    expect(screen.queryByText('x.png')).toBeNull()
    expect(paste(['Files'])).toBe(false)
    await screen.findByText('x.png')
  })
})

describe('what failed', () => {
  it.each([null, 7])('comes back to be changed when the service would refuse it again, in chat %s', async (id) => {
    if (id) localStorage.setItem('chattray:k:conversation', String(id))
    const { user, calls } = show(({ method, path }) => {
      if (path.startsWith('/api/chats/7')) return chat([message('q1', 'user', 'one'), message('a1', 'assistant', 'First.')])
      return method === 'POST' ? json({ detail: 'the body is larger than 8 MiB', code: 'too_large' }, 413) : undefined
    }, {}, 'k')
    if (id) await screen.findByText('First.')
    await user.type(input(), 'too much')
    await user.upload(document.querySelector<HTMLInputElement>('input[type=file]')!, new File(['# Notes'], 'notes.md', { type: 'text/markdown' }))
    await screen.findByText('notes.md')
    await user.type(input(), '{Enter}')
    expect((await screen.findByRole('alert')).textContent).toContain('the body is larger')
    expect(within(screen.getByRole('alert')).queryByRole('button', { name: 'Try again' })).toBeNull()
    await waitFor(() => expect(input().value).toBe('too much'))
    await screen.findByLabelText('Remove: notes.md')
    expect(screen.queryAllByLabelText('You')).toHaveLength(id ? 1 : 0)
    expect(posts(calls)).toHaveLength(1)
  })

  it('is edited, not added, when an edit that was refused is tried again', async () => {
    let asked = 0
    const { user, calls } = show(({ method }) => (method !== 'POST' ? undefined : ++asked === 2 ? json({ detail: 'too many', code: 'too_many_requests' }, 429) : sse(answerFrames(`Answer ${asked}.`))))
    await user.type(input(), 'one{Enter}')
    await settled()
    const id = screen.getAllByLabelText('You')[0]
    await user.click(within(id!).getByRole('button', { name: 'Edit' }))
    await user.type(screen.getByRole('textbox', { name: 'Edit message' }), ' more{Enter}')
    await user.click(await screen.findByRole('button', { name: 'Try again' }))
    await screen.findByText('Answer 3.')
    const [, first, second] = posts(calls)
    expect(first.edit_message_id).toMatch(/^q/)
    expect(second).toEqual(first)
    expect(screen.getAllByLabelText('You')).toHaveLength(1)
  })

  it('can be fetched again when the chat could not be opened', async () => {
    localStorage.setItem('chattray:k:conversation', '7')
    let asked = 0
    const { user } = show(({ path }) => (path.startsWith('/api/chats/7') ? (++asked === 1 ? json({ detail: 'the database is away', code: 'unavailable' }, 503) : chat([message('a1', 'assistant', 'First.')])) : undefined), {}, 'k')
    await user.click(await screen.findByRole('button', { name: 'Try again' }))
    await screen.findByText('First.')
    expect(screen.queryByRole('alert')).toBeNull()
  })

  it('says so when earlier messages cannot be read', async () => {
    localStorage.setItem('chattray:k:conversation', '7')
    let asked = 0
    const { user } = show(({ path }) => {
      if (!path.startsWith('/api/chats/7')) return undefined
      if (!path.includes('cursor')) return chat([message('q2', 'user', 'two')], { next_cursor: 'before' })
      return ++asked === 1 ? json({ detail: 'the database is away', code: 'unavailable' }, 503) : chat([message('q1', 'user', 'one')])
    }, {}, 'k')
    await user.click(await screen.findByRole('button', { name: 'Earlier messages' }))
    expect((await screen.findByRole('alert')).textContent).toContain('the database is away')
    await user.click(screen.getByRole('button', { name: 'Earlier messages' }))
    await screen.findByText('one')
  })

  it('comes back in a new chat when the chat was deleted elsewhere', async () => {
    localStorage.setItem('chattray:k:conversation', '7')
    let asked = 0
    const { user } = show(({ method, path }) => (method === 'POST' || !path.startsWith('/api/chats/7') || ++asked > 1 ? undefined : chat([message('a1', 'assistant', 'First.')])), {}, 'k')
    await screen.findByText('First.')
    await user.type(input(), 'and then?{Enter}')
    await screen.findByText('How can I help?')
    await waitFor(() => expect(input().value).toBe('and then?'))
    expect(screen.getByRole('alert').textContent).toContain('there is nothing here')
  })
})

describe('stop', () => {
  it('cancels a run as soon as it has a name', async () => {
    const { response, go } = slow()
    const { user, calls } = show(({ method, path }) => {
      if (path.endsWith('/cancel')) return json({ run_id: 'r' })
      return method === 'POST' ? response : undefined
    })
    await user.type(input(), 'one{Enter}')
    await user.click(screen.getByRole('button', { name: 'Stop' }))
    await screen.findByText('Stopping…')
    go(sse([event('stream_start', { run_id: 'r', conversation_id: 7 }), event('stream_end', { status: 'cancelled', message_id: 'a' })]))
    await screen.findByText('You stopped this answer.')
    expect(calls.map((c) => c.path)).toContain('/api/chat/runs/r/cancel')
  })

  it('gives a message back that did not get through', async () => {
    const { user } = show(({ method }) => (method === 'POST' ? Promise.reject(new TypeError('offline')) : undefined))
    await user.type(input(), 'one{Enter}')
    await screen.findByText('Connection lost. Reconnecting…')
    await user.click(screen.getByRole('button', { name: 'Stop' }))
    await waitFor(() => expect(input().value).toBe('one'))
    expect(screen.queryByLabelText('You')).toBeNull()
  })
})

describe('a proposal', () => {
  const payload = { payload_id: 'p1', type: 'thing', data: {} }
  const answer: Answer = ({ method, path }) => (method === 'POST' && path.startsWith('/api/chat/') ? sse(answerFrames('x', { payloads: [payload], custom_payload: payload })) : undefined)

  it('is accepted once, however often it is clicked', async () => {
    const { response, go } = slow()
    const onAccept = vi.fn()
    const { user } = show((call) => (call.path.includes('/resolve') ? response : answer(call)), { payloadHandlers: { thing: { render: () => <p>card</p>, onAccept } } })
    await user.type(input(), 'x{Enter}')
    await user.dblClick(await screen.findByRole('button', { name: 'Accept' }))
    go(json({ ...payload, outcome: 'accepted' }))
    await waitFor(() => expect(screen.queryByText('card')).toBeNull())
    expect(onAccept).toHaveBeenCalledTimes(1)
  })

  it('is shown as JSON when its card throws', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => undefined)
    const broken = () => {
      throw new Error('broken')
    }
    const { user } = show((call) => answer(call), { payloadHandlers: { thing: { render: broken, onAccept: () => undefined } } })
    await user.type(input(), 'x{Enter}')
    await screen.findByText('{}', { selector: '.ct-json' })
    expect(screen.getByRole('button', { name: 'Accept' })).toBeTruthy()
  })

  it('keeps the focus when its card takes away what had it', async () => {
    function Card() {
      const [done, setDone] = useState(false)
      return done ? <p>done</p> : <button onClick={() => setDone(true)}>do it</button>
    }
    const { user } = show((call) => answer(call), { payloadHandlers: { thing: { render: () => <Card />, renderOptions: { headerTitle: 'Mine' } } } })
    await user.type(input(), 'x{Enter}')
    await user.click(await screen.findByText('do it'))
    await screen.findByText('done')
    await waitFor(() => expect(document.activeElement?.getAttribute('aria-label')).toBe('Mine'))
  })

  it('is not accepted again by the page when only keeping the decision failed', async () => {
    let asked = 0
    const onAccept = vi.fn()
    const { user } = show((call) => (call.path.includes('/resolve') ? (++asked === 1 ? json({ detail: 'away', code: 'unavailable' }, 503) : json({ ...payload, outcome: 'accepted' })) : answer(call)), { payloadHandlers: { thing: { render: () => <p>card</p>, onAccept } } })
    await user.type(input(), 'x{Enter}')
    await user.click(await screen.findByRole('button', { name: 'Accept' }))
    expect((await screen.findByRole('alert')).textContent).toBe('away')
    await user.click(screen.getByRole('button', { name: 'Accept' }))
    await waitFor(() => expect(screen.queryByText('card')).toBeNull())
    expect(onAccept).toHaveBeenCalledTimes(1)
  })
})

describe('the page around', () => {
  function Article({ pmid }: { pmid: string }) {
    const { updateContext } = useChatContext()
    useEffect(() => updateContext({ current_article: pmid, active_tab: 'articles' }), [pmid, updateContext])
    return null
  }

  it('has what its parts add in the context, from the first message on and over changes of its own', async () => {
    const { api, calls } = fakeApi(({ method }) => (method === 'POST' ? sse(answerFrames('x')) : undefined))
    function Host() {
      const [page, setPage] = useState('reports')
      return <ChatProvider api={api} storageKey="" context={{ current_page: page, active_tab: 'summary' }}><button onClick={() => setPage('streams')}>go</button><Article pmid="1" /><ChatTray layout="sidebar" /></ChatProvider>
    }
    render(<StrictMode><Host /></StrictMode>)
    const user = userEvent.setup()
    await user.type(input(), 'one{Enter}')
    await settled()
    await user.click(screen.getByText('go'))
    await user.type(input(), 'two{Enter}')
    await waitFor(() => expect(posts(calls)).toHaveLength(2))
    expect(posts(calls).map((b) => b.context)).toEqual([
      { current_page: 'reports', active_tab: 'articles', current_article: '1' }, { current_page: 'streams', active_tab: 'articles', current_article: '1' },
    ])
  })

  it('changes what a part has added: the later word counts, and undefined takes it back', () => {
    const store = new ChatStore({ api: fakeApi(() => undefined).api })
    store.setContext({ page: 'a', tab: 'x' })
    store.updateContext({ tab: 'y', more: 1 })
    expect(store.getContext()).toEqual({ page: 'a', tab: 'y', more: 1 })
    store.setContext({ page: 'b', tab: 'x' })
    expect(store.getContext()).toEqual({ page: 'b', tab: 'y', more: 1 })
    store.setContext({ page: 'b', tab: 'z' })
    expect(store.getContext()).toEqual({ page: 'b', tab: 'z', more: 1 })
    store.updateContext({ tab: 'y', more: undefined })
    store.updateContext({ tab: undefined })
    expect(store.getContext()).toEqual({ page: 'b', tab: 'z' })
  })

  it('shows another conversation to another user', async () => {
    const { api } = fakeApi(({ method }) => (method === 'POST' ? sse(answerFrames('For Ada only.')) : undefined))
    const tray = (user: string) => <ChatProvider api={api} storageKey={user}><ChatTray layout="sidebar" /></ChatProvider>
    const { rerender } = render(tray('ada'))
    await userEvent.setup().type(input(), 'one{Enter}')
    await screen.findByText('For Ada only.')
    rerender(tray('grace'))
    expect(screen.queryByText('For Ada only.')).toBeNull()
  })

  it('may change the theme until the user chooses one', async () => {
    const { api } = fakeApi(() => undefined)
    const tray = (theme: 'light' | 'dark') => <ChatProvider api={api} storageKey=""><ChatTray layout="sidebar" theme={theme} storageKey="theme" /></ChatProvider>
    const { rerender, container } = render(tray('light'))
    const theme = () => container.querySelector('.ct-root')!.getAttribute('data-theme')
    rerender(tray('dark'))
    expect(theme()).toBe('dark')
    const user = userEvent.setup()
    await user.click(screen.getByRole('button', { name: 'More options' }))
    await user.click(screen.getByRole('menuitemradio', { name: 'Theme: dark' }))
    rerender(tray('light'))
    expect(theme()).toBe('dark')
  })

  it('is rendered by a server, which is left without anything open', () => {
    const opened = vi.spyOn(globalThis, 'BroadcastChannel')
    const html = renderToString(<ChatProvider context={{ current_page: 'x' }}><ChatTray layout="sidebar" defaultOpen /></ChatProvider>)
    expect(html).toBe('<div class="ct-root " data-layout="sidebar" data-theme="auto"></div>')
    expect(opened).not.toHaveBeenCalled()
  })
})

describe('a tab', () => {
  const chats: Answer = ({ path }) => {
    const id = /^\/api\/chats\/(\d)/.exec(path)?.[1]
    return id ? json({ conversation_id: Number(id), chat_id: id, title: id, messages: [message('a', 'assistant', `Chat ${id}.`)] }) : undefined
  }

  it('keeps its own chat, whatever another one opens', async () => {
    sessionStorage.setItem('chattray:k:conversation', '1')
    localStorage.setItem('chattray:k:conversation', '2')
    show(chats, {}, 'k')
    await screen.findByText('Chat 1.')
  })

  it('keeps that its chat is a new one', async () => {
    sessionStorage.setItem('chattray:k:conversation', '')
    localStorage.setItem('chattray:k:conversation', '2')
    const { calls } = show(chats, {}, 'k')
    await screen.findByText('How can I help?')
    await waitFor(() => expect(calls.map((c) => c.path)).toEqual(['/api/me']))
  })

  it('takes its run up again where a component was taken away and put back', async () => {
    const api = fakeApi(({ method, path }) => {
      if (path.startsWith('/api/chats/7')) return chat([message('q1', 'user', 'one'), message('a1', 'assistant', 'Kept.')])
      return method === 'POST' ? live('r').response : undefined
    }).api
    const store = new ChatStore({ api })
    let leave = store.connect()
    void store.sendMessage('one')
    store.dispatch({ type: 'frame', frame: event('stream_start', { run_id: 'r', conversation_id: 7 }) })
    expect(store.getSnapshot().isLoading).toBe(true)
    leave()
    store.disconnect()
    leave = store.connect()
    await store.restore()
    expect(store.getSnapshot()).toMatchObject({ isLoading: false, messages: [{ id: 'q1' }, { id: 'a1' }] })
    leave()
  })

  it('reads nothing more once it is left', async () => {
    const { response, go } = slow()
    const { api, calls } = fakeApi(({ path }) => (path.startsWith('/api/chats/7') ? response : undefined))
    const store = new ChatStore({ api })
    const opening = store.open(7)
    await waitFor(() => expect(calls).toHaveLength(1))
    store.disconnect()
    go(chat([], { active_run_id: 'r' }))
    await opening
    expect(calls.map((c) => c.path)).toEqual(['/api/chats/7?limit=50'])
  })
})
