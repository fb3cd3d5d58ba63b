import { act, fireEvent, render, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { StrictMode } from 'react'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { ChatProvider, createChatApi, registerPayloadHandler, useClientTool } from '../src'
import type { SocketChunk } from '../src/api/types'
import { DocumentAsk, DocumentPane, useDocument, useSocket } from '../src/documents'
import { json } from './fakes'
import { FakeLine } from './lines'
import { gateway } from './shown'

let lines: FakeLine[]
let asked: { method: string; path: string; body: any }[]

let draft: string | undefined
/** The service answers reads only after it. */
let gate: Promise<void> | undefined
/** The service cannot store decisions. */
let away = false
/** How the payload was decided on another device. */
let elsewhere: string | undefined
const stored = () => ({ id: 'd', title: 'Gold', revision: 1, blocks: [{ id: 'b1', document_id: 'd', type: 'md', current: 'Old text', ...(draft !== undefined && { new: draft }), state: draft === undefined ? 'clean' : 'pending_edit', position: 'a', revision: 1 }] })

beforeEach(() => {
  lines = []
  asked = []
  draft = gate = elsewhere = undefined
  away = false
  vi.stubGlobal('WebSocket', class extends FakeLine {
    constructor(url: string) {
      super(url)
      lines.push(this)
    }
  })
  return () => vi.unstubAllGlobals()
})

function service() {
  return createChatApi({
    fetch: async (url, init) => {
      const call = { method: init?.method ?? 'GET', path: String(url), body: init?.body ? JSON.parse(String(init.body)) : undefined }
      asked.push(call)
      if (call.path === '/api/ws/ticket') return json({ ticket: 't', expires_in: 30 })
      if (call.path.endsWith('/accept')) return json({ detail: 'The service’s words', code: 'being_written', status: 409 }, 409)
      if (call.path === '/api/documents/d') {
        await gate
        return json(stored())
      }
      if (call.path === '/api/documents/e') return json({ id: 'e', title: 'Silver', revision: 1, blocks: [] })
      if (away && call.path.endsWith('/resolve')) return json({ detail: 'not today', code: 'unavailable', status: 503 }, 503)
      if (elsewhere && call.path.endsWith('/resolve')) return json({ detail: 'this has been rejected already', code: 'conflict', status: 409 }, 409)
      if (call.path.endsWith('/payloads/p1')) return json({ payload_id: 'p1', type: 'list', data: [], outcome: elsewhere })
      if (call.path === '/api/chat/runs/r1') return json({ run_id: 'r1', state: 'waiting' })
      return json({ run_id: 'r1', payload_id: 'p1', type: 'list', data: [] })
    },
  })
}

function Page() {
  const { socket, view } = useSocket()
  const state = useDocument('d', view)
  useClientTool({ name: 'get_selection', description: 'x', input_schema: { type: 'object' }, handler: () => ({ rows: [4] }) })
  return <DocumentPane state={state} ask={<DocumentAsk state={state} socket={socket} view={view} />} />
}

async function shown(first = 'Old text') {
  render(<StrictMode><ChatProvider api={service()} storageKey=""><Page /></ChatProvider></StrictMode>)
  await screen.findByText(first)
  await waitFor(() => expect(lines.some((l) => !l.closed)).toBe(true))
  const line = lines.findLast((l) => !l.closed)!
  act(() => line.accept())
  return line
}

const give = (line: FakeLine, ...chunks: SocketChunk[]) => act(() => {
  for (const chunk of chunks) line.give(chunk)
})
const begin: SocketChunk = { type: 'status', content: 'Thinking...', run_id: 'r1', chat_id: 'd', conversation_id: 7, message_id: 'm1', seq: 1 }
const named = (line: FakeLine, name: string) => line.events.filter((e) => e.name === name)

const Other = ({ id, beside }: { id: string; beside: boolean }) => {
  const { socket, view } = useSocket()
  const state = useDocument(id, view)
  const ask = <DocumentAsk state={state} socket={socket} view={view} />
  return <><DocumentPane state={state} ask={!beside && ask} />{beside && ask}</>
}

/** A page that shows Silver, where a question about Gold is on its way. */
async function asking(beside = false) {
  const api = service()
  const page = (id: string, name: string) => <ChatProvider api={api} storageKey={name}><Other id={id} beside={beside} /></ChatProvider>
  const { rerender } = render(page('d', 'ada'))
  const user = userEvent.setup()
  const field = () => screen.findByRole<HTMLTextAreaElement>('textbox', { name: 'Ask about this document' })
  await user.type(await field(), 'Is it gold?{Enter}')
  await waitFor(() => expect(lines.some((l) => !l.closed)).toBe(true))
  const line = lines.findLast((l) => !l.closed)!
  act(() => line.accept())
  await waitFor(() => expect(named(line, 'message')).toHaveLength(1))
  rerender(page('e', 'ada'))
  await screen.findByText('Silver')
  const refuse = async () => {
    give(line, { type: 'error', code: 'too_many_requests', content: 'too many requests', end: true, event_id: named(line, 'message')[0]!.id })
    await act(async () => undefined)
  }
  return { user, rerender, page, field, refuse }
}

describe('asking about a document over the socket', () => {
  it('keeps what is typed, and what could not be sent, with its document', async () => {
    const { user, rerender, page, field, refuse } = await asking()
    await refuse()
    expect((await field()).value).toBe('')
    await user.type(await field(), 'Half a thought')
    rerender(page('d', 'ada'))
    await screen.findByText('Gold')
    expect((await field()).value).toBe('Is it gold?')
    rerender(page('e', 'ada'))
    await screen.findByText('Silver')
    expect((await field()).value).toBe('Half a thought')
    rerender(page('e', 'grace'))
    await screen.findByText('Silver')
    expect((await field()).value).toBe('')
  })

  it('says beside the pane why a question could not be sent, with its document and with no other', async () => {
    const { rerender, page, refuse } = await asking(true)
    await refuse()
    expect(screen.queryByRole('alert')).toBeNull()
    rerender(page('d', 'ada'))
    await screen.findByText('Gold')
    expect(screen.getAllByRole('alert')).toHaveLength(1)
  })

  it('opens one line in strict mode, and watches the document', async () => {
    const line = await shown()
    expect(lines.filter((l) => !l.closed)).toEqual([line])
    expect(line.events).toMatchObject([{ name: 'resume', chat_id: 'd' }])
  })

  it('sends the question with its target, and shows the answer in the block while it comes', async () => {
    const line = await shown()
    expect(document.querySelector('option[value=b1]')!.getAttribute('label')).toBe('Block 1: Old text')
    await userEvent.selectOptions(screen.getByLabelText('Where the answer goes'), 'b1')
    const field = screen.getByPlaceholderText('Ask about this document')
    fireEvent.change(field, { target: { value: '\u200b' } })
    await userEvent.type(field, '{Enter}')
    await userEvent.clear(field)
    await userEvent.type(field, 'Shorten it{Enter}')
    expect(named(line, 'message')).toMatchObject([{ message: { content: 'Shorten it' }, mode: 'chat', block_id: 'b1', document_id: 'd', chat_id: 'd', client_tools: [{ name: 'get_selection' }] }])
    give(line, { type: 'ack', event_id: named(line, 'message')[0]!.id, run_id: 'r1' }, begin, { type: 'reset', block_ids: 'b1', document_id: 'd', seq: 2 }, { type: 'md', block_ids: 'b1', document_id: 'd', content: 'Short', seq: 4 })
    await screen.findByText('Short')
    expect(document.querySelector('[data-block=b1]')!.getAttribute('data-writing')).toBe('true')
    expect(screen.getByRole('button', { name: 'Stop' })).toBeTruthy()
    const read = asked.filter((c) => c.path === '/api/documents/d').length
    give(line, { type: 'md', block_ids: 'b1', document_id: 'd', content: '', end: true, seq: 9 }, { type: 'run_end', run_id: 'r1', status: 'completed', seq: 9 })
    await waitFor(() => expect(asked.filter((c) => c.path === '/api/documents/d').length).toBeGreaterThan(read))
    await screen.findByText('Old text')
    expect(screen.queryByRole('button', { name: 'Stop' })).toBeNull()
  })

  it('takes no text that is too long for its field, neither as a question nor in a block', async () => {
    await shown()
    const field = screen.getByPlaceholderText<HTMLTextAreaElement>('Ask about this document')
    await userEvent.type(field, 'mine')
    fireEvent.change(field, { target: { value: `mine${'x'.repeat(1_000_000)}` } })
    expect((await screen.findByRole('alert')).textContent).toBe('Long text is too large.')
    expect(field.value).toBe('mine')
    await userEvent.click(screen.getByRole('button', { name: 'Edit the block' }))
    const block = screen.getByLabelText<HTMLTextAreaElement>('Content')
    fireEvent.change(block, { target: { value: 'x'.repeat(1_000_000) } })
    expect(block.value).toBe('Old text')
    await waitFor(() => expect(screen.getAllByRole('alert')).toHaveLength(2))
    fireEvent.change(block, { target: { value: 'x'.repeat(100_000) } })
    expect(block.value).toHaveLength(100_000)
  })

  it('has a button for each of the two ways to end an answer', async () => {
    const line = await shown()
    expect(screen.queryByRole('button', { name: 'Pause' })).toBeNull()
    give(line, begin)
    await userEvent.click(await screen.findByRole('button', { name: 'Pause' }))
    expect(named(line, 'pause')).toMatchObject([{ chat_id: 'd' }])
    expect(named(line, 'stop')).toEqual([])
    await userEvent.click(screen.getByRole('button', { name: 'Stop' }))
    expect(named(line, 'stop')).toMatchObject([{ chat_id: 'd' }])
    give(line, { type: 'run_end', run_id: 'r1', status: 'cancelled', seq: 5 })
    await waitFor(() => expect(screen.queryByRole('button', { name: 'Pause' })).toBeNull())
  })

  it('removes withdrawn text immediately, and says so until another answer begins', async () => {
    const line = await shown()
    give(line, begin, { type: 'reset', block_ids: 'b1', document_id: 'd', seq: 2 }, { type: 'md', block_ids: 'b1,b2', document_id: 'd', content: 'Half a word', seq: 4 })
    expect(await screen.findAllByText('Half a word')).toHaveLength(2)
    draft = 'Half a'
    await userEvent.click(screen.getAllByRole('button', { name: 'Revert' })[0]!)
    expect(asked.filter((c) => c.method === 'POST').map((c) => c.path)).toContain('/api/blocks/b1/revert')
    expect(screen.queryByText('What was being written was withdrawn.')).toBeNull()
    const open = gateway()
    gate = open.opened
    give(line, { type: 'reset', block_ids: 'b1,b2', document_id: 'd', end: true, seq: 5 })
    await waitFor(() => expect(screen.queryByText('Half a word')).toBeNull())
    expect(screen.queryByText('Half a')).toBeNull()
    expect([...document.querySelectorAll<HTMLElement>('[data-block]')].map((b) => [b.dataset.block, b.dataset.state, b.dataset.writing])).toEqual([['b1', 'clean', undefined]])
    screen.getByText('Old text')
    screen.getByText('What was being written was withdrawn.')
    expect(screen.queryByRole('button', { name: 'Undo reverting' })).toBeNull()
    draft = undefined
    open.open()
    give(line, { type: 'run_end', run_id: 'r1', status: 'cancelled', seq: 8 })
    screen.getByText('What was being written was withdrawn.')
    give(line, { ...begin, run_id: 'r2' }, { type: 'md', block_ids: 'b1', document_id: 'd', content: 'Whole', seq: 4 })
    await screen.findByText('Whole')
    expect(screen.queryByText('What was being written was withdrawn.')).toBeNull()
  })

  it('removes stored text that this tab has not seen arrive', async () => {
    draft = 'Stored half'
    const line = await shown('Stored half')
    gate = new Promise(() => undefined)
    give(line, { ...begin, seq: 4 }, { type: 'reset', block_ids: 'b1', document_id: 'd', end: true, seq: 5 })
    await waitFor(() => expect(screen.queryByText('Stored half')).toBeNull())
    screen.getByText('Old text')
  })

  it('says why what is being written cannot be accepted', async () => {
    draft = 'Half'
    await shown('Half')
    await userEvent.click(screen.getByRole('button', { name: 'Accept all' }))
    expect((await screen.findByRole('alert')).textContent).toBe('This is being written. Decide when it is complete, or revert it now.')
  })

  it('gives a question back that the service refuses, and says why', async () => {
    const line = await shown()
    await userEvent.type(screen.getByPlaceholderText('Ask about this document'), 'Mine{Enter}')
    give(line, { type: 'error', code: 'too_many_requests', content: 'too many requests', end: true, event_id: named(line, 'message')[0]!.id })
    await screen.findByRole('alert')
    expect((screen.getByPlaceholderText('Ask about this document') as HTMLTextAreaElement).value).toBe('Mine')
  })

  it('gives it back before what is typed by then', async () => {
    const line = await shown()
    const field = screen.getByPlaceholderText<HTMLTextAreaElement>('Ask about this document')
    await userEvent.type(field, 'Mine{Enter}')
    await userEvent.type(field, 'Next')
    give(line, { type: 'error', code: 'too_many_requests', content: 'too many requests', end: true, event_id: named(line, 'message')[0]!.id })
    await screen.findByRole('alert')
    expect(field.value).toBe('Mine\nNext')
  })

  it('accepts a payload once, though storing that fails or its card is pressed twice', async () => {
    const taken: unknown[] = []
    const off = registerPayloadHandler<string[]>('list', { inline: (data, { onAccept }) => <button onClick={() => onAccept()}>{data.join(' and ')}</button>, onAccept: (data) => void taken.push(data), ownButtons: true })
    away = true
    const line = await shown()
    give(line, begin, { type: 'payload', payload: { payload_id: 'p1', type: 'list', data: ['one', 'two'], summary: 'A list' }, seq: 4 })
    await userEvent.dblClick(await screen.findByRole('button', { name: 'one and two' }))
    await screen.findByText('not today')
    away = false
    await userEvent.click(screen.getByRole('button', { name: 'one and two' }))
    await screen.findByText('Accepted', { selector: 'em' })
    expect(taken).toEqual([['one', 'two']])
    off()
  })

  it('shows how a payload was decided elsewhere, and cannot decide it again', async () => {
    const onAccept = vi.fn()
    const off = registerPayloadHandler<string[]>('list', { inline: (data) => <p>{data.join(' and ')}</p>, onAccept, onReject: onAccept })
    const line = await shown()
    give(line, begin, { type: 'payload', payload: { payload_id: 'p1', type: 'list', data: ['one'], summary: 'A list' }, seq: 4 })
    const accept = await screen.findByRole('button', { name: 'Accept' })
    elsewhere = 'rejected'
    await userEvent.click(accept)
    await screen.findByText('this has been rejected already')
    await screen.findByText('Rejected', { selector: 'em' })
    expect(screen.queryByRole('button', { name: /^(Accept|Reject)$/ })).toBeNull()
    expect(onAccept).not.toHaveBeenCalled()
    off()
  })

  it('asks for approval, with an input that can be changed, and answers over the socket', async () => {
    const line = await shown()
    give(line, begin, { type: 'approval_request', run_id: 'r1', approval_id: 'a1', tool: 'reserve', tool_use_id: 't1', input: { seat: '1A' }, message: 'May I?', reason: 'tool_confirms', expires_at: '2030-01-01T00:00:00Z', seq: 4 })
    const field = await screen.findByLabelText('Seat')
    expect(screen.queryByText('Always allow this in this chat')).toBeNull()
    await userEvent.clear(field)
    await userEvent.type(field, '2B')
    await userEvent.click(screen.getByRole('button', { name: 'Approve with changes' }))
    expect(named(line, 'approve')).toMatchObject([{ run_id: 'r1', approval_id: 'a1', approved: true, input: { seat: '2B' } }])
    expect(asked.some((c) => c.path.includes('/approvals/'))).toBe(false)
    give(line, { type: 'approval_resolved', approval_id: 'a1', approved: true, seq: 5 }, { type: 'tool', event: 'start', tool: 'reserve', tool_use_id: 't1', index: 0, input: { seat: '2B' }, title: 'Reserve a seat', seq: 6 })
    await waitFor(() => expect(screen.queryByLabelText('Seat')).toBeNull())
    await screen.findByText(/Reserve a seat/)
  })

  it('runs a tool of the page', async () => {
    const line = await shown()
    give(line, begin, { type: 'client_tool_call', run_id: 'r1', tool: 'get_selection', tool_use_id: 't2', input: {}, expires_at: '2030-01-01T00:00:00Z', seq: 4 })
    await waitFor(() => expect(asked.find((c) => c.path === '/api/chat/runs/r1/tool_results')?.body).toMatchObject({ tool_use_id: 't2', output: { rows: [4] } }))
  })

  it('shows payloads, warnings, errors, and what may be asked next', async () => {
    const taken: unknown[] = []
    const off = registerPayloadHandler<string[]>('list', { inline: (data) => <p>{data.join(' and ')}</p>, onAccept: (data) => void taken.push(data) })
    const line = await shown()
    give(line, begin,
      { type: 'md', block_ids: 'm1', content: 'Some **prose**', seq: 3 },
      { type: 'payload', payload: { payload_id: 'p1', type: 'list', data: ['one', 'two'], summary: 'A list' }, seq: 4 },
      { type: 'md', block_ids: 'm1', content: '', end: true, seq: 9 },
      { type: 'warning', content: 'Something was left out.', seq: 9 },
      { type: 'suggestions', suggested_values: [{ label: 'More', value: 'Write more' }], suggested_actions: [{ label: 'Apply', action: 'apply_schema', handler: 'server', data: { a: 1 } }], seq: 9 },
      { type: 'run_end', run_id: 'r1', status: 'completed', seq: 9 })
    await screen.findByText('one and two')
    screen.getByText('prose')
    screen.getByText('Something was left out.')
    await userEvent.click(screen.getAllByRole('button', { name: 'Accept' })[0]!)
    await waitFor(() => expect(asked.find((c) => c.path === '/api/chats/7/payloads/p1/resolve')?.body).toEqual({ outcome: 'accepted' }))
    expect(taken).toEqual([['one', 'two']])
    await userEvent.click(screen.getByRole('button', { name: 'More' }))
    await userEvent.click(screen.getByRole('button', { name: 'Apply' }))
    expect(named(line, 'message')).toMatchObject([
      { message: { content: 'Write more' }, interaction_type: 'value_selected' },
      { message: { content: 'Apply' }, interaction_type: 'action_executed', action_metadata: { action_identifier: 'apply_schema', action_data: { a: 1 } } },
    ])
    off()
  })

  it('reports a lost connection, can still stop, and shows a failure', async () => {
    const line = await shown()
    give(line, begin)
    await userEvent.click(await screen.findByRole('button', { name: 'Stop' }))
    expect(named(line, 'stop')).toMatchObject([{ chat_id: 'd' }])
    give(line, { type: 'error', content: 'The model is away.', code: 'upstream_error', block_ids: 'm1', end: true, seq: 5 }, { type: 'run_end', run_id: 'r1', status: 'failed', seq: 5 })
    await screen.findByText('The model is away.')
    act(() => line.drop())
    await screen.findByText(/Connection lost/)
  })
})
