import { act, fireEvent, render, screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { StrictMode } from 'react'
import { describe, expect, it } from 'vitest'
import { ChatProvider } from '../src'
import { DocumentPane, useDocument } from '../src/documents'
import { block } from './blocks'
import { fakeApi, json } from './fakes'

function Pane({ name }: { name: string }) {
  return <section aria-label={name}><DocumentPane state={useDocument('d')} /></section>
}

/** Two panes of one document with two proposed blocks, which the service accepts and removes. */
async function panes(storageKey: string) {
  let revision = 1
  let stored = [block('a', { state: 'pending_edit', new: 'New a' }), block('b', { state: 'pending_edit', new: 'New b' })]
  const { api, calls } = fakeApi(({ method, path }) => {
    if (path === '/api/documents/d') return json({ id: 'd', title: 'Gold', revision, blocks: stored })
    if (method === 'GET') return json({}, 404)
    const id = /blocks\/(\w)/.exec(path)?.[1]
    const current = path.endsWith('/accept') ? `New ${id}` : `Text ${id}`
    revision++
    stored = stored.map((b) => (b.id === id ? block(id, { current, revision }) : b))
    return method === 'PATCH' ? json(stored.find((b) => b.id === id)) : new Response(null, { status: 204 })
  })
  const page = <StrictMode><ChatProvider api={api} storageKey={storageKey}><Pane name="first" /><Pane name="second" /></ChatProvider></StrictMode>
  const shown = render(page)
  const of = (name: string) => within(screen.getByRole('region', { name }))
  await waitFor(() => expect(of('first').getAllByRole('button', { name: 'Accept' }).concat(of('second').getAllByRole('button', { name: 'Accept' }))).toHaveLength(4))
  return { user: userEvent.setup(), of, calls, page, ...shown }
}

describe('two panes of one document', () => {
  it.each(['k', ''])('share what was decided, under the key "%s"', async (key) => {
    const { user, of } = await panes(key)
    await user.click(of('first').getAllByRole('button', { name: 'Accept' })[0]!)
    await of('second').findByText('1 change waits for you')
    await user.click(of('second').getAllByRole('button', { name: 'Accept' })[0]!)
    await of('first').findByText('Everything is decided.')
    await user.click(of('first').getByRole('button', { name: 'Undo accepting' }))
    await waitFor(() => ['first', 'second'].map((name) => expect(of(name).getByText('1 change waits for you')).toBeTruthy()))
    await user.click(of('second').getByRole('button', { name: 'Undo accepting' }))
    await waitFor(() => ['first', 'second'].map((name) => expect(of(name).getByText('2 changes wait for you')).toBeTruthy()))
  })

  it('keep their title where nothing of a new one can be seen', async () => {
    const { user, of, calls } = await panes('k')
    await user.click(of('first').getByRole('button', { name: 'Rename the document' }))
    fireEvent.change(of('first').getByRole('textbox', { name: 'Title' }), { target: { value: '\u200b' } })
    await user.type(of('first').getByRole('textbox', { name: 'Title' }), '{Enter}')
    expect(of('first').getByRole('heading', { name: 'Gold' })).toBeTruthy()
    expect(calls.filter((c) => c.method !== 'GET')).toEqual([])
  })

  it('lose no decision with a reload', async () => {
    const { user, of, page, unmount } = await panes('k')
    await user.click(of('first').getAllByRole('button', { name: 'Accept' })[0]!)
    await of('second').findByText('1 change waits for you')
    await user.click(of('second').getAllByRole('button', { name: 'Accept' })[0]!)
    await of('first').findByText('Everything is decided.')
    unmount()
    render(page)
    await user.click(await of('second').findByRole('button', { name: 'Undo accepting' }))
    await of('first').findByText('1 change waits for you')
    await user.click(await of('first').findByRole('button', { name: 'Undo accepting' }))
    await of('second').findByText('2 changes wait for you')
    await act(async () => undefined)
  })
})
