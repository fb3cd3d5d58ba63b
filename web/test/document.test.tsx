import { act, render, screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it } from 'vitest'
import { ChatProvider } from '../src'
import { DocumentPane, useDocument, type Block } from '../src/documents'
import { block } from './blocks'
import { fakeApi, json } from './fakes'
import { gateway } from './shown'

function Pane() {
  return <DocumentPane state={useDocument('d')} />
}

/** Shows a document whose blocks the test may change. */
async function shown(blocks: Block[]) {
  const document = { id: 'd', title: 'Gold', revision: 1, blocks }
  const { api, calls } = fakeApi(({ method, path }) => (path === '/api/documents/d' ? json(document) : method === 'GET' ? undefined : new Response(null, { status: 204 })))
  const { container } = render(<ChatProvider api={api} storageKey=""><Pane /></ChatProvider>)
  await screen.findByText('Gold')
  return { calls, document, user: userEvent.setup(), order: () => [...container.querySelectorAll<HTMLElement>('[data-block], [data-place]')].map((e) => e.dataset.block ?? `(${e.textContent})`), of: (id: string) => within(container.querySelector<HTMLElement>(`[data-block=${id}]`)!) }
}

it('a block that was changed elsewhere shows that change before it is replaced', async () => {
  const stored = { id: 'd', title: 'Gold', revision: 1, blocks: [block('a')] }
  const { api, calls } = fakeApi(({ method, path, headers }) => {
    if (path === '/api/documents/d') return json(stored)
    if (method !== 'PATCH') return undefined
    return headers['If-Match']?.includes(String(stored.blocks[0]!.revision)) ? new Response(null, { status: 204 }) : json({ detail: 'changed', code: 'conflict' }, 412)
  })
  render(<ChatProvider api={api} storageKey=""><Pane /></ChatProvider>)
  const user = userEvent.setup()
  await user.click(await screen.findByRole('button', { name: 'Edit the block' }))
  const field = screen.getByLabelText<HTMLTextAreaElement>('Content')
  await user.clear(field)
  await user.type(field, 'Mine')
  stored.blocks = [block('a', { current: 'Text of another', revision: 3 })]
  await user.click(screen.getByRole('button', { name: 'Save' }))
  const editor = within(field.closest('form')!)
  expect((await editor.findByRole('alert')).textContent).toContain('The document has changed in the meantime')
  expect([...field.closest('form')!.querySelectorAll('ins')].map((e) => e.textContent).join('')).toContain('another')
  expect(field.value).toBe('Mine')
  await user.click(screen.getByRole('button', { name: 'Save' }))
  await waitFor(() => expect(screen.queryByLabelText('Content')).toBeNull())
  expect(calls.filter((c) => c.method === 'PATCH').map((c) => c.headers['If-Match'])).toEqual(['"1"', '"3"'])
})

it('a text that is typed into a block is there when the document is shown again', async () => {
  const stored = { d: [block('a')], e: [block('a')] }
  const { api, calls } = fakeApi(({ method, path }) => {
    const id = path.slice('/api/documents/'.length)
    if (id === 'd' || id === 'e') return json({ id, title: `Title ${id}`, revision: 1, blocks: stored[id] })
    return method === 'GET' ? undefined : new Response(null, { status: 204 })
  })
  const One = ({ id }: { id: string | null }) => <DocumentPane state={useDocument(id)} />
  const page = (id: string | null) => <ChatProvider api={api} storageKey="">{id && <One id={id} />}</ChatProvider>
  const { rerender } = render(page('d'))
  const user = userEvent.setup()
  const fields = () => screen.queryAllByLabelText<HTMLTextAreaElement>('Content').map((f) => f.value)
  await user.click(await screen.findByRole('button', { name: 'Edit the block' }))
  await user.type(screen.getByLabelText('Content'), ', and mine')
  await user.click(screen.getByRole('button', { name: 'Add a block' }))
  await user.type(screen.getAllByLabelText('Content')[1]!, 'A new one')
  rerender(page(null))
  rerender(page('e'))
  await screen.findByText('Title e')
  expect(fields()).toEqual([])
  stored.d = [block('a', { current: 'Text of another', revision: 3 })]
  rerender(page('d'))
  await screen.findByText('Title d')
  expect(fields()).toEqual(['Text a, and mine', 'A new one'])
  expect(screen.getByRole('alert').textContent).toContain('The document has changed in the meantime')
  expect(document.activeElement).toBe(document.body)
  await user.click(screen.getAllByRole('button', { name: 'Save' })[1]!)
  await waitFor(() => expect(fields()).toEqual(['Text a, and mine']))
  await user.click(screen.getByRole('button', { name: 'Cancel' }))
  rerender(page(null))
  rerender(page('d'))
  await screen.findByText('Title d')
  expect(fields()).toEqual([])
  expect(calls.filter((c) => c.method === 'POST').map((c) => c.body)).toEqual([{ type: 'md', content: 'A new one' }])
})

