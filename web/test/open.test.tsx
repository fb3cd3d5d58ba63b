import { act, render, screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it, vi } from 'vitest'
import { ChatProvider, ChatTray, Composer, Empty, Header, MessageList, payloadHandler, registerPayloadHandler, Suggestions, useChatState, useComposer, useStickToEnd, useThreads, type StandardSchema, type TrayComponents } from '../src'
import { answerFrames, event, fakeApi, frame, gave, json, runs, sse } from './fakes'
import { input, live, message, posts, settled, show, slow } from './shown'

const answering = (text: string, payload: object = {}) => ({ method }: { method: string }) => (method === 'POST' ? sse(answerFrames(text, payload)) : undefined)

describe('components', () => {
  it('wrap the parts of a tray, and get their props and the part itself', async () => {
    const seen: Record<string, string[]> = {}
    const wrap = (name: string) => (props: object & { children: React.ReactNode }) => {
      seen[name] = Object.keys(props)
      return <div data-testid={name}>{props.children}</div>
    }
    const names = ['Message', 'Answer', 'UserMessage', 'Composer', 'Header', 'Empty', 'ToolCall', 'Suggestions', 'Actions'] as const
    const components = Object.fromEntries(names.map((name) => [name, wrap(name)])) as TrayComponents
    const { user } = show(({ method }) => (method === 'POST' ? sse([
      event('stream_start', { run_id: 'r', conversation_id: 7 }), runs('t', 'look', {}), ...gave('t', 'o'),
      ...answerFrames('An answer.', { suggested_values: [{ label: 'More', value: 'more' }] }).slice(1),
    ]) : undefined), { components })
    expect(within(screen.getByTestId('Empty')).getByText('How can I help?')).toBeTruthy()
    await user.type(within(screen.getByTestId('Composer')).getByLabelText('Message'), 'x{Enter}')
    await settled()
    for (const name of names.filter((n) => n !== 'Empty')) expect(screen.getAllByTestId(name).length, name).toBeGreaterThan(0)
    expect(within(screen.getAllByTestId('Message')[0]!).getByTestId('UserMessage')).toBeTruthy()
    expect(seen.Answer).toEqual(expect.arrayContaining(['message', 'last', 'busy', 'onAction', 'children']))
    expect(seen.ToolCall).toEqual(expect.arrayContaining(['tool', 'children']))
  })

  it('also replace code, links and images in a text', async () => {
    const { user } = show(answering('```js\n1\n```\n\n[there](https://1.2/3) ![seen](https://1.2/3.png)'), {
      components: { Code: ({ language, children }) => <div data-testid="Code">{language}{children}</div>, Link: ({ href, children }) => <span data-testid="Link" title={href}>{children}</span>, Image: ({ src, children }) => <span data-testid="Image" title={src}>{children}</span> },
    })
    await user.type(input(), 'x{Enter}')
    await settled()
    expect(screen.getByTestId('Code').textContent).toContain('js')
    expect(within(screen.getByTestId('Link')).getByRole('link').getAttribute('href')).toBe('https://1.2/3')
    expect(screen.getByTestId('Image').title).toBe('https://1.2/3.png')
  })

  it('replace a part that they leave out, also below a provider of another tray', async () => {
    const { user } = show(answering('An answer.'), { components: { Header: () => <h1>Mine</h1>, Actions: () => null } })
    await user.type(input(), 'x{Enter}')
    await settled()
    expect(screen.getByRole('heading', { name: 'Mine' })).toBeTruthy()
    expect(screen.queryByRole('button', { name: 'New chat' })).toBeNull()
    expect(screen.queryByRole('button', { name: 'Good answer' })).toBeNull()
  })

  it('are parts on their own, with a class and children', () => {
    render(<ChatProvider api={fakeApi(() => undefined).api} storageKey=""><Header className="mine" title="T"><b>more</b></Header><Empty className="e"><i>end</i></Empty><Composer className="c"><u>under</u></Composer><Suggestions onAction={() => undefined} message={{ ...message('a', 'assistant', ''), suggested_values: [{ label: 'V', value: 'v' }] } as never} className="s" /></ChatProvider>)
    expect(document.querySelector('.ct-head.mine b')?.textContent).toBe('more')
    expect(document.querySelector('.ct-welcome.e i')?.textContent).toBe('end')
    expect(document.querySelector('.ct-composer.c u')?.textContent).toBe('under')
    expect(document.querySelector('.ct-suggestions.s')?.textContent).toBe('V')
    expect(document.querySelectorAll('.ct-head button')).toHaveLength(0)
  })

  it('show and open payloads outside of a tray, as registered', async () => {
    const onAccept = vi.fn()
    const removed = [registerPayloadHandler('at_once', { inline: () => <p>at once</p> }), registerPayloadHandler('opened', { render: () => <p>opened</p>, onAccept })]
    const payloads = ['at_once', 'opened'].map((type) => ({ payload_id: type, type, summary: type, data: {} }))
    const { api, calls } = fakeApi((call) => (call.path.includes('/resolve') ? json({ ...payloads[1], outcome: 'accepted' }) : answering('Two.', { payloads, custom_payload: payloads[1] })(call)))
    const user = userEvent.setup()
    render(<ChatProvider api={api} storageKey=""><MessageList /><Composer /></ChatProvider>)
    await user.type(input(), 'x{Enter}')
    await screen.findByText('at once')
    const card = screen.getByRole('button', { name: /opened/ })
    await user.click(card)
    expect(screen.getByText('opened', { selector: 'p' })).toBeTruthy()
    await user.click(card)
    expect(screen.queryByText('opened', { selector: 'p' })).toBeNull()
    await user.click(card)
    await user.click(screen.getByRole('button', { name: 'Accept' }))
    await waitFor(() => expect(screen.queryByText('opened', { selector: 'p' })).toBeNull())
    expect(onAccept).toHaveBeenCalledTimes(1)
    expect(calls.filter((c) => c.path.includes('/resolve'))).toHaveLength(1)
    removed.forEach((remove) => remove())
  })
})

