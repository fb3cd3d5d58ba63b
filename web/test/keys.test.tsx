import { act, fireEvent, render, screen, waitFor, within } from '@testing-library/react'
import { useRef, useState } from 'react'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { answerFrames, event, json } from './fakes'
import { chat, input, live, message, posts, settled, show, slow } from './shown'

beforeEach(() => {
  sessionStorage.setItem('chattray:k:conversation', '7')
})
const kept = () => chat([message('q1', 'user', 'First question'), message('a1', 'assistant', 'One.'), message('q2', 'user', 'Second\nquestion'), message('a2', 'assistant', 'Two.')])
const answers = ({ method, path }: { method: string; path: string }) => {
  if (path.endsWith('/feedback')) return method === 'DELETE' ? new Response(null, { status: 204 }) : json(message('a2', 'assistant', 'Two.'))
  return path.startsWith('/api/chats/7') ? kept() : undefined
}

describe('the last questions', () => {
  it('return to an empty input, and typed text is never replaced', async () => {
    const { user } = show(answers, {}, 'k')
    await screen.findByText('Two.')
    await user.click(input())
    await user.keyboard('{ArrowUp}')
    expect(input().value).toBe('Second\nquestion')
    input().setSelectionRange(0, 0)
    await user.keyboard('{ArrowUp}')
    expect(input().value).toBe('First question')
    await user.keyboard('{ArrowUp}')
    expect(input().value).toBe('First question')
    await user.keyboard('{ArrowDown}')
    expect(input().value).toBe('Second\nquestion')
    input().setSelectionRange(0, 0)
    await user.keyboard('{ArrowDown}')
    expect(input().value).toBe('Second\nquestion')
    input().setSelectionRange(15, 15)
    await user.keyboard('{ArrowDown}')
    expect(input().value).toBe('')
    await user.keyboard('mine{ArrowUp}')
    expect(input().value).toBe('mine')
  })
})

describe('the key of the tray', () => {
  const press = (key: string, more: object = {}) => act(() => fireEvent.keyDown(document.activeElement ?? document.body, { key, ctrlKey: true, ...more }))

  it('opens it with the focus in the input, closes it from within, and gives the focus back', async () => {
    show(answers, { layout: 'tray', defaultOpen: false }, 'k')
    const outside = document.body.appendChild(document.createElement('button'))
    outside.focus()
    press('/')
    await waitFor(() => expect(document.activeElement).toBe(input()))
    outside.focus()
    press('/')
    expect(document.activeElement).toBe(input())
    press('/')
    await screen.findByRole('button', { name: /^Open the chat/ })
    outside.remove()
  })

  it('is the one that the page names, and none if it says so; a key that the page has taken is left to it', async () => {
    const { unmount } = show(answers, { layout: 'tray', defaultOpen: false, shortcut: 'Mod+Shift+K' }, 'k')
    press('/')
    press('k')
    expect(screen.queryByLabelText('Message')).toBeNull()
    const take = (e: Event) => e.preventDefault()
    document.body.addEventListener('keydown', take)
    press('K', { shiftKey: true })
    document.body.removeEventListener('keydown', take)
    expect(screen.queryByLabelText('Message')).toBeNull()
    press('K', { shiftKey: true })
    await screen.findByLabelText('Message')
    unmount()
    localStorage.clear()
    show(answers, { layout: 'tray', defaultOpen: false, shortcut: false }, 'k')
    press('/')
    expect(screen.queryByLabelText('Message')).toBeNull()
  })

  it('closes the tray with the focus also where the page has the package twice', async () => {
    const copy = '../src/components/useShortcut.ts?copy'
    const { useShortcut } = (await import(copy)) as typeof import('../src/components/useShortcut')
    function Other() {
      const [shown, show] = useState(true)
      const input = useRef<HTMLInputElement>(null)
      const root = useRef<HTMLDivElement>(null)
      useShortcut({ shortcut: 'Mod+/', root, input, shown, show })
      return <div ref={root}>{shown && <input ref={input} aria-label="Other" />}</div>
    }
    show(answers, { layout: 'tray', defaultOpen: false }, 'k')
    render(<Other />)
    screen.getByLabelText('Other').focus()
    press('/')
    expect([screen.queryByLabelText('Other'), screen.queryByLabelText('Message')]).toEqual([null, null])
  })

  it('is in a list of keys', async () => {
    const { user } = show(answers, {}, 'k')
    await user.click(await screen.findByRole('button', { name: 'More options' }))
    await user.click(await screen.findByRole('menuitem', { name: 'Keyboard' }))
    expect((await screen.findByText('Open and close the chat')).parentElement!.textContent).toContain('Ctrl/')
    screen.getByText('Your last questions, in an empty input')
    await user.keyboard('{Escape}')
    await waitFor(() => expect(screen.queryByText('Your last questions, in an empty input')).toBeNull())
  })
})

