import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { browser, service } from './world.js'

let server, chromium
before(async () => {
  ;[server, chromium] = await Promise.all([service(), browser()])
})
after(async () => {
  await chromium.close()
  await server.kill()
})

test('hostile text has no effect, live and stored, and nothing is requested from other hosts', async () => {
  const page = await chromium.open(`${server.url}/#/streams`)
  const inert = async () => {
    assert.equal(await page.evaluate(() => window.hostile), undefined)
    assert.equal(await page.locator('.ct-list :is(script, iframe, style, object, embed, form)').count(), 0)
    const links = await page.locator('.ct-list a').evaluateAll((all) => all.map((a) => a.href))
    assert.ok(links.every((l) => /^https?:/.test(l)), String(links))
    assert.equal(await page.locator('.ct-list img').count(), 0)
    const handlers = await page.locator('.ct-list').evaluate((list) => [...list.querySelectorAll('*')].flatMap((e) => e.getAttributeNames()).filter((n) => n.startsWith('on')))
    assert.deepEqual(handlers, [])
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth || document.querySelector('.ct-list').scrollWidth > document.querySelector('.ct-list').clientWidth)
    assert.equal(wide, false, 'a huge table does not widen the tray')
  }
  await page.ask('hostile')
  await page.hasText('Column 12')
  await inert()
  await page.settled()
  await inert()
  await page.reload()
  await page.hasText('The end.')
  await inert()
  assert.deepEqual(page.bad, [])
  await page.getByRole('button', { name: /Show image from example.com/ }).click()
  await page.hasText('The image could not be shown.')
  await page.done()
})

test('names, titles and what the user writes are text', async () => {
  const page = await chromium.open(`${server.url}/#/streams`)
  const text = '<img src=x onerror="window.hostile=true"> **not bold** [x](javascript:window.hostile=true)'
  await page.ask(text)
  await page.settled()
  assert.equal(await page.questions.last().locator('.ct-bubble').textContent(), text)
  await page.button('Chats').click()
  await page.locator('.ct-chat-row').first().waitFor()
  assert.equal(await page.evaluate(() => window.hostile), undefined)
  assert.deepEqual(page.bad, [])
  await page.done()
})
