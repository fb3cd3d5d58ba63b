// A chat of a thousand messages.
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

/** Two frames: what came into view has been laid out, and the view has been corrected. */
const drawn = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve())))

/** Counts, until the returned function is called, the elements whose style is computed, each time that it is. */
async function styles() {
  const cdp = await chromium.cdp()
  const counts = []
  cdp.on('Tracing.dataCollected', ({ value }) => counts.push(...value.map((e) => e.args.elementCount ?? 0)))
  await cdp.send('Tracing.start', { transferMode: 'ReportEvents', traceConfig: { includedCategories: ['devtools.timeline'], excludedCategories: ['*'] } })
  return async () => {
    const done = new Promise((resolve) => cdp.once('Tracing.tracingComplete', resolve))
    await cdp.send('Tracing.end')
    await done
    await cdp.detach()
    return counts
  }
}

test('of a thousand messages only those near the view are laid out, and what is read stays in its place', async () => {
  const { conversation_id } = await call(server.url, 'POST', '/api/chat', { message: 'hello' })
  const page = await chromium.open(`${server.url}/#/streams`)
  // The service has the last two messages; the page gets the others before them.
  const earlier = Array.from({ length: 998 }, (_, i) => ({
    id: `earlier-${i}`, role: i % 2 ? 'assistant' : 'user', type: 'md', status: 'complete', created_at: '2026-01-01T00:00:00Z', content: `Message ${i}. ${'More words in several lines. '.repeat((i * 7) % 23)}`,
  }))
  await page.route((url) => url.pathname === `/api/chats/${conversation_id}`, async (route) => {
    const response = await route.fetch({ url: `${server.url}/api/chats/${conversation_id}?limit=50` })
    const chat = await response.json()
    const messages = [...earlier, ...chat.messages]
    const to = Number(new URL(route.request().url()).searchParams.get('cursor') ?? messages.length)
    const from = to === messages.length ? to - 50 : Math.max(0, to - 190)
    await route.fulfill({ json: { ...chat, messages: messages.slice(from, to), next_cursor: from > 0 ? String(from) : undefined } })
  })
  await page.button('Chats').click()
  await page.locator('.ct-chat-row').getByText('hello').click()
  await page.answers.first().waitFor()
  const list = page.locator('.ct-list')
  const all = page.locator('.ct-message')
  const laidOut = () => all.evaluateAll((messages) => messages.filter((m) => m.firstElementChild.checkVisibility({ contentVisibilityAuto: true })).length)
  const left = () => list.evaluate((e) => e.scrollHeight - e.scrollTop - e.clientHeight)
  await until('the end is in sight', async () => (await left()) < 3)

  // Earlier messages come as the reader scrolls up.
  let count = await all.count()
  while (count < 1000) {
    const first = await all.first().elementHandle()
    const place = () => first.evaluate((e) => e.getBoundingClientRect().y)
    await list.evaluate((e) => e.scrollTo(0, 0))
    const before = await place()
    await until('there are earlier messages', async () => (await all.count()) > count)
    await page.evaluate(drawn)
    const moved = Math.abs((await place()) - before)
    assert.ok(moved < 60, `after ${count} messages it moved by ${moved} pixels`)
    count = await all.count()
  }
  assert.equal(count, 1000)
  assert.ok((await laidOut()) < 60, `${await laidOut()} of 1,000 messages are laid out`)

  // Nothing jumps while the reader scrolls.
  await list.evaluate((e) => e.scrollTo(0, e.scrollHeight / 2))
  await page.evaluate(drawn)
  for (let i = 0; i < 12; i++) {
    const jumped = await list.evaluate(async (box, wait) => {
      const frames = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve())))
      const view = box.getBoundingClientRect()
      const seen = [...box.querySelectorAll('.ct-message')].find((m) => m.getBoundingClientRect().top >= view.top)
      const before = seen.getBoundingClientRect().top
      box.scrollBy(0, -wait)
      await frames()
      return seen.getBoundingClientRect().top - before - wait
    }, 300)
    assert.ok(Math.abs(jumped) < 4, `step ${i}: the text jumped by ${jumped} pixels`)
  }
  assert.ok((await laidOut()) < 60, `${await laidOut()} messages are laid out`)

  // Looking elements up by role would lay out all of them, so from here on they are found by their classes.
  await page.locator('.ct-jump').click()
  await until('the end is in sight again', async () => (await left()) < 3)
  await page.locator('.ct-composer textarea').fill('Say it again')
  const styled = await styles()
  await page.locator('.ct-composer textarea').press('Enter')
  await page.locator('.ct-message:last-child[data-role=assistant][data-status=complete] .ct-md').waitFor()
  await until('both are there', async () => (await all.count()) === 1002)
  const most = Math.max(...await styled())
  assert.ok(most > 0 && most < 500, `a question and its answer change the style of ${most} elements at once`)
  const asked = await page.questions.last().boundingBox()
  const box = await list.boundingBox()
  assert.ok(asked.y >= box.y && asked.y < box.y + 60, `the question is at the top: ${asked.y - box.y}`)
  assert.ok((await laidOut()) < 60, `${await laidOut()} messages are laid out`)
  await page.locator('.ct-message:last-child [aria-label="Bad answer"]').click()
  await page.locator('.ct-feedback').waitFor()
  const after = await page.questions.last().boundingBox()
  assert.ok(Math.abs(after.y - asked.y) < 200, 'what is clicked on stays in sight')
  assert.deepEqual(page.bad, [])
  await page.done()
})