it.each([['a new chat', ''], ['a chat', 'k']])('a panel that is opened while the question is on its way stays open when the service has it, in %s', async (_, key) => {
  const [first, second] = [live('r'), live('s')]
  const { user, calls } = show((call) => (call.method === 'POST' ? (posts(calls).length === 1 ? first : second).response : answers(call)), {}, key)
  if (key) await screen.findByText('Two.')
  await user.type(input(), 'x{Enter}')
  await user.click(await screen.findByRole('button', { name: 'More options' }))
  await user.click(await screen.findByRole('menuitem', { name: 'Keyboard' }))
  await screen.findByText('Open and close the chat')
  await act(async () => first.send(answerFrames('Three.'), true))
  await screen.findByText('Three.')
  screen.getByText('Open and close the chat')
  await user.type(input(), 'y{Enter}')
  await waitFor(() => expect(screen.queryByText('Open and close the chat')).toBeNull())
})

it('a panel stays open when a message that waited has its turn, and closes with the next question', async () => {
  const payload = { type: 'note', payload_id: 'p', data: {}, summary: 'Two orders', source: 'tool' }
  const [first, second, third] = [live('r'), live('s'), live('t')]
  const { user, calls } = show((call) => (call.method === 'POST' ? [first, second, third][posts(calls).length - 1]!.response : undefined), { payloadHandlers: { note: { render: () => <p>card</p>, onAccept: () => undefined } } })
  await user.type(input(), 'x{Enter}')
  act(() => first.send(answerFrames('A metal.').slice(0, -1)))
  await user.type(input(), 'and then?{Enter}')
  act(() => first.send(answerFrames('A metal.', { payloads: [payload], custom_payload: payload }).slice(-1), true))
  await waitFor(() => expect(posts(calls)).toHaveLength(2))
  screen.getByText('card')
  await act(async () => second.send(answerFrames('A noble one.'), true))
  await settled()
  screen.getByText('card')
  await user.type(input(), 'y{Enter}')
  await waitFor(() => expect(screen.queryByText('card')).toBeNull())
})

it.each([[1440, 'beside the tray'], [800, 'within the tray, above the answer']])('at a width of %d the list of keys is %s', async (width) => {
  const measured = vi.spyOn(HTMLElement.prototype, 'clientWidth', 'get').mockReturnValue(width)
  try {
    const { user, container } = show(answers, {}, 'k')
    await user.click(await screen.findByRole('button', { name: 'More options' }))
    await user.click(await screen.findByRole('menuitem', { name: 'Keyboard' }))
    const panel = (await screen.findByText('Open and close the chat')).closest<HTMLElement>('.ct-panel')!
    expect(panel.parentElement!.className.split(' ')[0]).toBe(width === 1440 ? 'ct-root' : 'ct-tray')
    expect(panel.compareDocumentPosition(container.querySelector('.ct-list')!)).toBe(Node.DOCUMENT_POSITION_FOLLOWING)
    expect(document.activeElement).toBe(panel)
  } finally {
    measured.mockRestore()
  }
})

