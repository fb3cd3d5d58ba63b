import { screen, within } from '@testing-library/react'
import { expect, it, onTestFinished, vi } from 'vitest'
import { answerFrames, json, sse } from './fakes'
import { chat, input, message, settled, show } from './shown'

const year = new Date().getFullYear()
const noon = (year: number) => `${year}-06-15T12:00:00Z`

it('the days of other years have the year, in the list of chats and beside messages', async () => {
  const row = (id: number, title: string, at: string) => ({ conversation_id: id, chat_id: `${id}`, title, created_at: at, updated_at: at })
  const { user, container } = show(({ path }) => {
    if (path.startsWith('/api/chats?')) return json({ items: [row(7, 'Old', noon(year - 2)), row(8, 'New', noon(year))] })
    return path.startsWith('/api/chats/7') ? chat([message('q', 'user', 'First', { created_at: noon(year - 2) }), message('r', 'user', 'Second', { created_at: noon(year) })]) : undefined
  })
  await user.click(screen.getByRole('button', { name: 'Chats' }))
  const old = (await screen.findByText('Old')).closest('li')!
  expect(old.textContent).toContain(String(year - 2))
  expect(screen.getByText('New').closest('li')!.textContent).not.toContain(String(year))
  await user.click(within(old).getByText('Old'))
  await screen.findByText('First')
  const times = [...container.querySelectorAll('time')].map((t) => t.textContent)
  expect(times.map((words) => words.includes(String(year - 2)) || words.includes(String(year)))).toEqual([true, false])
})

it('a long chat makes no format for each of its messages, whenever it is drawn', async () => {
  const made = vi.fn()
  class Counted extends Intl.DateTimeFormat {
    constructor(...all: ConstructorParameters<typeof Intl.DateTimeFormat>) {
      super(...all)
      made()
    }
  }
  for (const name of ['toLocaleTimeString', 'toLocaleDateString'] as const) vi.spyOn(Date.prototype, name).mockImplementation(() => (made(), ''))
  vi.stubGlobal('Intl', Object.create(Intl, { DateTimeFormat: { value: Counted } }))
  onTestFinished(() => {
    vi.restoreAllMocks()
    vi.unstubAllGlobals()
  })
  sessionStorage.setItem('chattray:k:conversation', '7')
  const { user } = show(({ method, path }) => {
    if (method === 'POST') return sse(answerFrames('And more.'))
    return path.startsWith('/api/chats/7') ? chat(Array.from({ length: 40 }, (_, i) => message(`m${i}`, i % 2 ? 'assistant' : 'user', `Said ${i}.`, { created_at: noon(year - (i % 4 > 1 ? 1 : 0)) }))) : undefined
  }, {}, 'k')
  await screen.findByText('Said 39.')
  await user.type(input(), 'more{Enter}')
  await screen.findByText('And more.')
  await settled()
  expect(made.mock.calls.length).toBeLessThan(5)
})
