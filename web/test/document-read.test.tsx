import { act, render, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { startTransition, Suspense, useState } from 'react'
import { expect, it } from 'vitest'
import { ChatProvider } from '../src'
import { DocumentPane, DocumentVersions, emptySocketFold, useDocument, type DocumentState, type SocketBlock } from '../src/documents'
import { block } from './blocks'
import { fakeApi, json } from './fakes'
import { gateway } from './shown'

it('shows a document also if React began to draw another one and gave that up', async () => {
  const read = gateway()
  const { api } = fakeApi(({ path }) => (path === '/api/documents/d' ? read.opened.then(() => json({ id: 'd', title: 'Gold', revision: 1, blocks: [block('a')] })) : undefined))
  const never = new Promise(() => undefined)
  let drawn = ''
  const Slow = ({ id }: { id: string }) => {
    drawn = id
    if (id === 'e') throw never
    return null
  }
  const Page = ({ id }: { id: string }) => <><DocumentPane state={useDocument(id)} /><Slow id={id} /></>
  const page = (id: string) => <ChatProvider api={api} storageKey=""><Suspense><Page id={id} /></Suspense></ChatProvider>
  const { rerender } = render(page('d'))
  act(() => startTransition(() => rerender(page('e'))))
  await waitFor(() => expect(drawn).toBe('e'))
  await act(async () => read.open())
  await screen.findByText('Text a', undefined, { timeout: 2000 })
})

it('an answer that is late does not replace a later one', async () => {
  const [asked, late] = [gateway(), gateway()]
  const before = { id: 'd', title: 'Gold', revision: 1, blocks: [block('a', { state: 'pending_new', current: undefined, new: 'Text a' })] }
  let reads = 0
  const { api } = fakeApi(({ method, path }) => {
    if (path !== '/api/documents/d') return method === 'GET' ? undefined : new Response(null, { status: 204 })
    if (++reads > 2) return json({ ...before, blocks: [block('a')] })
    if (reads === 1) return json(before)
    asked.open()
    return late.opened.then(() => json(before))
  })
  const Page = () => {
    const state = useDocument('d')
    return <><DocumentPane state={state} /><button type="button" onClick={() => void state.reload()}>Read</button><output data-testid="loading">{String(state.loading)}</output></>
  }
  render(<ChatProvider api={api} storageKey=""><Page /></ChatProvider>)
  const user = userEvent.setup()
  await screen.findByText('1 change waits for you')
  await user.click(screen.getByRole('button', { name: 'Read' }))
  await asked.opened
  await user.click(screen.getByRole('button', { name: 'Accept all' }))
  await screen.findByText('Everything is decided.')
  await act(async () => late.open())
  await waitFor(() => expect(screen.getByTestId('loading').textContent).toBe('false'))
  screen.getByText('Everything is decided.')
})

it('what a socket writes into one block draws no other block again', async () => {
  const drawn: string[] = []
  const labels = { blockName: (type: string) => (drawn.push(type), type) }
  const { api } = fakeApi(({ path }) => (path === '/api/documents/d' ? json({ id: 'd', title: 'Gold', revision: 1, blocks: [block('a'), block('b', { type: 'text' })] }) : undefined))
  const Page = () => {
    const [content, write] = useState('')
    const written: SocketBlock = { id: 'n', run_id: 'r', document_id: 'd', type: 'csv', meta: '', state: 'writing', step: 0, content }
    return <><button type="button" onClick={() => write(`${content}x`)}>Write</button><DocumentPane state={useDocument('d', { ...emptySocketFold, blocks: { n: written } })} /></>
  }
  render(<ChatProvider api={api} storageKey="" labels={labels}><Page /></ChatProvider>)
  const user = userEvent.setup()
  await screen.findByText('Text a')
  drawn.length = 0
  for (let i = 0; i < 3; i++) await user.click(screen.getByRole('button', { name: 'Write' }))
  expect(drawn.length).toBeGreaterThanOrEqual(3)
  expect(drawn.filter((type) => type !== 'csv')).toEqual([])
})

it('a version that is chosen is restored only once it is shown', async () => {
  const read = gateway()
  const version = (revision: number) => ({ id: 'd', title: `Title ${revision}`, revision, blocks: [block('a', { current: `Text ${revision}` })] })
  const { api, calls } = fakeApi(({ method, path }) => {
    if (path === '/api/documents/d') return json(version(9))
    if (path === '/api/documents/d/versions') return json({ items: [5, 3, 2].map((revision) => ({ revision, title: `Title ${revision}`, reason: 'edited', blocks: 1, created_at: '2026-01-01T00:00:00Z' })) })
    if (path.endsWith('/versions/5')) return json(version(5))
    if (path.endsWith('/versions/3')) return read.opened.then(() => json(version(3)))
    return method === 'GET' ? json({ detail: 'It is gone.', code: 'not_found', status: 404 }, 404) : new Response(null, { status: 204 })
  })
  const Page = () => <DocumentVersions state={useDocument('d')} />
  render(<ChatProvider api={api} storageKey=""><Page /></ChatProvider>)
  const user = userEvent.setup()
  await user.click(await screen.findByRole('button', { name: 'Versions' }))
  await screen.findByText('Text 5')
  await user.click(screen.getByRole('button', { name: /Title 2/ }))
  await screen.findByRole('alert')
  await user.click(screen.getByRole('button', { name: /Title 3/ }))
  const restore = screen.getByRole<HTMLButtonElement>('button', { name: 'Restore this version' })
  expect(restore.disabled).toBe(true)
  expect(screen.queryByText('Text 5')).toBeNull()
  expect(screen.queryByRole('alert')).toBeNull()
  await act(async () => read.open())
  await screen.findByText('Text 3')
  await user.click(restore)
  expect(calls.filter((c) => c.method === 'POST').map((c) => c.path)).toEqual(['/api/documents/d/versions/3/restore'])
})

it('shows nothing of a document once another one is wanted, or another user is there', async () => {
  const [read, refused] = [gateway(), gateway()]
  const { api } = fakeApi(({ path }) => {
    if (path === '/api/documents/e') return read.opened.then(() => json({ id: 'e', title: 'Silver', revision: 1, blocks: [block('b')] }))
    if (path === '/api/documents/d' && !gone) return json({ id: 'd', title: 'Gold', revision: 1, blocks: [block('a', { state: 'pending_new', current: undefined, new: 'Text a' })] })
    return path === '/api/documents/d' ? refused.opened.then(() => json({ detail: 'gone', code: 'not_found', status: 404 }, 404)) : undefined
  })
  let gone = false
  const Page = ({ id }: { id: string }) => <DocumentPane state={useDocument(id)} />
  const page = (id: string, user: string) => <ChatProvider api={api} storageKey={user}><Page id={id} /></ChatProvider>
  const { rerender } = render(page('d', 'ada'))
  await screen.findByText('Text a')
  rerender(page('e', 'ada'))
  // Accepting all would accept what is not in sight.
  for (const of of ['Gold', 'Text a', 'Accept all']) expect(screen.queryByText(of)).toBeNull()
  await act(async () => read.open())
  await screen.findByText('Text b')
  rerender(page('d', 'ada'))
  await screen.findByText('Text a')
  gone = true
  rerender(page('d', 'grace'))
  expect(screen.queryByText('Text a')).toBeNull()
  await act(async () => refused.open())
  await screen.findByRole('alert')
  expect(screen.queryByText('Text a')).toBeNull()
})

it('is loading until the document that is wanted has been read, not the one before', async () => {
  const [first, second] = [gateway(), gateway()]
  const { api } = fakeApi(({ path }) => {
    const gate = { '/api/documents/d': first, '/api/documents/e': second }[path]
    return gate?.opened.then(() => json({ id: path.at(-1), title: 'Gold', revision: 1, blocks: [] }))
  })
  let state: DocumentState | undefined
  const Page = ({ id }: { id: string }) => {
    state = useDocument(id)
    return null
  }
  const page = (id: string) => <ChatProvider api={api} storageKey=""><Page id={id} /></ChatProvider>
  const { rerender } = render(page('d'))
  let read: Promise<void> | undefined
  act(() => {
    read = state!.reload()
  })
  rerender(page('e'))
  await act(async () => {
    first.open()
    await read
  })
  expect(state!.loading).toBe(true)
  await act(async () => second.open())
  await waitFor(() => expect(state!.loading).toBe(false))
  expect(state!.document?.id).toBe('e')
})
