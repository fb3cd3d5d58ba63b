import { act, render, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, it } from 'vitest'
import { ChatProvider, ChatTray } from '../src'
import { DocumentPane, useDocument } from '../src/documents'
import { event, fakeApi, frame, gave, json, runs } from './fakes'
import { gateway, input, live } from './shown'

function Pane() {
  return <DocumentPane state={useDocument('d')} />
}

const merged = { delta: true, delta_action: 'merge' }
const said = 'What was being written was withdrawn.'
const shownBlocks = () => [...document.querySelectorAll<HTMLElement>('[data-block]')].map((b) => `${b.dataset.block} ${b.dataset.state}${b.dataset.writing ? ' writing' : ''}`)

/** A document with one block, and a run that edits it and writes a new one. */
async function writing() {
  const { response, send } = live('run-w')
  const block = { id: 'b1', document_id: 'd', type: 'md', current: 'Old text', state: 'clean', position: 'a', revision: 1 }
  let blocks: object[] = [block]
  let reads = 0
  let gate: Promise<void> | undefined
  const { api, calls } = fakeApi(({ method, path }) => {
    if (method === 'POST' && path.startsWith('/api/chat/stream')) return response
    if (path === '/api/documents/d') {
      const read = () => (reads++, json({ id: 'd', title: 'Gold', revision: 1, blocks }))
      return gate ? gate.then(read) : read()
    }
    return /\/(revert|accept)$/.test(path) ? new Response(null, { status: 204 }) : undefined
  })
  render(<ChatProvider api={api} storageKey=""><ChatTray layout="sidebar" /><Pane /></ChatProvider>)
  const user = userEvent.setup()
  await user.type(input(), 'Write{Enter}')
  const open = (n: number, ref: string) => [
    event('block_start', { block_id: `B${n}`, type: 'document', ref }),
    frame('md', { content: 'Not ' }, { message_id: `M${n}`, block_id: `B${n}`, delta: true }),
    frame('md', { content: 'wanted' }, { message_id: `M${n}`, block_id: `B${n}`, delta: true }),
  ]
  const half: object[] = [{ ...block, state: 'pending_edit', new: 'Not ' }, { id: 'b2', document_id: 'd', type: 'md', new: 'Not ', state: 'pending_new', position: 'b', revision: 2 }]
  act(() => {
    blocks = half
    send([
      event('stream_start', { run_id: 'run-w', conversation_id: 7, chat_id: 'c', user_message_id: 'q' }),
      event('block_start', { block_id: 'B1', type: 'llm' }),
      frame('tool_call', { id: 't1', name: 'edit_block', arguments: '{"block_id":"b1","content":"Not wanted' }, { message_id: 'M9', block_id: 'B1', delta: true }),
      ...open(2, 'b1'), ...open(3, 'b2'),
    ])
  })
  await waitFor(() => expect(shownBlocks()).toEqual(['b1 pending_edit writing', 'b2 pending_new writing']))
  await waitFor(() => expect(screen.getAllByText('Not wanted')).toHaveLength(2))
  return { send, user, calls, open, reads: () => reads, keep: (list: object[]) => void (blocks = list), hold: (until?: Promise<void>) => void (gate = until), block }
}

it('takes the text of a withdrawn block away before the document is read again', async () => {
  const { send, keep, hold, block } = await writing()
  const open = gateway()
  hold(open.opened)
  act(() => send([frame('md', { content: '', withdrawn: true }, { message_id: 'M2', block_id: 'B2', ...merged })]))
  await waitFor(() => expect(shownBlocks()).toEqual(['b1 clean', 'b2 pending_new writing']))
  expect(screen.getByText(said).getAttribute('role')).toBe('status')
  screen.getByText('Old text')
  keep([block])
  open.open()
  act(() => send([frame('md', { content: '', withdrawn: true }, { message_id: 'M3', block_id: 'B3', ...merged }), event('message_end', { message_id: 'M3', status: 'cancelled' }), event('block_end', { block_id: 'B3', status: 'cancelled' })]))
  await waitFor(() => expect(shownBlocks()).toEqual(['b1 clean']))
  expect(screen.queryByText(/Not/)).toBeNull()
})