it('a text that is typed into a block which is removed elsewhere can be added again', async () => {
  const stored = [block('a', { type: 'csv', current: 'x' }), block('b')]
  const { api, calls } = fakeApi(({ method, path, body }) => {
    if (path === '/api/documents/d') return json({ id: 'd', title: 'Gold', revision: 1, blocks: stored })
    if (method === 'PATCH') {
      stored.shift()
      return json({ detail: 'There is nothing under this id.', code: 'not_found', status: 404 }, 404)
    }
    if (method === 'DELETE') stored.pop()
    if (method === 'POST') stored.push(block('c', { ...body, current: body.content }))
    return method === 'GET' ? undefined : new Response(null, { status: 204 })
  })
  render(<ChatProvider api={api} storageKey=""><Pane /></ChatProvider>)
  const user = userEvent.setup()
  const fields = () => screen.queryAllByLabelText<HTMLTextAreaElement>('Content').map((f) => f.value)
  await user.click((await screen.findAllByRole('button', { name: 'Edit the block' }))[0]!)
  await user.type(screen.getByLabelText('Content'), ',y')
  await user.click(screen.getAllByRole('button', { name: 'Edit the block' })[1]!)
  await user.type(screen.getAllByLabelText('Content')[1]!, ' unwanted')
  await user.click(screen.getAllByRole('button', { name: 'Save' })[0]!)
  await waitFor(() => expect(fields()).toEqual(['Text b unwanted', 'x,y']))
  screen.getByText(/The document has changed in the meantime/)
  await user.click(screen.getByRole('button', { name: 'Delete the block' }))
  await user.click(within(screen.getByRole('group', { name: 'Delete this block?' })).getByRole('button', { name: 'Delete' }))
  await waitFor(() => expect(fields()).toEqual(['x,y']))
  await user.click(screen.getByRole('button', { name: 'Save' }))
  await waitFor(() => expect(fields()).toEqual([]))
  expect(calls.filter((c) => c.method === 'POST').map((c) => c.body)).toEqual([{ type: 'csv', content: 'x,y' }])
})

describe('a block that is proposed to be moved', () => {
  it('has a mark where it goes, and says at its old place where that is', async () => {
    const { order, of, user } = await shown([block('a'), block('b', { state: 'pending_move', new_position: 'd5' }), block('c'), block('d'), block('e')])
    expect(order()).toEqual(['a', 'b', 'c', 'd', '(“Text b” moves here)', 'e'])
    of('b').getByText('To be moved')
    await user.click(of('b').getByRole('button', { name: 'after “Text d”' }))
    const mark = screen.getByRole('button', { name: '“Text b” moves here' })
    expect(document.activeElement).toBe(mark)
    await user.click(mark)
    expect((document.activeElement as HTMLElement).dataset.block).toBe('b')
  })

  it('goes to the front or to the end, also with a new text, beside others that move', async () => {
    const { order, of } = await shown([block('b'), block('c', { state: 'pending_edit', new: 'Text new', new_position: 'a' }), block('d', { type: 'csv', current: 'x\n1', state: 'pending_move', new_position: 'a5' }), block('e', { state: 'pending_move', new_position: 'h' }), block('f'), block('g', { state: 'pending_delete', new_position: 'a' })])
    expect(order()).toEqual(['(“Text new” moves here)', '(“csv block” moves here)', 'b', 'c', 'd', 'e', 'f', 'g', '(“Text e” moves here)'])
    of('c').getByText('Changed')
    of('c').getByText('To be moved')
    of('c').getByRole('button', { name: 'to the front' })
    of('e').getByRole('button', { name: 'after “Text g”' })
  })

  it('has no mark once it is decided', async () => {
    const { order, of, document: stored, user, calls } = await shown([block('a'), block('b'), block('c', { state: 'pending_move', new_position: '0' })])
    expect(order()[0]).toBe('(“Text c” moves here)')
    stored.blocks = [block('c', { position: '0', revision: 2 }), block('a'), block('b')]
    await user.click(of('c').getByRole('button', { name: 'Accept' }))
    expect(calls.some((c) => c.path === '/api/blocks/c/accept')).toBe(true)
    await waitFor(() => expect(order()).toEqual(['c', 'a', 'b']))
  })
})