describe('toolRenderers', () => {
  it('show the calls of a tool in the answer, live and when it is kept', async () => {
    const { response, send } = live('r')
    const { user } = show(({ method }) => (method === 'POST' ? response : undefined), { toolRenderers: { find_orders: ({ tool, children }) => <div><b>{tool.status}: {tool.output}</b>{children}</div> } })
    await user.type(input(), 'x{Enter}')
    act(() => send([event('stream_start', { run_id: 'r', conversation_id: 7 }), runs('t', 'find_orders', {})]))
    await screen.findByText('running:')
    expect(screen.getByRole('button', { name: /^Find orders/ })).toBeTruthy()
    act(() => send([...gave('t', '3'), ...answerFrames('Three.').slice(1)], true))
    await screen.findByText('completed: 3')
  })
})

/** A schema like those of zod and similar libraries. */
const schema = (late = false): StandardSchema<unknown, { n: number }> => ({
  '~standard': {
    version: 1, vendor: 'test', validate: (value) => {
      const n = (value as { n?: unknown }).n
      const result = typeof n === 'string' ? { value: { n: Number(n) } } : { issues: [{ message: 'no number', path: ['n'] }] }
      return late ? Promise.resolve(result) : result
    },
  },
})

describe('a payload handler', () => {
  const payload = { payload_id: 'p1', type: 'thing', data: { n: '4' }, summary: 'A thing' }

  it('shows what is inline in the answer, with the buttons of a decision, and opens no panel', async () => {
    const accepted = vi.fn()
    const { user, container } = show(({ method, path }) => (path.includes('/resolve') ? json({ ...payload, outcome: 'accepted' }) : method === 'POST' ? sse(answerFrames('x', { payloads: [payload], custom_payload: payload })) : undefined), {
      payloadHandlers: { thing: { inline: (d) => <p>inline {JSON.stringify(d)}</p>, onAccept: accepted } },
    })
    await user.type(input(), 'x{Enter}')
    await screen.findByText('inline {"n":"4"}')
    expect(container.querySelector('.ct-panel')).toBeNull()
    await user.click(screen.getByRole('button', { name: 'Accept' }))
    await screen.findByText('Accepted', { selector: 'em' })
    expect(accepted).toHaveBeenCalledWith({ n: '4' }, expect.objectContaining({ payload_id: 'p1' }))
    expect(screen.queryByRole('button', { name: 'Accept' })).toBeNull()
  })

  it.each([[false], [true]])('gets what comes out of its schema (late: %s)', async (late) => {
    const accepted = vi.fn()
    const { user } = show(({ method, path }) => (path.includes('/resolve') ? json(payload) : method === 'POST' ? sse(answerFrames('x', { payloads: [payload], custom_payload: payload })) : undefined), {
      payloadHandlers: { thing: payloadHandler({ schema: schema(late), inline: (d) => <p>twice {d.n * 2}</p>, onAccept: accepted }) },
    })
    await user.type(input(), 'x{Enter}')
    await screen.findByText('twice 8')
    await user.click(screen.getByRole('button', { name: 'Accept' }))
    await waitFor(() => expect(accepted).toHaveBeenCalledWith({ n: 4 }, expect.anything()))
  })

  it('shows what does not fit its schema as JSON, and does not accept it', async () => {
    const odd = { ...payload, data: { n: true } }
    const accepted = vi.fn()
    const take = registerPayloadHandler('thing', { schema: schema(), inline: (d) => <p>twice {d.n * 2}</p>, onAccept: accepted })
    const { user } = show(answering('x', { payloads: [odd], custom_payload: odd }))
    await user.type(input(), 'x{Enter}')
    await screen.findByText(/"n": true/)
    await user.click(screen.getByRole('button', { name: 'Accept' }))
    expect((await screen.findByRole('alert')).textContent).toBe('n: no number')
    expect(accepted).not.toHaveBeenCalled()
    take()
  })

  it('of a look-up has a line at the end of the answer, and the rest on request', async () => {
    const three = [1, 2, 3].map((n) => ({ payload_id: `p${n}`, type: 'found', data: { n }, summary: `Look-up ${n}` }))
    const { user, container } = show(answering('x', { payloads: three, custom_payload: three[2] }), { payloadHandlers: { found: { render: () => <p>found</p> } } })
    await user.type(input(), 'x{Enter}')
    await screen.findByText('Look-up 3')
    expect(screen.queryByText('Look-up 1')).toBeNull()
    expect(container.querySelector('.ct-panel')).toBeNull()
    await user.click(screen.getByRole('button', { name: '2 more results' }))
    await user.click(screen.getByText('Look-up 1'))
    expect(await screen.findByText('found')).toBeTruthy()
  })
})

