import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { after, before, test } from 'node:test'
import { browser, service } from './world.js'

const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js')
let server, chromium
before(async () => {
  ;[server, chromium] = await Promise.all([service(), browser()])
})
after(async () => {
  await chromium.close()
  await server.kill()
})

/** What axe finds serious or critical. The page's policy allows no foreign script, so the test asks for leave. */
async function findings(page) {
  await page.evaluate(await (await import('node:fs/promises')).readFile(axe, 'utf8'))
  const result = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }))
  return result.violations.filter((v) => ['serious', 'critical'].includes(v.impact)).map((v) => `${v.id}: ${v.nodes.map((n) => n.target.join(' ')).slice(0, 3).join(' | ')} ${v.nodes[0].failureSummary}`)
}

for (const scheme of ['light', 'dark']) {
  for (const [size, viewport] of [['wide', { width: 1360, height: 860 }], ['narrow', { width: 360, height: 740 }]]) {
    test(`${scheme}, ${size}: every state is fit to be seen, and axe finds nothing serious`, async () => {
      const page = await chromium.open(`${server.url}/#/edit/1/semantic`, { colorScheme: scheme, viewport, hasTouch: size === 'narrow', reducedMotion: 'reduce' })
      const look = async (name) => {
        await page.shot(`${name}-${scheme}-${size}`)
        assert.deepEqual(await findings(page), [], name)
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false, `${name} is too wide`)
      }
      if (size === 'narrow') {
        await look('page')
        await page.button('Open the chat').click()
      }
      await page.hasText('How can I help?')
      await look('empty')
      await page.ask('Propose a schema with base editing')
      await page.locator('.ct-tool').first().waitFor()
      await look('live')
      await page.settled()
      if (size === 'narrow') await page.locator('.ct-payload').last().click()
      await page.getByText('+ base editing').waitFor()
      await look('proposal')
      await page.button('Close panel').click()
      await page.locator('.ct-tool-head').first().click()
      await look('tool')
      await page.ask('markdown')
      await page.settled()
      await look('markdown')
      await page.ask('error late')
      await page.settled()
      await look('error')
      await page.button('Diagnostics').last().click()
      await page.hasText('Iterations')
      await look('diagnostics')
      await page.button('Close panel').click()
      await page.button('Chats').click()
      await page.locator('.ct-chat-row').first().waitFor()
      await look('history')
      await page.button('Back').click()
      await page.button('More options').click()
      await look('menu')
      await page.keyboard.press('Escape')
      assert.deepEqual(page.bad, [])
      await page.context().close()
    })
  }
}

test('the theme and the layout are the user’s, and are kept', async () => {
  const page = await chromium.open(`${server.url}/#/streams`)
  const background = () => page.locator('.ct-tray').evaluate((e) => getComputedStyle(e).backgroundColor)
  const light = await background()
  await page.button('More options').click()
  await page.getByRole('menuitemradio', { name: 'Theme: dark' }).click()
  assert.notEqual(await background(), light)
  await page.button('More options').click()
  await page.getByRole('menuitemradio', { name: 'Fill the page' }).click()
  assert.ok((await page.locator('.ct-tray').boundingBox()).width > 1200)
  await page.reload()
  await page.hasText('How can I help?')
  assert.ok((await page.locator('.ct-tray').boundingBox()).width > 1200)
  assert.notEqual(await background(), light)
  await page.button('More options').click()
  await page.getByRole('menuitemradio', { name: 'Float over the page' }).click()
  await page.shot('floating')
  await page.button('Close the chat').click()
  await page.reload()
  await page.button('Open the chat').click()
  const box = await page.locator('.ct-tray').boundingBox()
  const handle = page.locator('.ct-tray > .ct-resize')
  await handle.focus()
  await page.keyboard.press('ArrowLeft')
  assert.ok((await page.locator('.ct-tray').boundingBox()).width > box.width)
  assert.deepEqual(page.bad, [])
  await page.context().close()
})

test('everything can be done with the keyboard alone', async () => {
  const page = await chromium.open(`${server.url}/#/reports`)
  await page.hasText('How can I help?')
  const focused = () => page.evaluate(() => document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent)
  const reach = async (name, key = 'Tab') => {
    for (let i = 0; i < 60; i++) {
      if ((await focused())?.startsWith(name)) return
      await page.keyboard.press(key)
    }
    assert.fail(`${name} cannot be reached; the focus is on ${await focused()}`)
  }
  await reach('Message')
  await page.keyboard.type('List the reports')
  await page.keyboard.press('Shift+Enter')
  await page.keyboard.press('Backspace')
  await page.keyboard.press('Enter')
  await page.settled()
  await page.locator('.ct-panel').waitFor()
  await page.keyboard.press('Escape')
  assert.equal(await page.locator('.ct-panel').count(), 0)
  await reach('list_reports', 'Shift+Tab')
  await page.keyboard.press('Enter')
  await page.hasText('10 reports, newest first')
  await reach('More options', 'Shift+Tab')
  await page.keyboard.press('Enter')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Escape')
  assert.equal(await focused(), 'More options')
  await reach('Chats', 'Shift+Tab')
  await page.keyboard.press('Enter')
  assert.equal(await focused(), 'Search chats')
  await page.keyboard.press('Escape')
  await page.input.waitFor()
  assert.deepEqual(page.bad, [])
  await page.context().close()
})

test('from right to left', async () => {
  const page = await chromium.open(`${server.url}/#/streams`)
  await page.evaluate(() => document.documentElement.setAttribute('dir', 'rtl'))
  await page.ask('help')
  await page.settled()
  const tray = await page.locator('.ct-tray').boundingBox()
  const mine = await page.questions.first().locator('.ct-bubble').boundingBox()
  assert.ok(tray.x < 10, 'the tray is at the left')
  assert.ok(mine.x - tray.x < 40, 'the user’s bubble is at the left')
  await page.shot('rtl')
  assert.deepEqual(page.bad, [])
  await page.context().close()
})