it('a block that an answer has only planned can be reverted, and is not accepted', async () => {
  const planned = { state: 'pending_new', current: undefined, new: '', meta: { plan: { heading: 'Mines', brief: '' } } } as const
  const { document: stored, user, calls, of } = await shown([block('a', { state: 'pending_new', current: undefined, new: 'Text a' }), block('b', planned)])
  screen.getByText('1 change waits for you')
  of('b').getByText('Planned')
  of('b').getByText('Mines')
  expect(of('b').queryByRole('button', { name: 'Accept' })).toBeNull()
  await user.keyboard('{Tab}')
  document.querySelector<HTMLElement>('[data-block=b]')!.focus()
  await user.keyboard('a')
  stored.blocks = [block('a', { current: 'Text a', revision: 2 }), block('b', planned)]
  await user.click(screen.getByRole('button', { name: 'Accept all' }))
  await screen.findByText('Everything is decided.')
  stored.blocks = [block('a', { state: 'clean', current: 'Text a', revision: 2 })]
  await user.click(of('b').getByRole('button', { name: 'Revert' }))
  await waitFor(() => expect(document.querySelector('[data-block=b]')).toBeNull())
  expect(calls.filter((c) => c.method === 'POST').map((c) => c.path)).toEqual(['/api/documents/d/accept', '/api/blocks/b/revert'])
})

it('undoes Revert all: what was proposed waits again, and can be accepted', async () => {
  const { order, document: stored, user, calls } = await shown([block('a', { state: 'pending_edit', new: 'Text new' }), block('b', { state: 'pending_move', new_position: '0' })])
  const proposed = order()
  stored.blocks = [block('a', { revision: 2 }), block('b', { revision: 2 })]
  await user.click(screen.getByRole('button', { name: 'Revert all' }))
  await waitFor(() => expect(order()).toEqual(['a', 'b']))
  screen.getByText('Everything is decided.')
  await user.click(screen.getByRole('button', { name: 'Undo reverting' }))
  await waitFor(() => expect(order()).toEqual(proposed))
  screen.getByText('2 changes wait for you')
  expect(screen.queryByRole('button', { name: 'Undo reverting' })).toBeNull()
  await user.click(screen.getByRole('button', { name: 'Accept all' }))
  await waitFor(() => expect(calls.filter((c) => c.method === 'PATCH').map((c) => [c.path, c.body])).toEqual([['/api/blocks/a', { content: 'Text new' }], ['/api/blocks/b', { after_block_id: '' }]]))
})

