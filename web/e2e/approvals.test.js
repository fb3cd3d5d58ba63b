import assert from 'node:assert/strict'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { browser, listening, model, service, shop, tab, until } from './world.js'

/** An input of more fields and text than a card has room for. */
const large = { order_id: 7, note: 'word '.repeat(10_000), ...Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`field_${i}`, 'x'.repeat(300)])) }

let server, chromium, upstream, orders
before(async () => {
  orders = await shop()
  upstream = model((message) => (message.role === 'tool' ? { content: /It is gone/.test(message.content) ? 'The order is removed.' : 'I leave the order where it is.' } : { content: 'I ask first.', call: ['remove_order', /large/.test(message.content) ? large : { order_id: 7 }] }))
  const pages = mkdtempSync(join(process.env.E2E_WORK, 'pages-'))
  writeFileSync(join(pages, 'streams.yaml'), `
identity: You look after orders.
${orders.tools}`)
  ;[server, chromium] = await Promise.all([
    service({ CHATTRAY_OPENAI_BASE_URL: `http://127.0.0.1:${await listening(upstream)}/v1`, CHATTRAY_OPENAI_API_KEY: 'x', CHATTRAY_MODEL: 'scripted', CHATTRAY_PAGES: pages }),
    browser(),
  ])
})
after(async () => {
  await chromium.close()
  await server.kill()
  for (const one of [upstream, orders.server]) {
    one.closeAllConnections()
    one.close()
  }
})

const question = (page) => page.getByRole('group', { name: 'May I do this?' })

test('a tool that needs approval waits for it, also over a reload, and runs once it is approved', async () => {
  const page = await chromium.open(`${server.url}/#/streams`)
  await page.ask('Remove order 7')
  await question(page).getByText('Remove an order', { exact: true }).waitFor()
  assert.equal(await page.locator('.ct-tool').count(), 0, 'one card, not two')
  await page.shot('approval')
  assert.deepEqual(orders.removed, [])
  await page.reload()
  assert.equal(await question(page).getByLabel('Order id').inputValue(), '7')
  const second = await tab(page.context(), `${server.url}/#/streams`)
  await question(second).getByRole('button', { name: 'Approve' }).click()
  for (const one of [page, second]) {
    await one.hasText('The order is removed.')
    await one.settled()
    assert.equal(await one.button('Approve').count(), 0)
    assert.deepEqual(one.bad, [])
  }
  assert.deepEqual(orders.removed, ['/7'])
  await page.locator('.ct-tool[data-tool=remove_order][data-status=completed]').waitFor()
  await page.done()
})

test('a denied call does not run, and the model is told', async () => {
  orders.removed.length = 0
  const page = await chromium.open(`${server.url}/#/streams`)
  await page.ask('Remove order 7')
  await question(page).getByRole('button', { name: 'Deny' }).click()
  await page.hasText('I leave the order where it is.')
  const denied = page.locator('.ct-tool[data-tool=remove_order][data-status=denied]')
  await denied.getByText('Not allowed').waitFor()
  assert.equal(await denied.locator('.ct-tool-status').evaluate((e) => getComputedStyle(e).color), await denied.locator('.ct-tool-head').evaluate((e) => getComputedStyle(e).color), 'a denial is no failure')
  await page.settled()
  assert.deepEqual(orders.removed, [])
  assert.deepEqual(page.bad, [])
  await page.done()
})

test('the input can be changed, and only the changes are sent', async () => {
  orders.removed.length = 0
  const page = await chromium.open(`${server.url}/#/streams`)
  await page.ask('Remove order 7')
  await question(page).getByLabel('Order id').fill('seven')
  assert.ok(await question(page).getByRole('button', { name: 'Approve with changes' }).isDisabled())
  await question(page).getByLabel('Order id').fill('8')
  await question(page).getByRole('button', { name: 'Approve with changes' }).click()
  await page.hasText('The order is removed.')
  await page.settled()
  assert.deepEqual(orders.removed, ['/8'])
  assert.deepEqual(page.bad, [])
  await page.done()
})

test('"always" holds for the chat, over a reload, and not for another chat', async () => {
  orders.removed.length = 0
  const page = await chromium.open(`${server.url}/#/streams`)
  await page.ask('Remove order 7')
  await question(page).getByLabel('Always allow this in this chat').check()
  await question(page).getByRole('button', { name: 'Approve', exact: true }).click()
  await page.settled()
  await page.reload()
  await page.ask('Once more')
  await until('the call runs without a question', async () => orders.removed.length === 2)
  await page.settled()
  await page.button('New chat').click()
  await page.ask('And again')
  await question(page).waitFor()
  assert.equal(orders.removed.length, 2)
  await question(page).getByRole('button', { name: 'Deny' }).click()
  await page.settled()
  assert.deepEqual(page.bad, [])
  await page.done()
})