describe('a rating', () => {
  it('is stored immediately, may have reasons and a comment, and is removed with the same thumb', async () => {
    const { user, calls } = show(answers, {}, 'k')
    await screen.findByText('Two.')
    const row = screen.getByText('Two.').closest<HTMLElement>('.ct-message')!
    const thumb = (name: string) => within(row).getByRole('button', { name })
    const told = () => calls.filter((c) => c.path.endsWith('/feedback')).map((c) => (c.method === 'DELETE' ? 'taken back' : c.body))
    await user.click(thumb('Bad answer'))
    expect(told()).toEqual([{ rating: 'down' }])
    expect(thumb('Bad answer').getAttribute('aria-pressed')).toBe('true')
    await user.click(await within(row).findByRole('button', { name: 'Wrong or missing sources' }))
    await user.click(within(row).getByRole('button', { name: 'Harmful' }))
    await user.click(within(row).getByRole('button', { name: 'Harmful' }))
    await user.type(within(row).getByLabelText(/What was wrong/), 'the second trial{Enter}')
    expect(told()[1]).toEqual({ rating: 'down', reasons: ['sources'], comment: 'the second trial' })
    await waitFor(() => expect(within(row).queryByLabelText(/What was wrong/)).toBeNull())
    expect(document.activeElement).toBe(thumb('Bad answer'))
    await user.click(thumb('Bad answer'))
    expect(told()[2]).toBe('taken back')
    await waitFor(() => expect(thumb('Bad answer').getAttribute('aria-pressed')).toBe('false'))
    await user.click(thumb('Good answer'))
    await user.click(thumb('Good answer'))
    expect(told().slice(3)).toEqual([{ rating: 'up' }, 'taken back'])
    await user.click(thumb('Bad answer'))
    await user.type(await within(row).findByLabelText(/What was wrong/), 'no{Escape}')
    expect(within(row).queryByLabelText(/What was wrong/)).toBeNull()
    expect(document.activeElement).toBe(thumb('Bad answer'))
  })

  it('keeps its comment until the comment is stored', async () => {
    let stored = 0
    const { user } = show((call) => (call.path.endsWith('/feedback') && ++stored === 2 ? json({ detail: 'busy', code: 'busy', status: 503 }, 503) : answers(call)), {}, 'k')
    await screen.findByText('Two.')
    const row = screen.getByText('Two.').closest<HTMLElement>('.ct-message')!
    await user.click(within(row).getByRole('button', { name: 'Bad answer' }))
    await user.type(await within(row).findByLabelText(/What was wrong/), 'the second trial{Enter}')
    await screen.findByRole('alert')
    expect(within(row).getByLabelText<HTMLInputElement>(/What was wrong/).value).toBe('the second trial')
    await user.type(within(row).getByLabelText(/What was wrong/), '{Enter}')
    await waitFor(() => expect(within(row).queryByLabelText(/What was wrong/)).toBeNull())
  })

  it('that fails restores the one that is stored, though another was given meanwhile; they are sent in their order', async () => {
    const answered = [slow(), slow()]
    let asked = 0
    const { user } = show((call) => (call.path.endsWith('/feedback') ? answered[asked++]!.response : answers(call)), {}, 'k')
    await screen.findByText('Two.')
    const row = screen.getByText('Two.').closest<HTMLElement>('.ct-message')!
    const thumb = (name: string) => within(row).getByRole('button', { name })
    const pressed = () => ['Good answer', 'Bad answer'].map((name) => thumb(name).getAttribute('aria-pressed'))
    const away = () => json({ detail: 'away', code: 'unavailable', status: 503 }, 503)
    await user.click(thumb('Good answer'))
    await user.click(thumb('Bad answer'))
    expect([asked, ...pressed()]).toEqual([1, 'false', 'true'])
    await act(async () => answered[0]!.go(away()))
    await waitFor(() => expect([asked, ...pressed()]).toEqual([2, 'false', 'true']))
    await act(async () => answered[1]!.go(away()))
    await waitFor(() => expect(pressed()).toEqual(['false', 'false']))
  })
})