it('goes on with undoing Accept all where the service refused it, and loses nothing', async () => {
  const stored = { id: 'd', title: 'Gold', revision: 1, blocks: ['a', 'b'].map((id) => block(id, { state: 'pending_new', current: undefined, new: `Text ${id}` })) }
  let most = 1
  const { api } = fakeApi(({ method, path }) => {
    if (path === '/api/documents/d') return json(stored)
    if (path.endsWith('/accept')) stored.blocks = stored.blocks.map((b) => block(b.id))
    if (method === 'DELETE' && most-- <= 0) return json({ detail: 'Too many requests.', code: 'rate_limited', status: 429 }, 429)
    if (method === 'DELETE') stored.blocks = stored.blocks.filter((b) => !path.endsWith(b.id))
    return method === 'GET' ? undefined : new Response(null, { status: 204 })
  })
  render(<ChatProvider api={api} storageKey=""><Pane /></ChatProvider>)
  const user = userEvent.setup()
  await user.click(await screen.findByRole('button', { name: 'Accept all' }))
  const undo = await screen.findByRole('button', { name: 'Undo accepting' })
  await user.click(undo)
  await screen.findByText('1 change waits for you')
  screen.getByText('Text a')
  most = 2
  await user.click(undo)
  await screen.findByText('2 changes wait for you')
  expect(stored.blocks).toEqual([])
  screen.getByText('Text a')
  screen.getByText('Text b')
})

it('a block moves up beside one that only this page proposes', async () => {
  let stored = [block('n', { state: 'pending_new', current: undefined, new: 'Text n' }), block('b'), block('c')]
  const { api, calls } = fakeApi(({ method, path }) => {
    if (path === '/api/documents/d') return json({ id: 'd', title: 'Gold', revision: 1, blocks: stored })
    if (method === 'POST') stored = stored.map((b) => block(b.id))
    if (method === 'DELETE') stored = stored.slice(1)
    return method === 'GET' ? undefined : new Response(null, { status: 204 })
  })
  const { container } = render(<ChatProvider api={api} storageKey=""><Pane /></ChatProvider>)
  const user = userEvent.setup()
  await user.click(await screen.findByRole('button', { name: 'Accept' }))
  await user.click(await screen.findByRole('button', { name: 'Undo accepting' }))
  await screen.findByText('1 change waits for you')
  const up = (at: number) => user.click(screen.getAllByRole('button', { name: 'Move the block up' }).at(at)!)
  await up(-1)
  await waitFor(() => expect(calls.filter((c) => c.method === 'PATCH').map((c) => [c.path, c.body])).toEqual([['/api/blocks/c', { after_block_id: '' }]]))
  const order = () => [...container.querySelectorAll<HTMLElement>('[data-block]')].map((e) => e.dataset.block)
  expect(order()).toEqual(['n', 'b', 'c'])
  await up(0)
  expect(order()).toEqual(['b', 'n', 'c'])
  await user.click(screen.getByRole('button', { name: 'Accept' }))
  await waitFor(() => expect(calls.at(-2)).toMatchObject({ method: 'POST', path: '/api/documents/d/blocks', body: { content: 'Text n', after_block_id: 'b' } }))
})

it('what an undo has taken back so far waits when the document is shown again', async () => {
  sessionStorage.clear()
  const [asked, never] = [gateway(), gateway()]
  const stored = { id: 'd', owner: 'u', title: 'Gold', revision: 1, blocks: ['a', 'b'].map((id) => block(id, { state: 'pending_new', current: undefined, new: `Text ${id}` })) }
  const { api } = fakeApi(({ method, path }) => {
    if (path === '/api/documents/d') return json(stored)
    stored.revision++
    if (path.endsWith('/accept')) stored.blocks = stored.blocks.map((b) => block(b.id))
    if (path.endsWith('/b')) return asked.open(), never.opened.then(() => new Response(null, { status: 204 }))
    if (method === 'DELETE') stored.blocks = stored.blocks.slice(1)
    return method === 'GET' ? undefined : new Response(null, { status: 204 })
  })
  const open = () => render(<ChatProvider api={api} storageKey="k"><Pane /></ChatProvider>)
  const { unmount } = open()
  const user = userEvent.setup()
  await user.click(await screen.findByRole('button', { name: 'Accept all' }))
  await user.click(await screen.findByRole('button', { name: 'Undo accepting' }))
  await asked.opened
  unmount()
  open()
  await screen.findByText('1 change waits for you')
  screen.getByText('Text a')
  never.open()
})

