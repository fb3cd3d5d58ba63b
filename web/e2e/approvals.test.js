import assert from 'node:assert/strict'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { browser, listening, model, service, tab } from './world.js'

let server, chromium, upstream, shop, removed
before(async () => {
  removed = []
  shop = createServer((request, response) => {
    removed.push(request.url)
    response.end('It is gone.')
  })
  upstream = model((said) => (said.role === 'tool' ? { content: /It is gone/.test(said.content) ? 'The order is removed.' : 'I leave the order where it is.' } : { content: 'I ask first.', call: ['remove_order', { order_id: 7 }] }))
  const pages = mkdtempSync(join(process.env.E2E_WORK, 'pages-'))
  writeFileSync(join(pages, 'streams.yaml'), `
identity: You look after orders.
http_tools:
  - name: remove_order
    description: Removes an order.
    confirm: true
    input_schema: {type: object, properties: {order_id: {type: integer}}, required: [order_id]}
    url: http://127.0.0.1:${await listening(shop)}/{{.order_id}}
`)
  ;[server, chromium] = await Promise.all([
    service({ CHATTRAY_OPENAI_BASE_URL: `http://127.0.0.1:${await listening(upstream)}/v1`, CHATTRAY_OPENAI_API_KEY: 'x', CHATTRAY_MODEL: 'scripted', CHATTRAY_PAGES: pages }),
    browser(),
  ])
})
after(async () => {
  await chromium.close()
  await server.kill()
  for (const one of [upstream, shop]) {
    one.closeAllConnections()
    one.close()
  }
})

const question = (page) => page.getByRole('group', { name: 'May I do this?' })

test('a tool that needs the user’s word waits for it, over a reload, and runs when it is given', async () => {
  const page = await chromium.open(`${server.url}/#/streams`)
  await page.ask('Remove order 7')
  await question(page).getByText('remove_order', { exact: true }).waitFor()
  await page.locator('.ct-tool[data-tool=remove_order][data-status=waiting]').waitFor()
  await page.shot('approval')
  assert.deepEqual(removed, [])
  await page.reload()
  await question(page).getByText('"order_id": 7').waitFor()
  const second = await tab(page.context(), `${server.url}/#/streams`)
  await question(second).getByRole('button', { name: 'Approve' }).click()
  for (const one of [page, second]) {
    await one.hasText('The order is removed.')
    await one.settled()
    assert.equal(await one.button('Approve').count(), 0)
    assert.deepEqual(one.bad, [])
  }
  assert.deepEqual(removed, ['/7'])
  await page.locator('.ct-tool[data-tool=remove_order][data-status=completed]').waitFor()
  await page.context().close()
})

test('what is denied is not done, and the model is told', async () => {
  removed.length = 0
  const page = await chromium.open(`${server.url}/#/streams`)
  await page.ask('Remove order 7')
  await question(page).getByRole('button', { name: 'Deny' }).click()
  await page.hasText('I leave the order where it is.')
  await page.hasText('Not allowed')
  await page.settled()
  assert.deepEqual(removed, [])
  assert.deepEqual(page.bad, [])
  await page.context().close()
})
