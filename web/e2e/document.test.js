import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { browser, call, service, until } from './world.js'

let server, chromium
before(async () => {
  ;[server, chromium] = await Promise.all([service(), browser()])
})
after(async () => {
  await chromium.close()
  await server.kill()
})

const states = (page) => page.locator('.ct-block[data-block]').evaluateAll((all) => all.map((b) => b.dataset.state))

test('a document is planned, filled while one looks, accepted and reverted block by block', async () => {
  const page = await chromium.open(`${server.url}/#/document`)
  await page.button('New document').click()
  await page.getByText('This document is empty.').waitFor()
  await page.ask('Create a research report about gold')
  await page.getByText('7 changes wait for you').waitFor({ timeout: 20_000 })
  await page.locator('.ct-block[data-writing] .ct-md').first().waitFor({ timeout: 20_000 })
  await page.settled(60_000)
  await page.locator('.ct-chart canvas').waitFor()
  await page.locator('.ct-block .ct-table').first().waitFor()
  await page.shot('document')
  assert.deepEqual(await states(page), Array(6).fill('pending_new'))

  const first = page.locator('.ct-block[data-block]').first()
  await first.getByRole('button', { name: 'Accept' }).click()
  await until('one is accepted', async () => (await states(page)).join() === ['clean', ...Array(5).fill('pending_new')].join())
  await page.locator('.ct-block[data-block]').last().getByRole('button', { name: 'Revert' }).click()
  await until('one is gone', async () => (await states(page)).length === 5)
  await page.button('Accept all').click()
  await until('all are accepted', async () => (await states(page)).every((s) => s === 'clean'))
  await page.locator('.ct-doc-title').getByText('Research report: gold').waitFor()

  await page.ask('Shorten the summary')
  await page.settled()
  await page.locator('.ct-block[data-state=pending_edit] .ct-diff del').first().waitFor()
  await page.shot('diff')
  const edited = page.locator('.ct-block[data-state=pending_edit]')
  await edited.getByRole('button', { name: 'Current' }).click()
  await edited.getByRole('button', { name: 'Revert' }).click()
  await until('the old text is back', async () => (await states(page)).every((s) => s === 'clean'))

  await page.answers.last().getByRole('button', { name: 'Add to document' }).click()
  await until('the chat block is in the document', async () => (await states(page)).filter((s) => s === 'pending_new').length === 1)
  await page.button('Revert all').click()
  await until('it is gone again', async () => (await states(page)).every((s) => s === 'clean'))
  assert.deepEqual(page.bad, [])
  await page.context().close()
})

test('a document that the assistant makes is shown, where there was none', async () => {
  const page = await chromium.open(`${server.url}/#/document`)
  for (const { id } of (await call(server.url, 'GET', '/api/documents')).items) await call(server.url, 'DELETE', `/api/documents/${id}`)
  await page.reload()
  await page.hasText('There is no document yet.')
  await page.ask('Create a research report about gold')
  await page.locator('.ct-block[data-writing] .ct-md').first().waitFor({ timeout: 20_000 })
  await page.settled(60_000)
  await until('all blocks are there', async () => (await states(page)).join() === Array(6).fill('pending_new').join())
  assert.deepEqual(page.bad, [])
  await page.context().close()
})