describe('an undo that is not answered yet', () => {
  const accepted = async (refused = false) => {
    const [asked, answer] = [gateway(), gateway()]
    let stored = [block('a', { state: 'pending_edit', new: 'New a' }), block('b', { state: 'pending_new', current: undefined, new: 'New b' })]
    const { api } = fakeApi(({ method, path }) => {
      if (path === '/api/documents/d') return json({ id: 'd', title: 'Title d', revision: 1, blocks: [...stored] })
      if (path === '/api/documents/e') return json({ id: 'e', title: 'Title e', revision: 1, blocks: [block('c')] })
      const id = path.split('/')[3]
      if (method === 'POST') stored = stored.map((b) => (b.id === id ? block(b.id, { current: b.new, revision: 2 }) : b))
      if (method === 'PATCH') stored = stored.map((b) => (b.id === id ? block(b.id, { revision: 3 }) : b))
      if (method !== 'DELETE') return method === 'GET' ? undefined : new Response(null, { status: 204 })
      const here = stored.some((b) => b.id === id)
      stored = stored.filter((b) => b.id !== id)
      asked.open()
      return answer.opened.then(() => (here && !refused ? new Response(null, { status: 204 }) : json({ detail: 'There is nothing under this id.', code: 'not_found', status: 404 }, 404)))
    })
    const One = ({ id }: { id: string }) => <DocumentPane state={useDocument(id)} />
    const page = (id: string) => <ChatProvider api={api} storageKey=""><One id={id} /></ChatProvider>
    const { rerender } = render(page('d'))
    const user = userEvent.setup()
    await user.click((await screen.findAllByRole('button', { name: 'Accept' }))[0]!)
    await screen.findByText('1 change waits for you')
    await user.click(screen.getByRole('button', { name: 'Accept' }))
    await screen.findByText('Everything is decided.')
    return { asked, answer, user, show: (id: string) => rerender(page(id)) }
  }

  it('is not begun twice, and the decision before can still be undone', async () => {
    const { asked, answer, user } = await accepted()
    const undo = screen.getByRole('button', { name: 'Undo accepting' })
    await user.click(undo)
    await user.click(undo)
    await asked.opened
    await act(async () => answer.open())
    await screen.findByText('1 change waits for you')
    await user.click(screen.getByRole('button', { name: 'Undo accepting' }))
    await screen.findByText('2 changes wait for you')
    expect(screen.queryByRole('alert')).toBeNull()
  })

  it.each([false, true])('proposes nothing in a document that is shown meanwhile, and tells no error there, refused: %s', async (refused) => {
    const { asked, answer, user, show } = await accepted(refused)
    await user.click(screen.getByRole('button', { name: 'Undo accepting' }))
    await asked.opened
    show('e')
    await screen.findByText('Title e')
    await act(async () => answer.open())
    show('e')
    expect(screen.queryByRole('status') ?? screen.queryByRole('alert')).toBeNull()
  })
})

it('says how much waits without the names of the buttons beside it', async () => {
  const { user } = await shown([block('a', { state: 'pending_edit', new: 'Text new' })])
  expect(screen.getByRole('status').textContent).toBe('1 change waits for you')
  await user.click(screen.getByRole('button', { name: 'Revert all' }))
  await screen.findByRole('button', { name: 'Undo reverting' })
  expect(screen.getByRole('status').textContent).toBe('1 change waits for you')
})

it.each(['accepting', 'reverting'])('a title that waited waits again after %s is undone, over a reload too', async (act) => {
  const stored = { id: 'd', owner: 'u', title: 'Gold', new_title: 'Silver' as string | undefined, revision: 1, blocks: [block('a')] }
  const { api } = fakeApi(({ method, path, body }) => {
    if (path === '/api/documents/d/accept') stored.title = stored.new_title ?? stored.title
    if (method === 'PATCH') stored.title = body.title
    if (method !== 'GET') stored.new_title = undefined
    return path === '/api/documents/d' ? json(stored) : method === 'GET' ? undefined : new Response(null, { status: 204 })
  })
  const open = () => render(<ChatProvider api={api} storageKey="k"><Pane /></ChatProvider>)
  const heading = () => screen.getByRole('heading').textContent
  const first = open()
  const user = userEvent.setup()
  await user.click(await screen.findByRole('button', { name: act === 'accepting' ? 'Accept all' : 'Revert all' }))
  await waitFor(() => expect(heading()).toBe(act === 'accepting' ? 'Silver' : 'Gold'))
  await user.click(screen.getByRole('button', { name: `Undo ${act}` }))
  await waitFor(() => expect(heading()).toBe('Gold Silver'))
  screen.getByText('1 change waits for you')
  expect(stored.title).toBe('Gold')
  first.unmount()
  open()
  await user.click(await screen.findByRole('button', { name: 'Accept all' }))
  await waitFor(() => expect(heading()).toBe('Silver'))
  expect(stored.title).toBe('Silver')
  screen.getByText('Everything is decided.')
})