describe('Escape', () => {
  /** Whether it was left to the page, which may close a dialog or leave the full screen with it. */
  const escape = () => fireEvent.keyDown(document.activeElement!, { key: 'Escape' })

  it('that closes a part of the tray does nothing else', async () => {
    const { user } = show((call) => (call.path.startsWith('/api/chats?') ? json({ items: [{ conversation_id: 7, chat_id: 'c', title: 'One', created_at: '2026-01-01T00:00:00Z', updated_at: '2026-01-01T00:00:00Z' }] }) : answers(call)), {}, 'k')
    const open = async (role: string, name: string | RegExp) => user.click((await screen.findAllByRole(role, { name })).at(-1)!)
    await screen.findByText('Two.')
    await open('button', 'Edit')
    await screen.findByRole('textbox', { name: 'Edit message' })
    expect([escape(), screen.queryByRole('textbox', { name: 'Edit message' })]).toEqual([false, null])
    await open('button', 'Bad answer')
    await screen.findByLabelText(/What was wrong/)
    expect([escape(), screen.queryByLabelText(/What was wrong/)]).toEqual([false, null])
    await open('button', 'More options')
    await open('menuitem', 'Keyboard')
    act(() => screen.getByRole('button', { name: 'Close panel' }).focus())
    expect([escape(), screen.queryByRole('button', { name: 'Close panel' })]).toEqual([false, null])
    await open('button', 'Chats')
    await open('button', 'Rename: One')
    expect([escape(), screen.queryByRole('textbox', { name: 'Rename' })]).toEqual([false, null])
    expect([escape(), screen.queryByRole('searchbox')]).toEqual([false, null])
    act(() => input().focus())
    expect(escape()).toBe(true)
  })

  it('that a dialog or a list of the page took, which is shown in a part of the tray, does not close the part', async () => {
    const { user } = show(answers, {}, 'k')
    await screen.findByText('Two.')
    await user.click(screen.getByRole('button', { name: 'More options' }))
    await user.click(await screen.findByRole('menuitem', { name: 'Keyboard' }))
    act(() => screen.getByRole('button', { name: 'Close panel' }).focus())
    const take = (e: Event) => e.preventDefault()
    document.addEventListener('keydown', take, { capture: true, once: true })
    escape()
    screen.getByRole('button', { name: 'Close panel' })
    escape()
    expect(screen.queryByRole('button', { name: 'Close panel' })).toBeNull()
  })

  it('closes a part of the tray also where the page has the package twice', async () => {
    const copy = '../src/state/keys.ts?copy'
    const { keepEscape } = (await import(copy)) as typeof import('../src/state/keys')
    onTestFinished(keepEscape())
    const { user } = show(answers, {}, 'k')
    await screen.findByText('Two.')
    await user.click(await screen.findByRole('button', { name: 'More options' }))
    await user.click(await screen.findByRole('menuitem', { name: 'Keyboard' }))
    await screen.findByRole('button', { name: 'Close panel' })
    act(() => input().focus())
    expect([escape(), screen.queryByRole('button', { name: 'Close panel' })]).toEqual([false, null])
  })

  /** How dialogs hear of Escape: from where, on its way down or up, and what they leave alone. */
  const dialogs: [string, EventTarget, boolean, (e: KeyboardEvent) => boolean][] = [
    ['Radix', document, true, (e) => e.defaultPrevented],
    ['Mantine', window, true, (e) => (e.target as Element).getAttribute('data-mantine-stop-propagation') === 'true'],
    ['Headless UI', window, false, (e) => e.defaultPrevented],
  ]
  it.each(dialogs)('that is for a part of the tray closes no dialog around it, as %s hears of it', async (_, from, capture, leaves) => {
    let closed = 0
    const dialog = (e: Event) => {
      if (!(e instanceof KeyboardEvent) || e.key !== 'Escape' || leaves(e)) return
      e.preventDefault()
      closed++
    }
    from.addEventListener('keydown', dialog, { capture })
    onTestFinished(() => from.removeEventListener('keydown', dialog, { capture }))
    const run = live('r')
    const { user } = show(({ method, path }) => {
      if (path.endsWith('/cancel') || path.endsWith('/feedback')) return json({})
      if (method === 'POST') return run.response
      if (path.startsWith('/api/chats?')) return json({ items: [{ conversation_id: 7, chat_id: 'c', title: 'One', created_at: '', updated_at: '' }] })
      return path.startsWith('/api/chats/7') ? chat([message('q1', 'user', 'Question'), message('a1', 'assistant', 'Two.\n\n| a |\n|---|\n| 1 |\n\nA fact [1].\n\n[1] First study, https://example.com/a')]) : undefined
    }, { commands: [{ name: 'own', title: 'Own', run: () => undefined }] }, 'k')
    await screen.findByText('Two.')
    const press = async (name: string) => user.click((await screen.findAllByRole('button', { name })).at(-1)!)
    await press('More options')
    await screen.findByRole('menuitem', { name: 'Keyboard' })
    escape()
    expect([closed, screen.queryByRole('menuitem')]).toEqual([0, null])
    for (const name of ['textbox', 'button']) {
      await press('Edit')
      await screen.findByRole('textbox', { name: 'Edit message' })
      if (name === 'button') act(() => screen.getByRole('button', { name: 'Cancel' }).focus())
      escape()
      expect([closed, screen.queryByRole('textbox', { name: 'Edit message' })]).toEqual([0, null])
    }
    await press('Source 1: First study,')
    await screen.findByText('example.com')
    escape()
    expect([closed, screen.queryByText('example.com')]).toEqual([0, null])
    await press('Show the whole table')
    await screen.findByRole('dialog', { hidden: true })
    const sort = await screen.findByRole('button', { name: 'Sort by a', hidden: true })
    act(() => sort.focus())
    escape()
    expect([closed, screen.queryByRole('dialog', { hidden: true })]).toEqual([0, null])
    for (const name of ['panel', 'input']) {
      await press('More options')
      await user.click(await screen.findByRole('menuitem', { name: 'Keyboard' }))
      await screen.findByRole('button', { name: 'Close panel' })
      if (name === 'input') act(() => input().focus())
      escape()
      expect([closed, screen.queryByRole('button', { name: 'Close panel' })]).toEqual([0, null])
    }
    await press('Bad answer')
    await screen.findByLabelText(/What was wrong/)
    escape()
    expect([closed, screen.queryByLabelText(/What was wrong/)]).toEqual([0, null])
    await user.type(input(), '/own')
    await screen.findAllByRole('option')
    escape()
    expect([closed, screen.queryByRole('option')]).toEqual([0, null])
    await press('Chats')
    await press('Rename: One')
    escape()
    expect([closed, screen.queryByRole('textbox', { name: 'Rename' })]).toEqual([0, null])
    await press('Delete: One')
    escape()
    expect([closed, screen.queryByRole('button', { name: 'Delete' })]).toEqual([0, null])
    act(() => screen.getByRole('searchbox').focus())
    escape()
    expect([closed, screen.queryByRole('searchbox')]).toEqual([0, null])
    await user.type(input(), 'slow{Enter}')
    await screen.findByRole('button', { name: 'Stop' })
    run.send([event('stream_start', { run_id: 'r', conversation_id: 7, user_message_id: 'q' })])
    escape()
    expect(closed).toBe(0)
    run.send([event('stream_end', { status: 'cancelled', message_id: 'a' })], true)
    await settled()
    act(() => input().focus())
    escape()
    expect(closed).toBe(1)
  })

  it('that stops an answer does nothing else', async () => {
    const { response } = live('r')
    const { user } = show((call) => (call.method === 'POST' ? response : answers(call)), {}, 'k')
    await screen.findByText('Two.')
    await user.type(input(), 'x{Enter}')
    await screen.findByRole('button', { name: 'Stop' })
    expect(escape()).toBe(false)
  })
})