test('tables, images and charts of all kinds load nothing and run nothing', async () => {
  const made = await call(server.url, 'POST', '/api/documents', { title: 'Kinds' })
  const add = (block) => call(server.url, 'POST', `/api/documents/${made.id}/blocks`, block)
  await add({ type: 'csv', content: 'name,value\n"<img src=x onerror=window.hostile=1>",=1+1\n"a ""quoted"" one",2' })
  await add({ type: 'image/png', content: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', meta: { width: 40, height: 40 } })
  await add({ type: 'interactive_chart', content: 'year,tonnes\n2022,3000\n2023,3100\n', meta: { mark: 'bar', encoding: { x: { field: 'year', type: 'ordinal' }, y: { field: 'tonnes', type: 'quantitative' } } } })
  await add({
    type: 'interactive_chart', content: 'x,y\n1,2\n', meta: {
      mark: { type: 'image', width: 10, height: 10 }, data: { url: 'https://example.com/data.json' },
      transform: [{ calculate: "constructor.constructor('window.hostile = true')()", as: 'z' }],
      encoding: { x: { field: 'x', type: 'quantitative' }, y: { field: 'y', type: 'quantitative' }, url: { value: 'https://example.com/pixel.png' }, href: { value: 'javascript:window.hostile=true' } },
      usermeta: { embedOptions: { loader: {} } },
    },
  })
  await add({ type: 'application/unknown', content: '<b>plain</b>' })
  const page = await chromium.open(`${server.url}/#/document/${made.id}`)
  await page.locator('.ct-chart canvas').first().waitFor()
  assert.equal(await page.locator('.ct-block img').evaluate((img) => img.complete && img.naturalWidth), 1)
  assert.equal(await page.locator('.ct-block td').first().textContent(), '<img src=x onerror=window.hostile=1>')
  await page.hasText('<b>plain</b>')
  assert.equal(await page.evaluate(() => window.hostile), undefined)
  await page.shot('kinds')
  assert.deepEqual(page.bad, [])
  await page.context().close()
})

test('a block is deleted only on a second word, and what was written is not lost when it cannot be kept', async () => {
  const made = await call(server.url, 'POST', '/api/documents', { title: 'Care' })
  const block = await call(server.url, 'POST', `/api/documents/${made.id}/blocks`, { type: 'md', content: 'As it was.' })
  const page = await chromium.open(`${server.url}/#/document/${made.id}`)
  await page.button('Delete the block').click()
  await page.button('Cancel').click()
  await page.hasText('As it was.')
  await page.button('Edit the block').click()
  await call(server.url, 'PATCH', `/api/blocks/${block.id}`, { content: 'Changed elsewhere.' })
  await page.getByLabel('Content').fill('My long thought.')
  await page.button('Save').click()
  await page.hasText('The document has changed meanwhile')
  assert.equal(await page.getByLabel('Content').inputValue(), 'My long thought.')
  await page.button('Save').click()
  await page.locator('.ct-block').getByText('My long thought.').waitFor()
  await page.button('Delete the block').click()
  await page.getByRole('group', { name: 'Delete this block?' }).getByRole('button', { name: 'Delete' }).click()
  await page.getByText('This document is empty.').waitFor()
  await page.button('Rename the document').click()
  await page.getByLabel('Title').fill('With care')
  await page.locator('.app-head').click()
  await until('the title is kept', async () => (await call(server.url, 'GET', `/api/documents/${made.id}`)).title === 'With care')
  await page.button('Delete').click()
  const sure = page.getByRole('group', { name: 'Delete this document?' })
  await sure.getByRole('button', { name: 'Cancel' }).click()
  await page.button('Delete').click()
  await sure.getByRole('button', { name: 'Delete' }).click()
  await until('the document is gone', async () => !(await call(server.url, 'GET', '/api/documents')).items.some((d) => d.id === made.id))
  assert.deepEqual(page.bad, [])
  await page.context().close()
})

test('a chart takes the width that there is', async () => {
  const made = await call(server.url, 'POST', '/api/documents', { title: 'Width' })
  await call(server.url, 'POST', `/api/documents/${made.id}/blocks`, { type: 'interactive_chart', content: 'year,tonnes\n2022,3000\n2023,3100\n', meta: { mark: 'bar', encoding: { x: { field: 'year', type: 'ordinal' }, y: { field: 'tonnes', type: 'quantitative' } } } })
  const page = await chromium.open(`${server.url}/#/document/${made.id}`, { viewport: { width: 740, height: 360 }, storage: {} })
  const fits = () => page.locator('.ct-chart-box').evaluate((box) => Math.abs((box.querySelector('canvas')?.clientWidth ?? 0) - box.clientWidth) < 3)
  await until('the chart fits', fits)
  for (const [width, height] of [[360, 740], [740, 360]]) {
    await page.setViewportSize({ width, height })
    await until(`the chart fits ${width} pixels`, fits)
  }
  assert.deepEqual(page.bad, [])
  await page.context().close()
})

test('a chart takes the colours of the theme, whoever changes it', async () => {
  const made = await call(server.url, 'POST', '/api/documents', { title: 'Colours' })
  await call(server.url, 'POST', `/api/documents/${made.id}/blocks`, { type: 'interactive_chart', content: 'year,tonnes\n2022,3000\n2023,3100\n', meta: { mark: 'bar', encoding: { x: { field: 'year', type: 'ordinal' }, y: { field: 'tonnes', type: 'quantitative' } } } })
  const page = await chromium.open(`${server.url}/#/document/${made.id}`)
  await page.locator('.ct-chart canvas').waitFor()
  const picture = () => page.locator('.ct-chart canvas').evaluate((canvas) => canvas.toDataURL()).catch(() => '')
  const choose = async (theme) => {
    await page.button('More options').click()
    await page.getByRole('menuitemradio', { name: theme }).click()
  }
  let light = ''
  await until('the chart stands still', async () => {
    const before = light
    light = await picture()
    return light !== '' && light === before
  })
  await page.emulateMedia({ colorScheme: 'dark' })
  await until('the system is dark, and the chart is another', async () => ![light, ''].includes(await picture()))
  await choose('Theme: light')
  await until('the theme is light, and the chart is as it was', async () => (await picture()) === light)
  await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' })
  await choose('Theme: dark')
  await until('also with less motion', async () => ![light, ''].includes(await picture()))
  await page.shot('chart-dark')
  assert.deepEqual(page.bad, [])
  await page.context().close()
})