describe('after a reload', () => {
  /** Shows a document to which the service gives a new revision with each change. */
  const open = (stored: object, storageKey = 'k') => {
    const { api, calls } = fakeApi(({ method, path }) => (path === '/api/documents/d' ? json(stored) : method === 'GET' ? undefined : new Response(null, { status: 204 })))
    const { unmount } = render(<ChatProvider api={api} storageKey={storageKey}><Pane /></ChatProvider>)
    return { calls, unmount, user: userEvent.setup() }
  }
  const clean = { id: 'd', owner: 'u', title: 'Gold', revision: 2, blocks: [block('a', { revision: 2 }), block('b', { revision: 2 })] }

  /** Reverts all of a document with two changes, and reloads. */
  async function reverted() {
    sessionStorage.clear()
    const stored = { ...clean, revision: 1, blocks: [block('a', { state: 'pending_edit', new: 'Text new' }), block('b', { state: 'pending_delete' })] }
    const { user, unmount } = open(stored)
    const all = await screen.findByRole('button', { name: 'Revert all' })
    Object.assign(stored, clean)
    await user.click(all)
    await screen.findByText('Everything is decided.')
    unmount()
  }

  it('a decision can still be undone, and what waits again waits over the next reload too', async () => {
    await reverted()
    const first = open(clean)
    await first.user.click(await screen.findByRole('button', { name: 'Undo reverting' }))
    await screen.findByText('2 changes wait for you')
    first.unmount()
    const second = open(clean)
    await screen.findByText('2 changes wait for you')
    expect(screen.queryByRole('button', { name: 'Undo reverting' })).toBeNull()
    await second.user.click(screen.getByRole('button', { name: 'Accept all' }))
    await waitFor(() => expect(second.calls.filter((c) => ['PATCH', 'DELETE'].includes(c.method)).map((c) => [c.path, c.body])).toEqual([['/api/blocks/a', { content: 'Text new' }], ['/api/blocks/b', undefined]]))
    // Now it is the accepting that can be undone.
    await screen.findByRole('button', { name: 'Undo accepting' })
  })

  it.each([
    ['the document has changed since', { ...clean, revision: 3 }, 'k'], ['it is of another user', { ...clean, owner: 'v' }, 'k'], ['the page has another name', clean, 'l'], ['the page stores nothing', clean, ''],
  ])('nothing is undone if %s', async (_, stored, name) => {
    await reverted()
    open(stored, name)
    await screen.findByText('Text a')
    expect(screen.queryByRole('button', { name: 'Undo reverting' })).toBeNull()
  })
})

it('a block takes no text while it is saved, which would be lost when that is done', async () => {
  const answer = gateway()
  const { api } = fakeApi(({ method, path }) => (path === '/api/documents/d' ? json({ id: 'd', title: 'Gold', revision: 1, blocks: [block('a')] }) : method === 'PATCH' ? answer.opened.then(() => json({ detail: 'not today', code: 'unavailable' }, 503)) : undefined))
  render(<ChatProvider api={api} storageKey=""><Pane /></ChatProvider>)
  const user = userEvent.setup()
  await user.click(await screen.findByRole('button', { name: 'Edit the block' }))
  const field = screen.getByLabelText<HTMLTextAreaElement>('Content')
  await user.type(field, ' one')
  await user.click(screen.getByRole('button', { name: 'Save' }))
  await user.type(field, ' two')
  expect(field.value).toBe('Text a one')
  await act(async () => answer.open())
  await waitFor(() => expect(field.readOnly).toBe(false))
  await user.type(field, ' two')
  expect(field.value).toBe('Text a one two')
})
