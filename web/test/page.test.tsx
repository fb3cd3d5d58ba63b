import { act, fireEvent, render, screen, waitFor } from '@testing-library/react'
import { expect, it } from 'vitest'
import { DemoModel, type PageTray } from '../page/App'
import { DocumentPage } from '../page/pages/Document'
import { EditStreamPage } from '../page/pages/EditStream'
import { StreamsPage } from '../page/pages/Streams'
import { ChatProvider } from '../src'
import { createResearchApi } from '../src/research'
import { fakeApi, json } from './fakes'
import { gateway } from './shown'

it('the starters of the front page lead to a document with a chart, to research, to an approval and to what else there is', async () => {
  const { api } = fakeApi(({ path }) => (path.startsWith('/api/streams') ? json({ items: [] }) : undefined))
  let tray: PageTray | undefined
  render(<StreamsPage api={createResearchApi(api)} route={['streams']} setTray={(t) => { tray = t }} />)
  await waitFor(() => expect(tray).toBeDefined())
  const said = tray!.starters.map((s) => `${s.label} | ${s.hint ?? ''} | ${s.message ?? ''}`)
  for (const to of [/^Create a report with a chart .* review block by block/, /^Research .* sources/, /^Order 2 printed copies of report 1 .*Asks you before/, /\| help$/]) expect(said.filter((s) => to.test(s)), String(to)).toHaveLength(1)
})

it.each([[['demo'], 1], [['gpt-4.1-mini'], 0], [['demo', 'gpt-4.1-mini'], 0]])('with the models %j the page says %d times that the demo model answers', async (names, times) => {
  const { api } = fakeApi(({ path }) => (path === '/api/models' ? json({ items: names.map((name) => ({ name })) }) : undefined))
  render(<DemoModel api={api} />)
  await act(() => api.listModels()) // after the page's
  expect(screen.queryAllByText('Demo model')).toHaveLength(times)
})

it('a form can be of any stream; what it holds is there when the user comes back, and is not lost without a question when the page closes', async () => {
  let name = 'Gold'
  const { api } = fakeApi(({ method, path, body }) => {
    if (path === '/api/streams') return json({ items: [{ stream_id: 2 }, { stream_id: 50 }] })
    if (path !== '/api/streams/2') return undefined
    if (method === 'PUT') ({ name } = body as { name: string })
    return json({ stream_id: 2, name, purpose: 'p', schema: {} })
  })
  const form = <EditStreamPage api={createResearchApi(api)} route={['edit', '2']} setTray={() => {}} />
  const field = async () => (await screen.findByLabelText('Name')) as HTMLInputElement
  const asks = () => !window.dispatchEvent(new Event('beforeunload', { cancelable: true }))
  const first = render(form)
  expect((await field()).value).toBe('Gold')
  await waitFor(() => expect(screen.getAllByRole('option').map((o) => o.textContent)).toEqual(['2', '50']))
  expect(asks()).toBe(false)
  fireEvent.change(await field(), { target: { value: 'Silver' } })
  expect(asks()).toBe(true)
  first.unmount()
  render(form)
  expect((await field()).value).toBe('Silver')
  fireEvent.click(screen.getByRole('button', { name: 'Save' }))
  await waitFor(() => expect(asks()).toBe(false))
  expect((await field()).value).toBe('Silver')
})

it('a form that is left while it is saved has nothing unsaved', async () => {
  const [asked, stored] = [gateway(), gateway()]
  let name = 'Gold'
  const { api } = fakeApi(({ method, path, body }) => {
    if (path !== '/api/streams/3') return undefined
    if (method === 'PUT') return asked.open(), stored.opened.then(() => (({ name } = body as { name: string }), json({ stream_id: 3, name, purpose: 'p', schema: {} })))
    return json({ stream_id: 3, name, purpose: 'p', schema: {} })
  })
  const { unmount } = render(<EditStreamPage api={createResearchApi(api)} route={['edit', '3']} setTray={() => {}} />)
  fireEvent.change(await screen.findByLabelText('Name'), { target: { value: 'Silver' } })
  fireEvent.click(screen.getByRole('button', { name: 'Save' }))
  await asked.opened
  unmount()
  stored.open()
  await waitFor(() => expect(window.dispatchEvent(new Event('beforeunload', { cancelable: true }))).toBe(true))
})

it('a document that cannot be exported says why', async () => {
  const { api } = fakeApi(({ path }) => {
    if (path === '/api/documents') return json({ items: [{ id: 'd', title: 'Gold' }] })
    if (path === '/api/documents/d') return json({ id: 'd', title: 'Gold', revision: 1, blocks: [] })
    return path.endsWith('/export') || path.includes('/export?') ? json({ detail: 'It is busy.', code: 'busy', status: 503 }, 503) : undefined
  })
  render(<ChatProvider api={api} storageKey=""><DocumentPage api={api} route={['document', 'd']} setTray={() => {}} theme="auto" /></ChatProvider>)
  await screen.findByRole('heading', { name: 'Gold' })
  fireEvent.click(screen.getByRole('button', { name: 'Export' }))
  expect(await screen.findByText('It is busy.')).toBeTruthy()
})
