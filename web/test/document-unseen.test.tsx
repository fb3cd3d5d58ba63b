import { render, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, it } from 'vitest'
import { ChatProvider } from '../src'
import { DocumentPane, useDocument, type Block } from '../src/documents'
import { block } from './blocks'
import { fakeApi, json } from './fakes'

function Pane() {
  return <DocumentPane state={useDocument('d')} />
}

const proposal = (id: string, more: Partial<Block> = {}) => block(id, { state: 'pending_new', current: undefined, new: `New ${id}`, ...more })

/** A page with a document, and a service that refuses what is about another revision. `change` is what another page does. */
async function page(...blocks: Block[]) {
  let stored = { id: 'd', title: 'Gold', revision: 1, blocks }
  let once: (() => void) | undefined
  const { api, calls } = fakeApi(({ method, path, headers }) => {
    if (method === 'GET') {
      const answer = path === '/api/documents/d' ? json(stored) : json({}, 404)
      once?.()
      once = undefined
      return answer
    }
    const id = path.split('/')[3]!
    const match = headers['If-Match']
    const revision = path.startsWith('/api/documents') ? stored.revision : stored.blocks.find((b) => b.id === id)!.revision
    if (match !== undefined && match !== `"${revision}"`) return json({ detail: 'changed', code: 'precondition_failed', status: 412 }, 412)
    stored = { ...stored, revision: stored.revision + 1, blocks: path.endsWith('/accept') ? stored.blocks.map((b) => block(b.id, { current: b.new ?? b.current })) : stored.blocks.filter((b) => b.state === 'clean' && b.id !== id) }
    return json(stored)
  })
  render(<ChatProvider api={api} storageKey=""><Pane /></ChatProvider>)
  await screen.findByText(blocks[0]!.new ?? blocks[0]!.current!)
  const change = (...blocks: Block[]) => (stored = { ...stored, revision: stored.revision + 1, blocks })
  const ids = () => stored.blocks.map((b) => `${b.id} ${b.state}`)
  const afterNextRead = (then: () => void) => (once = then)
  return { user: userEvent.setup(), calls, change, afterNextRead, ids }
}

const changed = /has changed in the meantime/

it.each(['Accept all', 'Revert all'])('"%s" decides about nothing that the page does not show', async (name) => {
  const { user, change, ids } = await page(proposal('a'))
  change(proposal('a'), proposal('b', { revision: 2 }))
  await user.click(screen.getByRole('button', { name }))
  expect((await screen.findByRole('alert')).textContent).toMatch(changed)
  expect(ids()).toEqual(['a pending_new', 'b pending_new'])
  await screen.findByText('New b')
  await user.click(screen.getByRole('button', { name }))
  await waitFor(() => expect(ids()).toEqual(name === 'Accept all' ? ['a clean', 'b clean'] : []))
  expect(screen.queryByRole('alert')).toBeNull()
})

it.each([['Accept all', false], ['Revert all', true]] as const)('"%s" of a text that has been written on', async (name, done) => {
  const { user, change, ids } = await page(proposal('a'))
  change(proposal('a', { new: 'New a, and more', revision: 2 }))
  await user.click(screen.getByRole('button', { name }))
  if (done) await waitFor(() => expect(ids()).toEqual([]))
  else {
    expect((await screen.findByRole('alert')).textContent).toMatch(changed)
    expect(ids()).toEqual(['a pending_new'])
  }
})

it.each(['Accept all', 'Revert all'])('"%s" does not mind what else has changed', async (name) => {
  const { user, change, ids } = await page(proposal('a'), block('b'))
  change(proposal('a'), block('b', { current: 'Other', revision: 2 }))
  await user.click(screen.getByRole('button', { name }))
  await waitFor(() => expect(ids()).toEqual(name === 'Accept all' ? ['a clean', 'b clean'] : ['b clean']))
  expect(screen.queryByRole('alert')).toBeNull()
})

it('"Accept all" accepts a text that was stored again as it is shown', async () => {
  const { user, change, ids } = await page(proposal('a'))
  change(proposal('a', { revision: 2 }))
  await user.click(screen.getByRole('button', { name: 'Accept all' }))
  await waitFor(() => expect(ids()).toEqual(['a clean']))
  expect(screen.queryByRole('alert')).toBeNull()
})

it.each(['Accept all', 'Revert all'])('"%s" decides about nothing that comes while it looks what has changed', async (name) => {
  const { user, change, afterNextRead, ids } = await page(proposal('a'), block('b'))
  change(proposal('a'), block('b', { current: 'Other', revision: 2 }))
  afterNextRead(() => change(proposal('a'), block('b', { current: 'Other', revision: 2 }), proposal('c', { revision: 3 })))
  await user.click(screen.getByRole('button', { name }))
  expect((await screen.findByRole('alert')).textContent).toMatch(changed)
  expect(ids()).toEqual(['a pending_new', 'b clean', 'c pending_new'])
})

it('deletes no block that has another text', async () => {
  const { user, change, ids } = await page(block('a'))
  change(block('a', { current: 'Other', revision: 2 }))
  await user.click(screen.getByRole('button', { name: 'Delete the block' }))
  await user.click(screen.getByRole('button', { name: 'Delete' }))
  expect((await screen.findByRole('alert')).textContent).toMatch(changed)
  expect(ids()).toEqual(['a clean'])
  await screen.findByText('Other')
})
