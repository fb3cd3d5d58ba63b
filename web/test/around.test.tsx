import { act, render, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { StrictMode, Suspense, useEffect, useState } from 'react'
import { hydrateRoot, type Root } from 'react-dom/client'
import { renderToString } from 'react-dom/server'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { ChatProvider, ChatStore, ChatTray, Markdown, MessageList, useChatContext, useChatState, useThreads } from '../src'
import { answerFrames, event, fakeApi, json, sse } from './fakes'
import { type Answer, show, input, posts, settled, message, chat, slow, live } from './shown'

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

  it('changes what a part has added: the later value counts, and undefined removes it', () => {
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

  it('shows a user nothing that another one has seen: no panel, no notice, no list', async () => {
    const payload = { type: 'note', payload_id: 'p', data: {}, summary: 's', source: 'tool' }
    let user = 'ada'
    const { api } = fakeApi(({ method, path }) => {
      if (method === 'POST') return sse(answerFrames('For Ada only.', { payloads: [payload], custom_payload: payload, suggested_actions: [{ action: 'odd', label: 'Do it', handler: 'client' }] }))
      if (path.startsWith('/api/chats?')) return user === 'ada' ? json({ items: [{ conversation_id: 7, chat_id: 'c', title: 'Chat of Ada', updated_at: '2026-01-01T00:00:00Z' }] }) : json({}, 500)
      return undefined
    })
    const page = () => (
      <ChatProvider api={api} storageKey={user}>
        <ChatTray layout="sidebar" openPayloads="all" payloadHandlers={{ note: { render: () => <p>Note of Ada</p> } }} />
        <Chats />
      </ChatProvider>
    )
    const Chats = () => <ul>{useThreads().items.map((chat) => <li key={chat.conversation_id}>{chat.title} again</li>)}</ul>
    const { rerender } = render(page())
    const hands = userEvent.setup()
    await hands.type(input(), 'one{Enter}')
    await hands.click(await screen.findByRole('button', { name: 'Do it' }))
    for (const of of ['Note of Ada', 'Chat of Ada again', /odd/]) await screen.findByText(of)
    user = 'grace'
    rerender(page())
    for (const of of [/Ada/, /odd/]) expect(screen.queryByText(of)).toBeNull()
    user = 'ada'
    rerender(page())
    await hands.click(screen.getByRole('button', { name: 'Chats' }))
    await screen.findByText('Chat of Ada')
    user = 'grace'
    rerender(page())
    expect(screen.queryByText(/Ada/)).toBeNull()
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

  it('is rendered by a server and leaves nothing open there', () => {
    const opened = vi.spyOn(globalThis, 'BroadcastChannel')
    const html = renderToString(<ChatProvider context={{ current_page: 'x' }}><ChatTray layout="sidebar" defaultOpen /></ChatProvider>)
    expect(html).toBe('<div class="ct-root " data-layout="sidebar" data-theme="auto"></div>')
    expect(opened).not.toHaveBeenCalled()
  })

  it('may have parts of the tray and formulas of its own, which a server renders without an error', () => {
    const { api } = fakeApi(() => undefined)
    vi.stubGlobal('document', undefined)
    onTestFinished(() => void vi.unstubAllGlobals())
    const said = vi.spyOn(console, 'error')
    const html = renderToString(<ChatProvider api={api}><MessageList empty="Nothing yet." /><Markdown text="$$x$$" /></ChatProvider>)
    expect(html).toMatch(/Nothing yet\..*ct-tex/s)
    expect(said).not.toHaveBeenCalled()
  })

  it('is hydrated without a difference where the browser has a model and a chat, also where a part comes after the chat', async () => {
    const { api } = fakeApi(({ path }) => (path.startsWith('/api/chats/7') ? chat([message('a', 'assistant', 'Kept.')]) : undefined))
    let comes = () => undefined as void
    const coming = new Promise<void>((resolve) => {
      comes = resolve
    })
    let here = true
    function Late() {
      const count = useChatState((state) => state.messages.length)
      if (!here) throw coming
      return <p>{`late: ${count}`}</p>
    }
    const Own = () => <p>{`model: ${useChatState((state) => state.model)}, ${useChatState().messages.length}`}</p>
    const page = <ChatProvider api={api} storageKey="k"><Own /><Suspense fallback={null}><Late /></Suspense></ChatProvider>
    const place = document.body.appendChild(document.createElement('div'))
    place.innerHTML = renderToString(page)
    localStorage.setItem('chattray:k:model', 'small')
    localStorage.setItem('chattray:k:conversation', '7')
    const differences: unknown[] = []
    let root: Root | undefined
    here = false
    act(() => {
      root = hydrateRoot(place, page, { onRecoverableError: (error) => differences.push(error) })
    })
    await screen.findByText('model: small, 1')
    screen.getByText('late: 0')
    here = true
    comes()
    await screen.findByText('late: 1')
    expect(differences).toEqual([])
    act(() => root?.unmount())
    place.remove()
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
    await waitFor(() => expect(calls.map((c) => c.path).filter((p) => p !== '/api/models')).toEqual(['/api/me']))
  })

  it('continues its run after a component was removed and added again', async () => {
    const answer = live('r')
    const api = fakeApi(({ method, path }) => {
      if (path.startsWith('/api/chats/7')) return chat([message('q1', 'user', 'one'), message('a1', 'assistant', 'Kept.')])
      return method === 'POST' ? answer.response : undefined
    }).api
    const store = new ChatStore({ api })
    let leave = store.connect()
    void store.sendMessage('one')
    store.dispatch({ type: 'frame', frame: event('stream_start', { run_id: 'r', conversation_id: 7 }) })
    expect(store.getSnapshot().isLoading).toBe(true)
    leave()
    store.disconnect()
    leave = store.connect()
    const restored = store.restore()
    answer.send([], true)
    await restored
    expect(store.getSnapshot()).toMatchObject({ isLoading: false, messages: [{ id: 'q1' }, { id: 'a1' }] })
    leave()
  })

  it('reads nothing more once it is closed', async () => {
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
