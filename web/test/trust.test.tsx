import { act, screen, waitFor } from '@testing-library/react'
import { describe, expect, it, vi } from 'vitest'
import { ChatStore, emptyState, openActions, reduce, type GeneralChatMessage, type PayloadHandlers } from '../src'
import { answerFrames, event, fakeApi, frame, json, sse } from './fakes'
import { chat, live, message, settled, show, slow } from './shown'

const proposal = { payload_id: 'p1', type: 'proposal', data: { changes: 1 }, summary: 'A proposal' }
const apply = { label: 'Apply changes', action: 'apply_schema', handler: 'server', data: {}, style: 'primary' }
const handlers: PayloadHandlers = { proposal: { render: () => <p>the proposal</p>, onAccept: () => undefined, onReject: () => undefined } }
const resolves = (path: string) => (path.includes('/resolve') ? json({ ...proposal }) : undefined)

describe('an action that belongs to a payload', () => {
  for (const [button, word] of [['Reject', 'Rejected'], ['Accept', 'Accepted']] as const) {
    it(`goes when the payload is decided: ${word}`, async () => {
      const { user, calls } = show(({ method, path }) => resolves(path) ?? (method === 'POST' ? sse(answerFrames('x', { payloads: [proposal], custom_payload: proposal, suggested_actions: [apply] })) : undefined), { payloadHandlers: handlers })
      await user.type(screen.getByLabelText('Message'), 'x{Enter}')
      await settled()
      expect(screen.getByRole('button', { name: 'Apply changes' })).toBeTruthy()
      await user.click(await screen.findByRole('button', { name: button }))
      await screen.findByText(word, { selector: 'em' })
      expect(screen.queryByRole('button', { name: 'Apply changes' })).toBeNull()
      expect(calls.filter((c) => c.path.startsWith('/api/chat/stream'))).toHaveLength(1)
    })
  }

  it('is not there after a reload', async () => {
    sessionStorage.setItem('chattray:t:conversation', '7')
    show(({ path }) => (path.startsWith('/api/chats/7') ? chat([message('q', 'user', 'x'), message('a', 'assistant', 'Decided.', { payloads: [{ ...proposal, outcome: 'rejected' }], suggested_actions: [apply] })]) : undefined), { payloadHandlers: handlers }, 't')
    await screen.findByText('Decided.')
    expect(screen.queryByRole('button', { name: 'Apply changes' })).toBeNull()
  })

  it('cannot be done while the decision is on its way, and again when it failed', async () => {
    const { response, go } = slow()
    const { user } = show(({ method, path }) => (path.includes('/resolve') ? response : method === 'POST' ? sse(answerFrames('x', { payloads: [proposal], custom_payload: proposal, suggested_actions: [apply] })) : undefined), { payloadHandlers: handlers })
    await user.type(screen.getByLabelText('Message'), 'x{Enter}')
    await settled()
    await user.click(await screen.findByRole('button', { name: 'Reject' }))
    expect(screen.queryByRole('button', { name: 'Apply changes' })).toBeNull()
    go(json({ detail: 'not now', code: 'internal' }, 500))
    expect(await screen.findByRole('button', { name: 'Apply changes' })).toBeTruthy()
    expect((await screen.findByRole('alert')).textContent).toContain('not now')
  })

  it('does not come with the end of an answer whose payload was decided while it was written', async () => {
    const { response, send } = live('r')
    const accepted = vi.fn()
    const { user } = show(({ method, path }) => resolves(path) ?? (method === 'POST' ? response : undefined), { payloadHandlers: { proposal: { ...handlers.proposal!, onAccept: accepted } } })
    await user.type(screen.getByLabelText('Message'), 'x{Enter}')
    act(() => send([event('stream_start', { run_id: 'r', conversation_id: 7 }), event('block_start', { block_id: 'B1', type: 'llm' }), frame('proposal', proposal, { message_id: 'P1', block_id: 'B1' })]))
    await user.click(await screen.findByRole('button', { name: 'Reject' }))
    await screen.findByText('Rejected', { selector: 'em' })
    act(() => send(answerFrames('Whole.', { payloads: [proposal], custom_payload: proposal, suggested_actions: [apply] }).slice(2), true))
    await screen.findByText('Whole.')
    await settled()
    expect(screen.getByText('Rejected', { selector: 'em' })).toBeTruthy()
    expect(screen.queryByRole('button', { name: 'Apply changes' })).toBeNull()
    expect(accepted).not.toHaveBeenCalled()
  })

  it('goes in the other tabs too', async () => {
    const answer = ({ path }: { path: string }) => resolves(path) ?? (path.startsWith('/api/chats/7') ? chat([message('a', 'assistant', 'Open.', { payloads: [proposal], suggested_actions: [apply] })]) : undefined)
    const [here, there] = [new ChatStore({ api: fakeApi(answer).api, storageKey: 'tabs' }), new ChatStore({ api: fakeApi(answer).api, storageKey: 'tabs' })]
    const leave = [here.connect(), there.connect()]
    await Promise.all([here.open(7), there.open(7)])
    await here.resolve('p1', 'rejected')
    await waitFor(() => expect(there.getSnapshot().messages[0]?.payloads?.[0]?.outcome).toBe('rejected'))
    leave.forEach((left) => left())
  })

  it('is told by its payload where it names one, else by its message', () => {
    const of = (more: object) => openActions({ ...message('a', 'assistant', ''), payloads: [{ ...proposal, outcome: 'rejected' }, { ...proposal, payload_id: 'p2' }], ...more } as unknown as GeneralChatMessage).map((a) => a.label)
    expect(of({ suggested_actions: [apply] })).toEqual([])
    expect(of({ suggested_actions: [{ ...apply, payload_id: 'p1' }, { ...apply, label: 'Second', payload_id: 'p2' }, { ...apply, label: 'Inside', data: { payload_id: 'p2' } }, { ...apply, data: { payload_id: 'p1' } }] })).toEqual(['Second', 'Inside'])
    expect(of({ suggested_actions: [{ label: 'Close', action: 'close_chat', handler: 'client' }] })).toEqual(['Close'])
  })

  it('is decided by the reducer alone', () => {
    const state = reduce({ ...emptyState, conversationId: 7 }, { type: 'resolved', payloadId: 'p1', outcome: 'rejected' })
    expect(state.decided).toEqual({ p1: 'rejected' })
  })
})

describe('a lost connection', () => {
  it('is taken up at once by the store that is asked, and by no other', async () => {
    const broken = () => new Response('', { headers: { 'X-Run-Id': 'r' } })
    const stores = ['one', 'two'].map((name) => {
      const { api, calls } = fakeApi(({ method, path }) => (method === 'POST' || path.includes('/runs/') ? broken() : undefined))
      return { calls, store: new ChatStore({ api, storageKey: name }) }
    })
    for (const { store } of stores) void store.sendMessage('x')
    for (const { store } of stores) await waitFor(() => expect(store.getSnapshot().link).toBe('reconnecting'))
    const before = stores.map(({ calls }) => calls.length)
    vi.useFakeTimers()
    stores[0]!.store.reconnect()
    await vi.advanceTimersByTimeAsync(0)
    vi.useRealTimers()
    expect(stores.map(({ calls }, i) => calls.length > before[i]!)).toEqual([true, false])
    stores.forEach(({ store }) => store.disconnect())
  })
})
