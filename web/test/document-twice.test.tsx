import { act, render, screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import * as React from 'react'
import type { ReactNode } from 'react'
import { describe, expect, it } from 'vitest'
import { ChatProvider } from '../src'
import { DocumentPane, useDocument } from '../src/documents'
import { block } from './blocks'
import { fakeApi, json } from './fakes'
import { gateway } from './shown'

/** React 18 has none. */
const { Activity } = React

function Pane({ id = 'd' }: { id?: string }) {
  return <DocumentPane state={useDocument(id)} />
}

describe('a decision that is made twice at once', () => {
  async function proposed(storageKey = '') {
    const answer = gateway()
    let stored = [block('n', { state: 'pending_new', current: undefined, new: 'Text n' }), block('b')]
    let wait = false
    const { api, calls } = fakeApi(async ({ method, path }) => {
      if (path === '/api/documents/d') return json({ id: 'd', title: 'Gold', revision: 1, blocks: stored })
      if (method === 'GET') return json({}, 404)
      if (wait) await answer.opened
      if (path.endsWith('/accept')) {
        if (stored[0]!.state === 'clean') return path.startsWith('/api/blocks') ? json({ detail: 'changed', code: 'conflict' }, 412) : new Response(null, { status: 204 })
        stored = [block('n', { revision: 2 }), block('b')]
      }
      if (method === 'DELETE') stored = [block('b')]
      if (path.endsWith('/blocks')) return (stored = [block('m', { current: 'Text n' }), block('b')]), json(stored[0])
      return new Response(null, { status: 204 })
    })
    const page = (pane: ReactNode) => <ChatProvider api={api} storageKey={storageKey}>{pane}</ChatProvider>
    const { rerender } = render(page(<Pane />))
    await screen.findByRole('button', { name: 'Accept' })
    const user = userEvent.setup()
    const sent = (end: string) => calls.filter((c) => c.method === 'POST' && c.path.endsWith(end)).length
    const reads = () => calls.filter((c) => c.path === '/api/documents/d').length
    return { user, calls, sent, reads, shows: (pane: ReactNode) => rerender(page(pane)), hold: () => (wait = true), answer: () => act(async () => answer.open()) }
  }

  it('is made once, and no error', async () => {
    const { user, sent, hold, answer } = await proposed()
    hold()
    await user.dblClick(screen.getByRole('button', { name: 'Accept' }))
    await answer()
    await screen.findByText('Everything is decided.')
    expect([sent('/accept'), screen.queryByRole('alert')]).toEqual([1, null])
  })

  it('is undone at once', async () => {
    const { user, sent, hold, answer } = await proposed()
    hold()
    await user.dblClick(screen.getByRole('button', { name: 'Accept all' }))
    await user.click(screen.getByRole('button', { name: 'Revert all' }))
    await answer()
    await screen.findByText('Everything is decided.')
    expect([sent('/accept'), sent('/revert')]).toEqual([1, 0])
    await user.click(screen.getByRole('button', { name: 'Undo accepting' }))
    await screen.findByText('1 change waits for you')
  })

  it.each([['another document', <Pane id="e" />, 2], ['another page', null, 1]])('does not wait again where it ended while %s was shown', async (_, other, reads) => {
    const { user, calls, shows, hold, answer } = await proposed('k')
    await user.click(screen.getByRole('button', { name: 'Accept' }))
    await user.click(await screen.findByRole('button', { name: 'Undo accepting' }))
    await screen.findByText('1 change waits for you')
    hold()
    await user.click(screen.getByRole('button', { name: 'Accept' }))
    shows(other)
    await answer()
    // What is shown is read when it begins, and when the decision has ended.
    await waitFor(() => expect(calls.slice(calls.findLastIndex((c) => c.method === 'POST') + 1)).toHaveLength(reads))
    shows(<Pane />)
    await screen.findByText('Text b')
    expect(screen.getAllByText('Text n')).toHaveLength(1)
    expect(screen.queryByRole('button', { name: 'Accept' })).toBeNull()
  })

  it.each(['Accept', 'Accept all'])('adds one block of this page, and not another one with %s', async (next) => {
    const { user, sent, reads, hold, answer } = await proposed()
    await user.click(screen.getByRole('button', { name: 'Accept' }))
    await user.click(await screen.findByRole('button', { name: 'Undo accepting' }))
    await screen.findByText('1 change waits for you')
    hold()
    await user.click(screen.getByRole('button', { name: 'Accept' }))
    await user.click(screen.getByRole('button', { name: next }))
    await answer()
    // Each decision reads the document when it has ended.
    await waitFor(() => expect(reads()).toBe(next === 'Accept' ? 4 : 5))
    await screen.findByText('Everything is decided.')
    expect([sent('/blocks'), screen.queryByRole('alert')]).toEqual([1, null])
  })

  it.skipIf(!Activity)('while the pane was hidden is shown when it is seen again', async () => {
    const { user, shows, hold, answer, sent } = await proposed('k')
    const pane = (mode: 'hidden' | 'visible', other: ReactNode = null) => shows(<><Activity mode={mode}><Pane /></Activity>{other}</>)
    pane('visible')
    hold()
    await user.click(await screen.findByRole('button', { name: 'Accept' }))
    pane('hidden')
    await answer()
    await waitFor(() => expect(sent('/accept')).toBe(1))
    pane('hidden', <main><Pane /></main>)
    const other = within(await screen.findByRole('main'))
    await user.click(await other.findByRole('button', { name: 'Undo accepting' }))
    await other.findByText('1 change waits for you')
    pane('hidden')
    pane('visible')
    await screen.findByText('1 change waits for you')
    expect(screen.queryByRole('button', { name: 'Undo accepting' })).toBeNull()
  })

  it.skipIf(!Activity)('of a pane that was hidden is shown when it is seen again', async () => {
    const { user, shows, hold, answer, reads } = await proposed('k')
    const pane = (mode: 'hidden' | 'visible') => shows(<Activity mode={mode}><Pane /></Activity>)
    pane('visible')
    hold()
    await user.click(await screen.findByRole('button', { name: 'Accept' }))
    pane('hidden')
    const before = reads()
    await answer()
    await waitFor(() => expect(reads()).toBeGreaterThan(before))
    pane('visible')
    await screen.findByRole('button', { name: 'Undo accepting' })
  })

  it('is undone first, and the one before it after that', async () => {
    let stored = ['a', 'b'].map((id) => block(id, { state: 'pending_edit', new: `New ${id}` }))
    const read = gateway()
    let wait = false
    const { api } = fakeApi(async ({ method, path, body }) => {
      if (path === '/api/documents/d') {
        if (wait) await read.opened
        return json({ id: 'd', title: 'Gold', revision: 1, blocks: stored })
      }
      if (method === 'GET') return json({}, 404)
      const id = path.split('/')[3]!
      const change = path.endsWith('/accept') ? { current: `New ${id}` } : { current: (body as { content: string }).content }
      stored = stored.map((b) => (b.id === id ? block(id, { ...change, revision: b.revision + 1 }) : b))
      return json(stored.find((b) => b.id === id))
    })
    render(<ChatProvider api={api} storageKey=""><Pane /></ChatProvider>)
    const user = userEvent.setup()
    await user.click((await screen.findAllByRole('button', { name: 'Accept' }))[0]!)
    await screen.findByText('1 change waits for you')
    await user.click(screen.getByRole('button', { name: 'Accept' }))
    await screen.findByText('Everything is decided.')
    wait = true
    await user.click(screen.getByRole('button', { name: 'Undo accepting' }))
    await screen.findByText('1 change waits for you')
    const undo = screen.getByRole('button', { name: 'Undo accepting' })
    expect(undo.getAttribute('aria-disabled')).toBe('true')
    await act(async () => read.open())
    await waitFor(() => expect(undo.getAttribute('aria-disabled')).toBe('false'))
    await user.click(undo)
    await screen.findByText('2 changes wait for you')
  })

  it.each(['pending_edit', 'pending_new', 'pending_delete'] as const)('is undone before the document was read again: %s', async (state) => {
    const read = gateway()
    let wait = false
    let doc = { id: 'd', title: 'Gold', new_title: 'Silver' as string | undefined, revision: 1, blocks: [block('a', { state, new: state === 'pending_delete' ? undefined : 'New a', current: state === 'pending_new' ? undefined : 'Text a' })] }
    const { api } = fakeApi(async ({ method, path, body }) => {
      if (path === '/api/documents/d' && method === 'GET') {
        const now = doc
        if (wait) await read.opened
        return json(now)
      }
      if (method === 'GET') return json({}, 404)
      const accepted = block('a', { current: 'New a', revision: 2 })
      if (path.endsWith('/accept')) doc = { ...doc, title: 'Silver', new_title: undefined, revision: 2, blocks: state === 'pending_delete' ? [] : [accepted] }
      else if (path === '/api/documents/d') doc = { ...doc, ...(body as object), revision: 3 }
      else if (method === 'DELETE') doc = { ...doc, revision: 3, blocks: [] }
      else doc = { ...doc, revision: 3, blocks: [block('a', { current: (body as { content: string }).content, revision: 3 })] }
      return json(path.includes('/blocks') && doc.blocks[0] ? doc.blocks[0] : doc)
    })
    render(<ChatProvider api={api} storageKey=""><Pane /></ChatProvider>)
    const user = userEvent.setup()
    const all = await screen.findByRole('button', { name: 'Accept all' })
    wait = true
    await user.click(all)
    await user.click(await screen.findByRole('button', { name: 'Undo accepting' }))
    wait = false
    await act(async () => read.open())
    await screen.findByText('2 changes wait for you')
    expect([doc.title, doc.blocks.map((b) => b.current)]).toEqual(['Gold', state === 'pending_new' ? [] : ['Text a']])
    expect(screen.queryByRole('button', { name: 'Undo accepting' })).toBeNull()
  })
})