describe('hooks', () => {
  it('useChatState renders only when what is selected changes', async () => {
    const { response, send } = live('r')
    const renders = { title: 0, made: 0 }
    function Title() {
      renders.title++
      return <b>{useChatState((s) => s.title)}</b>
    }
    function Made() {
      renders.made++
      const { busy } = useChatState((s) => ({ busy: s.isLoading }))
      return <i>{busy ? 'busy' : 'idle'}</i>
    }
    const { api } = fakeApi(({ method }) => (method === 'POST' ? response : undefined))
    render(<ChatProvider api={api} storageKey=""><Title /><Made /><Typed /></ChatProvider>)
    const user = userEvent.setup()
    await user.type(screen.getByLabelText('mine'), 'hello')
    await user.click(screen.getByText('go'))
    await screen.findByText('busy')
    const before = { ...renders }
    act(() => send([event('stream_start', { run_id: 'r', conversation_id: 7 }), ...'abcdef'.split('').map((content) => frame('text', { content }, { message_id: 'M', delta: true }))]))
    await waitFor(() => expect(screen.getByTestId('said').textContent).toBe('abcdef'))
    expect(renders).toEqual(before)
  })

  function Typed() {
    const { text, setText, send, canSend, files, addFiles, removeFile } = useComposer()
    const said = useChatState((s) => (s.run ? s.run.fold.messages.map((m) => m.props.content).join('') : ''))
    return (
      <>
        <input aria-label="mine" value={text} onChange={(e) => setText(e.target.value)} /><button disabled={!canSend} onClick={send}>go</button><span data-testid="said">{said}</span>
        <input type="file" aria-label="file" onChange={(e) => e.target.files && addFiles(e.target.files)} />{files.map((f, i) => <button key={i} onClick={() => removeFile(i)}>{f.name}</button>)}
      </>
    )
  }

  it('useComposer has the text, the files and what sends them', async () => {
    const { api, calls } = fakeApi(answering('x'))
    render(<ChatProvider api={api} storageKey=""><Typed /></ChatProvider>)
    const user = userEvent.setup()
    await user.upload(screen.getByLabelText('file'), [new File(['one'], 'a.txt', { type: 'text/plain' })])
    await user.upload(screen.getByLabelText('file'), [new File(['two'], 'b.txt', { type: 'text/plain' })])
    await user.click(await screen.findByText('b.txt'))
    expect(screen.getByText('go').hasAttribute('disabled')).toBe(false)
    await user.type(screen.getByLabelText('mine'), 'hi')
    await user.click(screen.getByText('go'))
    await waitFor(() => expect(posts(calls)[0]).toMatchObject({ message: 'hi', attachments: [{ name: 'a.txt', content: 'one' }] }))
    expect(screen.getByLabelText<HTMLInputElement>('mine').value).toBe('')
  })

  it('useThreads lists, searches and changes the chats', async () => {
    const items = ['one', 'two'].map((title, i) => ({ conversation_id: i + 1, chat_id: title, title, created_at: '', updated_at: '' }))
    const { api, calls } = fakeApi(({ path, method }) => (path.startsWith('/api/chats?') ? json({ items: path.includes('q=two') ? items.slice(1) : items }) : method === 'PATCH' ? json(items[0]) : undefined))
    function Threads() {
      const { items: list, setQuery, rename, remove, status } = useThreads()
      return <>{status}<button onClick={() => setQuery('two')}>search</button>{list.map((c) => <p key={c.conversation_id}><span>{c.title}</span><button onClick={() => void rename(c.conversation_id, 'new')}>rename {c.title}</button><button onClick={() => void remove(c.conversation_id)}>remove {c.title}</button></p>)}</>
    }
    render(<ChatProvider api={api} storageKey=""><Threads /></ChatProvider>)
    const user = userEvent.setup()
    await user.click(await screen.findByText('rename one'))
    await screen.findByText('new')
    await user.click(screen.getByText('remove new'))
    await waitFor(() => expect(screen.queryByText('new')).toBeNull())
    await user.click(screen.getByText('search'))
    await waitFor(() => expect(calls.some((c) => c.path.includes('q=two'))).toBe(true))
  })

  it('useThreads does not bring back a chat that was deleted while a list was being read', async () => {
    const items = ['one', 'two'].map((title, i) => ({ conversation_id: i + 1, chat_id: title, title, created_at: '', updated_at: '' }))
    const { response, go } = slow()
    const { api, calls } = fakeApi(({ path, method }) => {
      if (!path.startsWith('/api/chats?')) return undefined
      if (!path.includes('q=two')) return json({ items })
      return calls.some((c) => c.method === 'DELETE') || method !== 'GET' ? json({ items: [] }) : response
    })
    function Threads() {
      const { items: list, setQuery, remove, status } = useThreads()
      return <><output>{status}</output><button onClick={() => setQuery('two')}>search</button>{list.map((c) => <button key={c.conversation_id} onClick={() => void remove(c.conversation_id)}>remove {c.title}</button>)}</>
    }
    render(<ChatProvider api={api} storageKey=""><Threads /></ChatProvider>)
    const user = userEvent.setup()
    await screen.findByText('remove two')
    await user.click(screen.getByText('search'))
    await waitFor(() => expect(calls.some((c) => c.path.includes('q=two'))).toBe(true))
    await user.click(screen.getByText('remove two'))
    await waitFor(() => expect(screen.queryByText('remove two')).toBeNull())
    go(json({ items: items.slice(1) }))
    await waitFor(() => expect(screen.getByRole('status').textContent).toBe('ready'))
    expect(screen.queryByText('remove two')).toBeNull()
  })

  it('useStickToEnd serves a list of one’s own', () => {
    function List() {
      const { scroller, content, stuck } = useStickToEnd()
      return <div ref={scroller}><div ref={content}>{stuck ? 'at the end' : 'above'}</div></div>
    }
    render(<ChatProvider api={fakeApi(() => undefined).api} storageKey=""><List /><ChatTray /></ChatProvider>)
    expect(screen.getByText('at the end')).toBeTruthy()
  })
})