it('the diagnostics of one answer are never shown as those of another', async () => {
  const me = { user_id: 'u', name: 'u', roles: [], may: { diagnostics: true } }
  const { user, calls } = show((call) => {
    if (call.path === '/api/me') return json(me)
    if (call.path === '/api/chat/runs/r1/diagnostics') return json({ model: 'the first model' })
    if (call.path.startsWith('/api/chats/7')) return chat([message('q1', 'user', 'q'), message('a1', 'assistant', 'One.', { run_id: 'r1' }), message('q2', 'user', 'q'), message('a2', 'assistant', 'Two.', { run_id: 'r2' })])
  }, {}, 'k')
  const [first, second] = await screen.findAllByRole('button', { name: 'Diagnostics' })
  await user.click(first!)
  await screen.findByText('the first model')
  await user.click(second!)
  await waitFor(() => expect(calls.some((c) => c.path === '/api/chat/runs/r2/diagnostics')).toBe(true))
  expect(screen.queryByText('the first model')).toBeNull()
})

it('a tool’s whole output that cannot be read is an error that is shown', async () => {
  const { user } = show((call) => (call.path.startsWith('/api/chats/7') ? chat([message('q1', 'user', 'q'), message('a1', 'assistant', '[[tool:0]]Done.', { run_id: 'r1', tool_history: [{ tool_name: 'find', input: {}, output: 'x'.repeat(16_000), is_error: false, duration_ms: 1 }] })]) : call.path.includes('/tools/') ? json({ detail: 'away', code: 'unavailable', status: 503 }, 503) : undefined), {}, 'k')
  await user.click(await screen.findByRole('button', { name: /Find/ }))
  await user.click(await screen.findByRole('button', { name: 'Show whole output' }))
  await screen.findByRole('alert')
})
