import { screen, within } from '@testing-library/react'
import { expect, it } from 'vitest'
import { json } from './fakes'
import { chat, message, show } from './shown'

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