it('shows what is proposed of the block after that', async () => {
  const { send, keep, block, reads, open } = await writing()
  keep([{ ...block, state: 'pending_edit', new: 'By another' }])
  const before = reads()
  act(() => send([frame('md', { content: '', withdrawn: true }, { message_id: 'M2', block_id: 'B2', ...merged }), event('block_end', { block_id: 'B2', status: 'cancelled' })]))
  await waitFor(() => expect(reads()).toBeGreaterThan(before))
  await waitFor(() => expect(shownBlocks()[0]).toBe('b1 pending_edit'))
  act(() => send(open(4, 'b1')))
  await waitFor(() => expect(shownBlocks()[0]).toBe('b1 pending_edit writing'))
  await waitFor(() => expect(screen.queryByText(said)).toBeNull())
})

it('offers to revert what is being written, and nowhere to accept it', async () => {
  const { send, user, calls } = await writing()
  const buttons = (root: Element | null) => [...root!.querySelectorAll('button')].map((b) => b.textContent)
  for (const id of ['b1', 'b2']) expect(buttons(document.querySelector(`[data-block=${id}]`))).toEqual(['Revert'])
  const all = screen.getByRole<HTMLButtonElement>('button', { name: 'Accept all' })
  expect(all.disabled).toBe(true)
  expect(document.getElementById(all.getAttribute('aria-describedby')!)?.textContent).toBe('This is being written. Decide when it is complete, or revert it now.')
  await user.click(all)
  document.querySelector<HTMLElement>('[data-block=b1]')!.focus()
  await user.keyboard('a')
  expect(calls.filter((c) => c.path.endsWith('/accept'))).toEqual([])
  act(() => send(['M2', 'M3'].flatMap((m, i) => [event('message_end', { message_id: m, status: 'completed' }), event('block_end', { block_id: `B${i + 2}`, status: 'completed' })])))
  await waitFor(() => expect(all.disabled).toBe(false))
  expect(buttons(document.querySelector('[data-block=b2]'))).toEqual(['Revert', 'Accept'])
})

it('reverts what is being written without a revision, and has nothing to undo', async () => {
  const { user, calls } = await writing()
  await user.click(screen.getAllByRole('button', { name: 'Revert' })[1]!)
  const call = calls.find((c) => c.path === '/api/blocks/b2/revert')!
  expect(new Headers(call.headers).get('If-Match')).toBeNull()
  expect(screen.queryByRole('button', { name: 'Undo reverting' })).toBeNull()
})

it('shows a block as decided at once, while the run continues', async () => {
  const { send, user, keep, block, calls, reads } = await writing()
  const proposed = { ...block, state: 'pending_edit', new: 'Not wanted', revision: 2 }
  keep([proposed])
  const before = reads()
  act(() => send([
    event('message_end', { message_id: 'M2', status: 'completed' }), event('block_end', { block_id: 'B2', status: 'completed' }),
    event('message_end', { message_id: 'M9', status: 'completed' }), runs('t1', 'edit_block', { block_id: 'b1' }), ...gave('t1', 'Written.'),
  ]))
  await waitFor(() => expect(reads()).toBeGreaterThan(before))
  await waitFor(() => expect(shownBlocks()[0]).toBe('b1 pending_edit'))
  keep([{ ...block, current: 'Not wanted', revision: 3 }])
  await user.click(screen.getAllByRole('button', { name: 'Accept' })[0]!)
  expect(calls.some((c) => c.path === '/api/blocks/b1/accept')).toBe(true)
  await waitFor(() => expect(shownBlocks()[0]).toBe('b1 clean'))
})

