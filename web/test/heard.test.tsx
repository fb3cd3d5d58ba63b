import { act, render, screen, waitFor, within } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { ChatProvider } from '../src'
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
    expect(screen.getAllByRole('group', { name: 'md block' })).toHaveLength(2)
    within(screen.getByRole('group', { name: 'Text b' })).getByRole('button', { name: 'Delete the block' })
  })
})
