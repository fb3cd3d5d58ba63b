import { render, waitFor } from '@testing-library/react'
import { expect, it } from 'vitest'
import type { PageTray } from '../page/App'
import { StreamsPage } from '../page/pages/Streams'
import { createResearchApi } from '../src/research'
import { fakeApi, json } from './fakes'

it('the starters of the front page lead to a document with a chart, to research, to an approval and to what else there is', async () => {
  const { api } = fakeApi(({ path }) => (path.startsWith('/api/streams') ? json({ items: [] }) : undefined))
  let tray: PageTray | undefined
  render(<StreamsPage api={createResearchApi(api)} route={['streams']} setTray={(t) => { tray = t }} />)
  await waitFor(() => expect(tray).toBeDefined())
  const said = tray!.starters.map((s) => `${s.label} | ${s.hint ?? ''} | ${s.message ?? ''}`)
  for (const to of [/^Create a report with a chart .* review block by block/, /^Research .* sources/, /^Order 2 printed copies of report 1 .*Asks you before/, /\| help$/]) expect(said.filter((s) => to.test(s)), String(to)).toHaveLength(1)
})