test('of a document of a hundred blocks only those near the view are laid out, and what is read stays in its place', async () => {
  const { id } = await call(server.url, 'POST', '/api/documents', { title: 'Long' })
  for (let i = 0; i < 100; i++) await call(server.url, 'POST', `/api/documents/${id}/blocks`, { type: 'md', content: `Block ${i}. ${'More words in several lines. '.repeat((i * 7) % 83)}` })
  const page = await chromium.open(`${server.url}/#/document/${id}`)
  const blocks = page.locator('.ct-block[data-block]')
  const laidOut = () => blocks.evaluateAll((all) => all.filter((b) => b.firstElementChild.checkVisibility({ contentVisibilityAuto: true })).length)
  await until('all blocks are there', async () => (await blocks.count()) === 100)
  await page.evaluate(drawn)
  assert.ok((await laidOut()) < 40, `${await laidOut()} blocks are laid out`)
  await blocks.last().scrollIntoViewIfNeeded()
  await page.evaluate(drawn)
  for (let i = 0; i < 20; i++) {
    const jumped = await blocks.evaluateAll(async (all) => {
      const frames = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve())))
      const seen = all.find((b) => b.getBoundingClientRect().top >= 0)
      const scroller = [...function* up(e) { for (; e; e = e.parentElement) yield e }(seen)].find((e) => e.scrollHeight > e.clientHeight && getComputedStyle(e).overflowY !== 'visible') ?? document.scrollingElement
      const before = seen.getBoundingClientRect().top
      scroller.scrollBy(0, -200)
      await frames()
      return seen.getBoundingClientRect().top - before - 200
    })
    assert.ok(Math.abs(jumped) < 4, `step ${i}: the text jumped by ${jumped} pixels`)
  }
  await page.emulateMedia({ media: 'print' })
  await until('all are printed', async () => (await laidOut()) === 100)
  await page.emulateMedia({ media: 'screen' })

  // A change far above is reached by key, below the bar that tells of the changes.
  await page.route(`**/api/documents/${id}`, async (route) => {
    const document = await (await route.fetch()).json()
    for (const i of [20, 80]) Object.assign(document.blocks[i], { state: 'pending_edit', new: `${document.blocks[i].current} A new sentence.` })
    await route.fulfill({ json: document })
  })
  await page.reload()
  await page.getByText('2 changes wait for you').waitFor()
  await page.locator('.ct-doc').focus()
  for (const key of ['k', 'k']) {
    await page.keyboard.press(key)
    await page.evaluate(drawn)
  }
  const [bar, block] = [await page.locator('.ct-doc-pending').boundingBox(), await blocks.nth(20).boundingBox()]
  assert.ok(block.y >= bar.y + bar.height && block.y < 600, `the block is at ${block.y}, the bar at ${bar.y} with ${bar.height}`)
  assert.deepEqual(page.bad, [])
  await page.done()
})