test('Escape neither denies nor stops while a call waits, and the closed tray says that it waits', async () => {
  orders.removed.length = 0
  const page = await chromium.open(`${server.url}/#/streams`)
  await page.ask('Remove order 7')
  await question(page).waitFor()
  await page.input.press('Escape')
  await question(page).getByLabel('Order id').press('Escape')
  await page.button('Close the chat').click()
  const launcher = page.getByRole('button', { name: 'Open the chat. The assistant needs you.' })
  await launcher.waitFor()
  await page.shot('launcher-waits')
  const second = await tab(page.context(), `${server.url}/#/streams`)
  if ((await second.input.count()) === 0) await second.getByRole('button', { name: /^Open the chat/ }).click()
  await question(second).getByRole('button', { name: 'Approve' }).click()
  await page.getByRole('button', { name: 'Open the chat. 1 new answer.' }).click()
  await page.hasText('The order is removed.')
  await page.button('Close the chat').click()
  await page.button('Open the chat').waitFor()
  assert.deepEqual(orders.removed, ['/7'])
  assert.deepEqual(page.bad, [])
  await page.done()
})

test('a large input scrolls within its card, whose buttons stay in reach, and is sent whole', async () => {
  orders.removed.length = 0
  const page = await chromium.open(`${server.url}/#/streams`, { viewport: { width: 360, height: 700 } })
  await page.button('Open the chat').or(page.input).first().waitFor()
  if (await page.button('Open the chat').isVisible()) await page.button('Open the chat').click()
  await page.ask('Remove the large order 7')
  const card = question(page)
  await card.getByRole('button', { name: 'Approve' }).waitFor()
  const { height } = await card.boundingBox()
  assert.ok(height <= 700, `the card has ${height} pixels of 700`)
  assert.ok(await card.locator('fieldset').evaluate((e) => e.scrollHeight > e.clientHeight && e.scrollWidth <= e.clientWidth), 'the fields scroll, downwards only')
  await card.getByRole('button', { name: 'Approve' }).click()
  await page.hasText('The order is removed.')
  assert.deepEqual(orders.removed, ['/7'])
  assert.deepEqual(page.bad, [])
  await page.done()
})

test('at a zoom of 400 % no field that gets the focus is behind the buttons', async () => {
  const page = await chromium.open(`${server.url}/#/streams`, { viewport: { width: 320, height: 256 } })
  await page.button('Open the chat').or(page.input).first().waitFor()
  if (await page.button('Open the chat').isVisible()) await page.button('Open the chat').click()
  await page.ask('Remove the order 7')
  const deny = question(page).getByRole('button', { name: 'Deny' })
  await deny.waitFor()
  await page.input.focus()
  const fields = question(page).locator('fieldset input, .ct-check input')
  for (const field of await fields.all()) {
    await field.focus()
    const [box, row] = [await field.boundingBox(), await question(page).locator('.ct-row').boundingBox()]
    assert.ok(box.y + box.height <= row.y + 1, `a field ends at ${box.y + box.height}, the buttons begin at ${row.y}`)
  }
  await deny.click()
  await page.settled()
  assert.deepEqual(page.bad, [])
  await page.done()
})

test('at a zoom of 200 % the buttons are in sight, and the list of chats says which one waits', async () => {
  orders.removed.length = 0
  const page = await chromium.open(`${server.url}/#/streams`, { viewport: { width: 720, height: 430 } })
  await page.button('Open the chat').or(page.input).first().waitFor()
  if (await page.button('Open the chat').isVisible()) await page.button('Open the chat').click()
  await page.ask('Remove the large order 7')
  const approve = question(page).getByRole('button', { name: 'Approve' })
  await approve.waitFor()
  await page.locator('.ct-list').evaluate((list) => {
    list.scrollTop = list.querySelector('.ct-approval').getBoundingClientRect().top - list.getBoundingClientRect().top + list.scrollTop - 60
  })
  const [list, button] = [await page.locator('.ct-list').boundingBox(), await approve.boundingBox()]
  assert.ok(button.y >= list.y && button.y + button.height <= list.y + list.height, `the button is at ${button.y}, the list from ${list.y} to ${list.y + list.height}`)
  await page.button('Chats').click()
  const row = page.locator('.ct-chat-row[data-current=true]')
  await row.getByText('The assistant needs you.').waitFor()
  assert.equal(await row.locator('.ct-spinner').count(), 0)
  await page.button('Back').click()
  await question(page).getByRole('button', { name: 'Deny' }).click()
  await page.settled()
  assert.deepEqual(page.bad, [])
  await page.done()
})
