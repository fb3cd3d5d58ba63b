import { act, render, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { Profiler, StrictMode, useState } from 'react'
import { expect, it, vi } from 'vitest'
import { ChatProvider, ChatTray, Markdown, useGeneralChat, type TrayComponents } from '../src'
import { MarkdownChunk } from '../src/markdown/Markdown'
import { LabelsProvider } from '../src/state/words'
import { answerFrames, event, fakeApi, frame, json, sse } from './fakes'
import { chat, input, live, message, settled, show } from './shown'

const payload = { type: 'card', payload_id: 'p1', data: { n: 1 }, summary: 'A card', source: 'tool' }

it('a page that gives new props at every render, in strict mode, asks for everything once and renders no more than it must', async () => {
  const stream = live('run-1')
  const { api, calls } = fakeApi(({ method, path }) => (method === 'POST' && path.startsWith('/api/chat/stream') ? stream.response : undefined))
  let renders = 0
  let completed = 0
  let themes = 0
  function Page() {
    renders++
    const [, told] = useState({})
    useGeneralChat()
    return (
      <ChatTray
        layout="sidebar" labels={{ title: 'Help' }} starters={[]} commands={[]} openPayloads="all" shortcut="Alt+K"
        payloadHandlers={{ card: { render: () => <p>A card of the page</p> } as never }}
        onClientAction={() => true} onApplyToDocument={async () => undefined}
        onThemeChange={() => {
          if (++themes < 200) told({})
        }}
        onComplete={() => {
          completed++
          told({})
        }}
      />
    )
  }
  render(<StrictMode><ChatProvider api={api} storageKey="" context={{ current_page: 'p' }} labels={{ send: 'Send' }} clientTools={[{ name: 't', description: 'd', handler: () => 1 }]}><Page /></ChatProvider></StrictMode>)
  const user = userEvent.setup()
  await user.type(input(), 'one{Enter}')
  act(() => stream.send([event('stream_start', { run_id: 'run-1', conversation_id: 7, user_message_id: 'q0' })]))
  for (const content of 'abcdefgh') act(() => stream.send([frame('text', { content }, { message_id: 'M1', block_id: 'B1', delta: true })]))
  act(() => stream.send(answerFrames('Answer.', { custom_payload: payload, payloads: [payload] }).slice(-1), true))
  await screen.findByText('abcdefgh')
  expect(await screen.findByText('A card of the page')).toBeTruthy()
  expect(calls.filter((c) => c.method === 'POST')).toHaveLength(1)
  expect(calls.find((c) => c.method === 'POST')!.body.client_tools).toHaveLength(1)
  expect(completed).toBe(1)
  expect(renders).toBeLessThan(100)
})

it('a tray that is removed in the middle of an answer leaves nothing running, and another one follows the run', async () => {
  sessionStorage.setItem('chattray:k:conversation', '7')
  const [first, second] = [live('run-1'), live('run-1')]
  let signal: AbortSignal | null | undefined
  const { api, calls } = fakeApi(({ method, path }, given) => {
    if (method === 'POST') return ((signal = given), first.response)
    if (path.startsWith('/api/chats/7')) return calls.some((c) => c.method === 'POST') ? chat([message('q0', 'user', 'one')], { active_run_id: 'run-1' }) : chat([])
    if (path.includes('/runs/run-1/stream')) return second.response
    return path.startsWith('/api/chats') ? json({ items: [] }) : undefined
  })
  const tree = (on: boolean) => <StrictMode>{on && <ChatProvider api={api} storageKey="k"><ChatTray layout="sidebar" /></ChatProvider>}</StrictMode>
  const { rerender } = render(tree(true))
  const user = userEvent.setup()
  await user.type(input(), 'one{Enter}')
  act(() => first.send([event('stream_start', { run_id: 'run-1', conversation_id: 7, user_message_id: 'q0' }), frame('text', { content: 'Begun' }, { message_id: 'M1', block_id: 'B1', delta: true })]))
  await screen.findByText('Begun')
  rerender(tree(false))
  expect(signal?.aborted).toBe(true)
  rerender(tree(true))
  await screen.findByText('one')
  act(() => second.send(answerFrames('Answer.').slice(1), true))
  await screen.findByText('Answer.')
  expect(calls.filter((c) => c.method === 'POST')).toHaveLength(1)
})

it('words that the page writes into its markup cost nothing at its next render', async () => {
  const me = { user_id: 'u', name: 'u', roles: [], may: { diagnostics: true } }
  const { api, calls } = fakeApi(({ method, path }) => {
    if (method === 'POST') return sse(answerFrames('An answer'))
    if (path === '/api/me') return json(me)
    if (path.includes('/diagnostics')) return json({ model: 'm' })
    if (path.startsWith('/api/tools')) return json({ items: [{ name: 'find', description: 'Finds.' }] })
    return path.startsWith('/api/documents') ? json({ items: [{ id: 'd', title: 'Gold' }] }) : path.startsWith('/api/chats?') ? json({ items: [] }) : undefined
  })
  const page = (n: number) => <ChatProvider api={api} storageKey="" labels={{ send: 'Go', media: (type) => type + n }}><ChatTray layout="sidebar" labels={{ document: 'Paper', usage: () => String(n) }} /></ChatProvider>
  const { rerender } = render(page(0))
  const user = userEvent.setup()
  await user.type(input(), 'one{Enter}')
  await screen.findByText('An answer')
  await user.click(await screen.findByLabelText('Diagnostics'))
  await screen.findByText('m')
  await user.type(input(), '@')
  await screen.findByText('Paper')
  await act(async () => undefined)
  // The title of the new chat is asked for after some time, however often the page renders.
  const asked = () => calls.filter((c) => !c.path.endsWith('?limit=1')).map((c) => c.path)
  const before = asked()
  for (let n = 1; n < 5; n++) {
    rerender(page(n))
    await act(async () => undefined)
  }
  expect(asked()).toEqual(before)
  expect(screen.getAllByRole('option')).toHaveLength(2)
})

it('a text is not read again for words that are the same', () => {
  let drawn = 0
  const Link = () => {
    drawn++
    return null
  }
  const components = { Link }
  const page = (title: string) => <LabelsProvider labels={{ title, copy: 'Take' }}><Markdown text="[a](https://example.com)" components={components} /></LabelsProvider>
  const { rerender } = render(page('Help'))
  const first = drawn
  for (let n = 0; n < 5; n++) rerender(page('Help'))
  expect(drawn).toBe(first)
  rerender(page('Hilfe'))
  expect(drawn).toBeGreaterThan(first)
})

it('a text is not parsed again for words that it does not show', () => {
  let parsed = 0
  const plugins = [() => void parsed++]
  const page = (n: number, text: string, footnotes = 'Notes') => (
    <LabelsProvider labels={{ media: (type) => type + n, footnotes, footnoteBack: (note) => `${n}, ${note}` }}><MarkdownChunk text={text} plugins={plugins} /></LabelsProvider>
  )
  const { rerender } = render(page(0, 'Plain'))
  for (let n = 1; n < 5; n++) rerender(page(n, 'Plain'))
  expect(parsed).toBe(1)
  const noted = 'Noted[^1]\n\n[^1]: Here.'
  rerender(page(6, noted))
  screen.getByLabelText('6, 1')
  rerender(page(7, noted))
  screen.getByLabelText('7, 1')
  rerender(page(7, noted, 'Fussnoten'))
  screen.getByText('Fussnoten')
})

it('while an answer streams, neither a complete message nor the composer is rendered', async () => {
  const stream = live('run-2')
  const { api } = fakeApi(({ method, path }) => {
    if (method === 'POST') return stream.response
    if (path.startsWith('/api/chats/7')) return chat([message('q0', 'user', 'one'), message('a0', 'assistant', 'First.')])
    return undefined
  })
  sessionStorage.setItem('chattray:r:conversation', '7')
  const renders = { message: 0, composer: 0, live: 0 }
  const components: TrayComponents = {
    Message: ({ message: shown, children }) => <Profiler id={shown.id} onRender={() => void (shown.id === 'live' ? renders.live++ : renders.message++)}>{children}</Profiler>,
    Composer: ({ children }) => <Profiler id="composer" onRender={() => void renders.composer++}>{children}</Profiler>,
  }
  render(<ChatProvider api={api} storageKey="r"><ChatTray layout="sidebar" components={components} /></ChatProvider>)
  await screen.findByText('First.')
  await userEvent.setup().type(input(), 'two{Enter}')
  act(() => stream.send([event('stream_start', { run_id: 'run-2', conversation_id: 7, user_message_id: 'q1' }), frame('text', { content: 'a' }, { message_id: 'M1', block_id: 'B1', delta: true })]))
  await screen.findByText('a')
  const before = { ...renders }
  for (const content of 'bcdefgh') {
    act(() => stream.send([frame('text', { content }, { message_id: 'M1', block_id: 'B1', delta: true })]))
    await screen.findByText(`a${'bcdefgh'.slice(0, 'bcdefgh'.indexOf(content) + 1)}`)
  }
  expect(renders.live).toBeGreaterThan(before.live)
  expect({ ...renders, live: 0 }).toEqual({ ...before, live: 0 })
})

it('when an answer begins and ends, only messages that change are drawn again; the buttons and the page’s parts of the others know it', async () => {
  const stream = live('r')
  const version = { number: 2, count: 2, previous_id: 'v' }
  const messages = Array.from({ length: 20 }, (_, i) => [message(`m${i}`, 'user', `Question ${i}`, { version }), message(`n${i}`, 'assistant', `Answer ${i}`, { version, run_id: `n${i}`, usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 } })]).flat()
  const heard: boolean[] = []
  const components: TrayComponents = { UserMessage: ({ message, busy, children }) => {
    if (message.id === 'm0') heard.push(busy)
    return children
  } }
  sessionStorage.setItem('chattray:k:conversation', '7')
  const { user } = show(({ method, path }) => path === '/api/me' ? json({ user_id: 'u', name: 'u', roles: [], may: { diagnostics: true } }) : method === 'POST' ? stream.response : path.startsWith('/api/chats/7') ? chat(messages) : undefined, { components }, 'k')
  await screen.findByText('Answer 19')
  const buttons = () => [...document.querySelectorAll<HTMLButtonElement>('.ct-message button:is([aria-label=Edit], [aria-label="Previous version"])')]
  await waitFor(() => expect(buttons()).toHaveLength(60))
  await screen.findAllByText('1 tokens in, 1 out')
  const free = () => [...new Set(buttons().map((b) => !b.disabled))]
  expect(free()).toEqual([true])
  await user.type(input(), 'x')
  // Each message that is drawn shows its time.
  const times = vi.spyOn(Date.prototype, 'toDateString')
  const drawn = () => times.mock.calls.length / 2
  await user.keyboard('{Enter}')
  await screen.findByRole('button', { name: 'Stop' })
  expect([drawn() < 4, free(), heard.at(-1)]).toEqual([true, [false], true])
  await act(async () => stream.send(answerFrames('The last one.'), true))
  await settled()
  await screen.findByText('The last one.')
  expect([drawn() < 8, free(), heard.at(-1)]).toEqual([true, [true], false])
})
