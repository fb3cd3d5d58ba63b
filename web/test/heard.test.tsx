import { act, render, screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it } from 'vitest'
import { ChatProvider, ChatTray, Markdown } from '../src'
import { DocumentPane, useDocument } from '../src/documents'
import { block } from './blocks'
import { answerFrames, event, fakeApi, frame, json, sse } from './fakes'
import { input, live, show } from './shown'

const said = () => screen.getAllByRole('status')[0]!.textContent!

/** A tray whose answer is being written. */
async function writing() {
  const { response, send } = live('r')
  const shown = show(({ method }) => (method === 'POST' ? response : undefined))
  await shown.user.type(input(), 'x{Enter}')
  act(() => send([event('stream_start', { run_id: 'r', conversation_id: 7 }), event('block_start', { block_id: 'B1', type: 'llm' })]))
  return { ...shown, send }
}

describe('a user who listens hears', () => {
  it('where the focus is when the tray opens: the button is removed after the focus has moved', async () => {
    const { user } = show(() => undefined, { layout: 'tray' })
    const launcher = screen.getByRole('button', { name: 'Open the chat' })
    let there: boolean | undefined
    document.addEventListener('focusin', ({ target }) => target instanceof HTMLTextAreaElement && (there = launcher.isConnected))
    await user.click(launcher)
    expect(there).toBe(true)
    expect(document.activeElement).toBe(input())
    expect(launcher.isConnected).toBe(false)
  })

  it('why an answer does not go on', async () => {
    const { send } = await writing()
    act(() => send([frame('loading', { message: 'Waiting', code: 'waiting_for_model' }, { message_id: 'ML', block_id: 'B1' })]))
    await waitFor(() => expect(said()).toBe('The model does not answer yet; trying again soon…'))
  })

  it('that a message waits for its turn', async () => {
    const { user } = await writing()
    await user.type(input(), 'and then?{Enter}')
    await waitFor(() => expect(said()).toBe('Waiting messages: and then?'))
  })

  it('that an answer is complete, then that a panel opened, then that the message that waited is being answered', async () => {
    const payload = { type: 'note', payload_id: 'p', data: {}, summary: 'Two orders', source: 'tool' }
    const first = live('r')
    let asked = 0
    const { user } = show(({ method }) => (method === 'POST' ? (++asked === 1 ? first.response : live('s').response) : undefined), { openPayloads: 'all', payloadHandlers: { note: { render: () => <p>card</p> } } })
    await user.type(input(), 'x{Enter}')
    act(() => first.send(answerFrames('A metal.').slice(0, -1)))
    await user.type(input(), 'and then?{Enter}')
    await waitFor(() => expect(said()).toBe('Waiting messages: and then?'))
    act(() => first.send(answerFrames('A metal.', { payloads: [payload], custom_payload: payload }).slice(-1), true))
    await waitFor(() => expect(asked).toBe(2))
    const words = () => [...screen.getAllByRole('status')[0]!.children].map((e) => e.textContent)
    await waitFor(() => expect(words()).toEqual(['The answer is complete.', 'Two orders opened beside the chat.', 'The assistant is answering.']))
    // Each is heard once: what is added, and not the whole.
    expect(screen.getAllByRole('status')[0]!.getAttribute('aria-atomic')).toBe('false')
  })

  it('what an answer waits for, when the tray is shown while it waits', async () => {
    const { response, send } = live('r')
    const { api } = fakeApi(({ method }) => (method === 'POST' ? response : undefined))
    const page = (key: string) => <ChatProvider api={api} storageKey=""><ChatTray key={key} layout="sidebar" /></ChatProvider>
    const { rerender } = render(page('first'))
    await userEvent.type(input(), 'x{Enter}')
    act(() => send([event('stream_start', { run_id: 'r', conversation_id: 7 }), event('block_start', { block_id: 'B1', type: 'llm' }), frame('loading', { message: 'Waiting', code: 'waiting_for_model' }, { message_id: 'ML', block_id: 'B1' })]))
    await waitFor(() => expect(said()).toBe('The model does not answer yet; trying again soon…'))
    rerender(page('second'))
    await waitFor(() => expect(said()).toBe('The model does not answer yet; trying again soon…'))
  })

  it('how many chats were found', async () => {
    const { user } = show(({ path }) => (path.startsWith('/api/chats?') ? json({ items: [] }) : undefined))
    await user.click(screen.getByRole('button', { name: 'Chats' }))
    await user.type(await screen.findByLabelText('Search chats'), 'zz')
    await waitFor(() => expect(said()).toBe('Nothing found.'))
  })

  it('a question once', async () => {
    const { user } = show(({ method }) => (method === 'POST' ? sse(answerFrames('A metal.')) : undefined))
    await user.type(input(), 'What is gold?{Enter}')
    const question = await screen.findByRole('article', { name: 'You' })
    expect(within(question).getByRole('group').getAttribute('aria-label')).toBe('You:')
  })

  it('a payload as one button', async () => {
    const payload = { type: 'note', payload_id: 'p', data: {}, summary: 'Two orders', source: 'tool' }
    const { user } = show(({ method }) => (method === 'POST' ? sse(answerFrames('There.', { payloads: [payload], custom_payload: payload })) : undefined), { payloadHandlers: { note: { render: () => <p>Mine</p> } } })
    await user.type(input(), 'x{Enter}')
    await screen.findByText('Two orders')
    expect(screen.queryByRole('region', { name: /Two orders/ })).toBe(null)
  })

  it('the digits that the model has written, also in the card of a call', async () => {
    const { user, send } = await writing()
    const written = '{"account": 9007199254740993, "note": "1"}'
    act(() => send([
      frame('tool_call', { id: 't1', name: 'look_up', arguments: written }, { message_id: 'MC', block_id: 'B1' }),
      frame('tool_call', { id: 't1', name: 'look_up', arguments: written, index: 0 }, { message_id: 'MD', block_id: 'B1' }),
    ]))
    const card = await screen.findByRole('button', { name: /Look up/ })
    expect(card.textContent).not.toContain('9007199254740992')
    await user.click(card)
    await screen.findByRole('button', { name: 'Copy: Input' })
    await waitFor(() => expect(document.querySelector('.ct-tool-body pre')?.textContent).toBe('{\n  "account": 9007199254740993,\n  "note": "1"\n}'))
  })

  it('the title of a document without its button, and no landmark for each block', async () => {
    const { api } = fakeApi(({ path }) => (path === '/api/documents/d' ? json({ id: 'd', title: 'Gold', revision: 1, blocks: [block('a'), block('b')] }) : undefined))
    const Pane = () => <DocumentPane state={useDocument('d')} />
    render(<ChatProvider api={api} storageKey=""><Pane /></ChatProvider>)
    expect(await screen.findByRole('heading', { name: 'Gold' })).toBeTruthy()
    expect(screen.queryAllByRole('region')).toEqual([])
    expect(screen.getAllByRole('group').map((e) => e.getAttribute('aria-label'))).toEqual(['Text a', 'Text b'])
    within(screen.getByRole('group', { name: 'Text b' })).getByRole('button', { name: 'Delete the block' })
  })

  it('which table it is', () => {
    render(<Markdown text={'| Order | | Price |\n|---|---|:---:|\n| 1 | | 2 |'} />)
    expect(screen.getByRole('group').getAttribute('aria-label')).toBe('Table: Order, Price')
  })

  it('no button in the title of a payload that opens nothing', async () => {
    const payload = { type: 'note', payload_id: 'p', data: {}, summary: 'Two orders', source: 'tool' }
    const { user } = show(({ method }) => (method === 'POST' ? sse(answerFrames('There.', { payloads: [payload], custom_payload: payload })) : undefined), { payloadHandlers: { note: { inline: () => <p>Mine</p> } } })
    await user.type(input(), 'x{Enter}')
    const body = await screen.findByRole('group', { name: 'Two orders' })
    expect(body.textContent).toBe('Mine')
    expect(screen.queryByRole('button', { name: 'Two orders' })).toBe(null)
  })
})
