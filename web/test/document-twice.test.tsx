import { act, render, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it } from 'vitest'
import { ChatProvider } from '../src'
import { DocumentPane, useDocument } from '../src/documents'
import { block } from './blocks'
import { fakeApi, json } from './fakes'
import { gateway } from './shown'

function Pane() {
  return <DocumentPane state={useDocument('d')} />
}

describe('a decision that is made twice at once', () => {
  async function proposed() {
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
    render(<ChatProvider api={api} storageKey=""><Pane /></ChatProvider>)
    await screen.findByRole('button', { name: 'Accept' })
    const user = userEvent.setup()
    const sent = (end: string) => calls.filter((c) => c.method === 'POST' && c.path.endsWith(end)).length
    const reads = () => calls.filter((c) => c.path === '/api/documents/d').length
    return { user, sent, reads, hold: () => (wait = true), answer: () => act(async () => answer.open()) }
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
})
