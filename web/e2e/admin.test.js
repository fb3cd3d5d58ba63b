import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { browser, call, findings, service, until } from './world.js'

let server, chromium, run
before(async () => {
  ;[server, chromium] = await Promise.all([service(), browser()])
  run = (await call(server.url, 'POST', '/api/chat', { message: 'Research base editing and gold', context: { current_page: 'reports' } })).run_id
  await call(server.url, 'POST', '/api/chat', { message: 'error' }).catch(() => undefined)
})
after(async () => {
  await chromium.close()
  await server.kill()
})

for (const scheme of ['light', 'dark']) {
  for (const [size, viewport] of [['wide', { width: 1440, height: 900 }], ['narrow', { width: 360, height: 740 }]]) {
    test(`the operator's page, ${scheme}, ${size}: every view is fit to be seen`, async () => {
      const page = await chromium.open(`${server.url}/admin`, { colorScheme: scheme, viewport })
      const look = async (name) => {
        await page.shot(`admin-${name}-${scheme}-${size}`)
        assert.deepEqual(await findings(page), [], name)
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false, `${name} is too wide`)
        assert.equal(await page.locator('.app-main').evaluate((e) => e.scrollWidth > e.clientWidth), false, `${name} scrolls sideways`)
      }
      await page.locator('.adm-table tbody tr').nth(1).waitFor()
      await look('runs')
      await page.getByRole('link', { name: 'Usage' }).click()
      await page.locator('.ct-chart-box canvas').nth(3).waitFor()
      await look('usage')
      const chart = page.locator('.adm-charts > *').first()
      await chart.hover()
      const [button, canvas] = await Promise.all(['.ct-chart-tools', 'canvas'].map((part) => chart.locator(part).boundingBox()))
      assert.ok(button.y + button.height <= canvas.y, 'the button of a chart covers nothing of it')
      await until('the button is shown', () => chart.locator('.ct-chart-tools').evaluate((e) => getComputedStyle(e).opacity === '1'))
      await page.getByRole('link', { name: 'Processes' }).click()
      await page.hasText('this one')
      await look('processes')
      await page.goto(`${server.url}/admin#/runs/${run}`)
      await page.locator('.adm-bar[data-kind=model]').first().waitFor()
      await page.locator('.adm-bar[data-kind=tool]').nth(1).waitFor()
      await look('timeline')
      await page.button('Events').click()
      await page.locator('.adm-events li').nth(3).waitFor()
      await look('events')
      await page.button('Prompt').click()
      await page.hasText('System prompt')
      await look('prompt')
      assert.deepEqual(page.bad, [])
    })
  }
}

test('runs are found by filters, appear as they happen, and are replayed', async () => {
  const page = await chromium.open(`${server.url}/admin`)
  const rows = page.locator('.adm-table tbody tr')
  await rows.nth(1).waitFor()
  const before = await rows.count()
  await call(server.url, 'POST', '/api/chat', { message: 'help', context: { current_page: 'streams' } })
  await until('the new run is listed', async () => (await rows.count()) === before + 1)
  await page.getByLabel('Page', { exact: true }).fill('reports')
  await page.getByLabel('Page', { exact: true }).press('Enter')
  await until('one run is left', async () => (await rows.count()) === 1)
  await page.getByLabel('State').selectOption('failed')
  await page.hasText('No runs.')
  await page.button('Clear').click()
  await rows.nth(before).waitFor()
  await page.goto(`${server.url}/admin#/runs/${run}`)
  await page.button('Events').click()
  const events = page.locator('.adm-events li')
  await events.nth(3).waitFor()
  const all = await events.count()
  await page.button('Replay').click()
  await page.button('Stop').waitFor()
  await until('the replay has shown all events', async () => (await events.count()) === all && (await page.button('Replay').isVisible()))
  assert.notEqual(await page.locator('.adm-replay').textContent(), '')
  assert.deepEqual(page.bad, [])
})