it('shows a block as decided when the call that wrote it has not ended', async () => {
  const { send, user, keep, block } = await writing()
  act(() => send([event('message_end', { message_id: 'M2', status: 'completed' }), event('block_end', { block_id: 'B2', status: 'completed' })]))
  await waitFor(() => expect(shownBlocks()[0]).toBe('b1 pending_edit'))
  keep([block])
  await user.click(screen.getAllByRole('button', { name: 'Revert' })[0]!)
  await waitFor(() => expect(shownBlocks()[0]).toBe('b1 clean'))
})

it('says so when an answer is withdrawn from a block, and reads the document again', async () => {
  const { send, reads } = await writing()
  const before = reads()
  act(() => send([event('withdrawn', { ref: 'b7', document_id: 'd', withdrawn: true })]))
  expect((await screen.findByText(said)).getAttribute('role')).toBe('status')
  await waitFor(() => expect(reads()).toBeGreaterThan(before))
})

it('follows a block that a call writes again in another place, without a word', async () => {
  const { send, open, keep, block } = await writing()
  keep([block])
  act(() => send([
    event('message_end', { message_id: 'M3', status: 'completed' }), event('block_end', { block_id: 'B3', status: 'completed' }),
    event('withdrawn', { ref: 'b2', document_id: 'd', withdrawn: true, tool_use_id: 't1' }), ...open(4, 'b5'),
  ]))
  await waitFor(() => expect(shownBlocks()).toEqual(['b1 pending_edit writing', 'b5 pending_new writing']))
  expect(screen.queryByText(said)).toBeNull()
})

it('shows a block that is only planned without buttons, and without the keys that decide', async () => {
  const { send, keep, user, calls, reads, block } = await writing()
  keep([block, { id: 'b3', document_id: 'd', type: 'md', new: '', state: 'pending_new', position: 'c', revision: 2 }])
  const before = reads()
  act(() => send([runs('t1', 'plan_document', {}), ...gave('t1', 'Planned.')]))
  await waitFor(() => expect(reads()).toBeGreaterThan(before))
  const planned = await waitFor(() => document.querySelector<HTMLElement>('[data-block=b3][data-planned]') ?? Promise.reject(new Error('not yet')))
  expect(planned.textContent).toBe('Planned')
  expect(planned.querySelectorAll('button, [role=button]')).toHaveLength(0)
  planned.focus()
  await user.keyboard('ar')
  expect(calls.filter((c) => /b3/.test(c.path))).toEqual([])
})

it('accepts nothing of a plan before its blocks have their text', async () => {
  const { send, keep, user, calls, block } = await writing()
  act(() => send(['M2', 'M3'].flatMap((m, i) => [event('message_end', { message_id: m, status: 'completed' }), event('block_end', { block_id: `B${i + 2}`, status: 'completed' })])))
  const all = await screen.findByRole<HTMLButtonElement>('button', { name: 'Accept all' })
  await waitFor(() => expect(all.disabled).toBe(false))
  const half = [block, { id: 'b3', document_id: 'd', type: 'md', new: 'Written.', state: 'pending_new', position: 'c', revision: 2 }]
  keep([...half, { id: 'b4', document_id: 'd', type: 'md', new: '', state: 'pending_new', position: 'd', revision: 2 }])
  act(() => send([runs('t2', 'plan_document', {}), ...gave('t2', 'Planned.')]))
  await screen.findByText('Planned', { selector: '.ct-tag' })
  expect(all.disabled).toBe(true)
  expect(document.getElementById(all.getAttribute('aria-describedby')!)?.textContent).toBe('This is being written. Decide when it is complete, or revert it now.')
  await user.click(all)
  expect(calls.filter((c) => c.path.endsWith('/accept'))).toEqual([])
  expect(screen.getByRole<HTMLButtonElement>('button', { name: 'Revert all' }).disabled).toBe(false)
})
