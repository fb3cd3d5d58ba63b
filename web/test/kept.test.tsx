import { fireEvent, render, screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { ChatProvider, ChatStore, ChatTray, createChatApi } from '../src'
import { ConversationStorage } from '../src/state/store/conversationStorage'
import { answerFrames, json, sse } from './fakes'
import { gateway, show } from './shown'

const nothing = json({ detail: 'there is nothing here', code: 'not_found', status: 404 }, 404)

/** A client of a service that knows one user, or nobody yet. */
function apiOf(user: string | Promise<string>) {
  return createChatApi({
    fetch: async (url) => {
      if (!String(url).endsWith('/api/me')) return nothing.clone()
      const id = await user
      return id ? json({ user_id: id, name: id, roles: [] }) : json({ detail: 'who?', code: 'unauthorized', status: 401 }, 401)
    },
  })
}

const field = (title = 'Assistant') => within(screen.getByRole('complementary', { name: title })).getByLabelText<HTMLTextAreaElement>('Message')
const known = () => new Promise((resolve) => setTimeout(resolve))

describe('what the browser keeps', () => {
  it('is the open chat, also where the page tells what it shows before the chat is opened again', async () => {
    const key = 'chattray:one:conversation'
    sessionStorage.setItem(key, '7')
    const asked: string[] = []
    const store = new ChatStore({ storageKey: 'one', api: createChatApi({ fetch: async (url) => {
      asked.push(String(url))
      return json({ conversation_id: 7, chat_id: 'c', title: 'T', created_at: '2026-01-01T00:00:00Z', updated_at: '2026-01-01T00:00:00Z', messages: [] })
    } }) })
    store.setContext({ current_page: 'reports' })
    await known()
    expect(store.getSnapshot().page).toBe('reports')
    await store.restore()
    expect(asked.filter((url) => url.startsWith('/api/chats/7'))).toHaveLength(1)
    expect(sessionStorage.getItem(key)).toBe('7')
    store.newChat()
    expect(sessionStorage.getItem(key)).toBe('')
  })

  it('is the open chat and not the one before, also where the tab has no room', () => {
    const kept = new Map([['chattray:one:conversation', '7']])
    vi.stubGlobal('sessionStorage', {
      getItem: (key: string) => kept.get(key) ?? null,
      removeItem: (key: string) => kept.delete(key),
      clear: () => kept.clear(),
      setItem: () => {
        throw new DOMException('The quota has been exceeded.', 'QuotaExceededError')
      },
    })
    onTestFinished(() => void vi.unstubAllGlobals())
    new ConversationStorage('one').keep(8)
    expect(new ConversationStorage('one').read()).toBe(8)
  })

  it('does not give a draft to the next user of the tab, though the host names no user', async () => {
    const tray = (user: string) => <ChatProvider api={apiOf(user)}><ChatTray layout="sidebar" /></ChatProvider>
    const ada = render(tray('ada'))
    await known()
    await userEvent.setup().type(field(), 'For nobody else.')
    ada.unmount()
    const grace = render(tray('grace'))
    await known()
    expect(field().value).toBe('')
    grace.unmount()
    render(tray('ada'))
    await waitFor(() => expect(field().value).toBe('For nobody else.'))
  })

  it('keeps nothing of a user who is not known, and takes the text along when they are', async () => {
    let tell: (user: string) => void = () => undefined
    render(<ChatProvider api={apiOf(new Promise((resolve) => { tell = resolve }))}><ChatTray layout="sidebar" /></ChatProvider>)
    await userEvent.setup().type(field(), 'Early')
    expect(JSON.stringify(sessionStorage)).not.toContain('Early')
    tell('ada')
    await waitFor(() => expect(JSON.stringify(sessionStorage)).toContain('Early'))
    expect(field().value).toBe('Early')
  })

  it.each([
    ['unavailable', 'store_unavailable', 503],
    ['a proxy', '', 502],
  ])('keeps a draft once the service knows the user, though it did not when the page was opened: %s', async (_, code, status) => {
    let away = true
    const api = createChatApi({ fetch: async (url) => {
      if (!String(url).endsWith('/api/me')) return nothing.clone()
      return away ? json(code && { code, status }, status) : json({ user_id: 'ada', name: 'ada', roles: [] })
    } })
    render(<ChatProvider api={api}><ChatTray layout="sidebar" /></ChatProvider>)
    await known()
    await userEvent.setup().type(field(), 'Early')
    expect(JSON.stringify(sessionStorage)).not.toContain('Early')
    away = false
    await waitFor(() => expect(JSON.stringify(sessionStorage)).toContain('Early'))
    expect(field().value).toBe('Early')
  })

  it('keeps a draft once the page has signed in and asks something, and asks no more who the user is', async () => {
    let signed = false
    let asked = 0
    const api = createChatApi({ fetch: async (url, init) => {
      if (!signed) return json({ detail: 'who?', code: 'unauthorized', status: 401 }, 401)
      if (init?.method === 'POST') return sse(answerFrames('Hello.'))
      if (!String(url).endsWith('/api/me')) return nothing.clone()
      asked++
      return json({ user_id: 'ada', name: 'ada', roles: [] })
    } })
    render(<ChatProvider api={api}><ChatTray layout="sidebar" /></ChatProvider>)
    await known()
    signed = true
    const user = userEvent.setup()
    await user.type(field(), 'one{Enter}')
    await screen.findByText('Hello.')
    await user.type(field(), 'Later')
    await waitFor(() => expect(JSON.stringify(sessionStorage)).toContain('Later'))
    const before = asked
    await user.type(field(), '{Enter}')
    await waitFor(() => expect(screen.getAllByText('Hello.')).toHaveLength(2))
    expect(asked).toBe(before)
  })

  it.each([
    ['names', { storageKey: 'one' }, { storageKey: 'two' }],
    ['services', { baseUrl: 'https://a.example' }, { baseUrl: 'https://b.example' }],
  ])('two trays with two providers of two %s share neither draft, layout, width nor open', async (_, one, two) => {
    const page = (
      <>
        <ChatProvider api={apiOf('ada')} {...one}><ChatTray layout="sidebar" labels={{ title: 'One' }} /></ChatProvider>
        <ChatProvider api={apiOf('ada')} {...two}><ChatTray layout="sidebar" labels={{ title: 'Two' }} /></ChatProvider>
      </>
    )
    const user = userEvent.setup()
    const first = render(page)
    await known()
    await user.type(field('One'), 'mine')
    const tray = within(screen.getByRole('complementary', { name: 'One' }))
    await user.click(tray.getByRole('button', { name: 'More options' }))
    await user.click(tray.getByRole('menuitemradio', { name: 'Theme: dark' }))
    tray.getByRole('separator').focus()
    await user.keyboard('{ArrowLeft}')
    await user.click(tray.getByRole('button', { name: 'Close the chat' }))
    first.unmount()
    render(page)
    await known()
    expect(screen.queryByRole('complementary', { name: 'One' })).toBeNull()
    const other = screen.getByRole('complementary', { name: 'Two' })
    expect(other.closest<HTMLElement>('.ct-root')!.style.getPropertyValue('--ct-width')).toBe('')
    expect(other.closest('.ct-root')!.getAttribute('data-theme')).toBe('auto')
    expect(field('Two').value).toBe('')
    await user.click(screen.getByRole('button', { name: 'Open the chat' }))
    await waitFor(() => expect(field('One').value).toBe('mine'))
    expect(screen.getByRole('complementary', { name: 'One' }).closest<HTMLElement>('.ct-root')!.style.getPropertyValue('--ct-width')).not.toBe('')
  })

  it('reads what is kept under another name when the name changes', async () => {
    localStorage.setItem('chattray:b:theme', 'dark')
    const api = apiOf('ada')
    const tray = (name: string) => <ChatProvider api={api} storageKey={name}><ChatTray layout="sidebar" /></ChatProvider>
    const { rerender, container } = render(tray('a'))
    rerender(tray('b'))
    expect(container.querySelector('.ct-root')!.getAttribute('data-theme')).toBe('dark')
  })

  it('keeps nothing at all under an empty name, not even of a draft', async () => {
    render(<ChatProvider api={apiOf('ada')} storageKey=""><ChatTray layout="sidebar" storageKey="own" /></ChatProvider>)
    await known()
    const user = userEvent.setup()
    await user.type(field(), 'secret')
    await user.click(screen.getByRole('button', { name: 'Close the chat' }))
    expect([localStorage.length, sessionStorage.length]).toEqual([0, 0])
    await user.click(screen.getByRole('button', { name: 'Open the chat' }))
    expect(field().value).toBe('secret')
  })
})

it('a file that is read while the tray is closed and opened again is attached to what is shown then', async () => {
  const { opened, open } = gateway()
  const { user, container } = show(({ method }) => (method === 'POST' ? sse(answerFrames('Read.')) : undefined))
  const file = new File(['One.'], 'one.txt', { type: 'text/plain' })
  const read = vi.fn(() => opened.then(() => new TextEncoder().encode('One.').buffer))
  file.arrayBuffer = read
  fireEvent.change(container.querySelector('input[type=file]')!, { target: { files: [file] } })
  await waitFor(() => expect(read).toHaveBeenCalled())
  await user.click(screen.getByRole('button', { name: 'Close the chat' }))
  await user.click(screen.getByRole('button', { name: /^Open the chat/ }))
  open()
  expect(await screen.findByText('one.txt')).toBeTruthy()
})
