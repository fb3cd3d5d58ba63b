import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { PACED, browser, service, until } from './world.js'

let server, chromium, page
before(async () => {
  ;[server, chromium] = await Promise.all([service(PACED), browser()])
})
after(async () => {
  await chromium.close()
  await server.kill()
})
afterEach(async () => {
  const { bad } = page
  await page.done()
  assert.deepEqual(bad, [], 'nothing bad happened in the page')
})

/** The positions of the parts of each answer, in pixels below its top, and the width of the answer. */
const laidOut = () => page.answers.evaluateAll((answers) => answers.map((answer) => {
  const { top, width } = answer.querySelector('.ct-bubble').getBoundingClientRect()
  const parts = [...answer.querySelectorAll('.ct-md, .ct-tool, .ct-trail, .ct-payload-card')].map((part) => `${part.className} at ${Math.round(part.getBoundingClientRect().top - top)}`)
  return { width: Math.round(width), parts }
}))

test('an answer is laid out the same at its end and after a reload: nothing jumps', async () => {
  page = await chromium.open(`${server.url}/#/reports`, { reducedMotion: 'reduce' })
  await page.hasText('How can I help?')
  for (const question of ['Search articles about mercury and list the reports', 'Tell me about stream 1', 'markdown']) {
    await page.ask(question)
    await page.settled()
  }
  const live = await laidOut()
  assert.equal(live.length, 3)
  assert.ok(live.every(({ parts }) => parts.length > 0))
  await page.reload()
  await page.answers.nth(2).waitFor()
  // The run of an answer is replayed once the answer is in view.
  for (const answer of await page.answers.all()) await answer.scrollIntoViewIfNeeded()
  await page.locator('.ct-trail').first().waitFor()
  assert.deepEqual(await laidOut(), live)
})

test('an answer keeps its width while code and tables begin, and the distances between messages are the same', async () => {
  page = await chromium.open(`${server.url}/#/reports`, { reducedMotion: 'reduce' })
  await page.hasText('How can I help?')
  await page.evaluate(() => {
    window.widths = new Set()
    new MutationObserver(() => document.querySelectorAll('.ct-message[data-role=assistant] > .ct-bubble:not(.ct-thinking)').forEach((bubble) => window.widths.add(Math.round(bubble.getBoundingClientRect().width))))
      .observe(document.querySelector('.ct-list'), { subtree: true, childList: true, characterData: true })
  })
  for (const question of ['markdown', 'hello', 'Compare stream 1 and stream 2', 'List the reports']) {
    await page.ask(question)
    await page.settled()
  }
  assert.equal((await page.evaluate(() => [...window.widths])).length, 1, 'one width')
  const gaps = (first, second) => page.evaluate(([a, b]) => {
    const found = []
    for (const message of document.querySelectorAll(`.ct-message[data-role=${b}]`)) {
      const before = message.previousElementSibling
      if (before?.dataset.role === a) found.push(Math.round(message.querySelector('.ct-bubble').getBoundingClientRect().top - before.getBoundingClientRect().bottom))
    }
    return found
  }, [first, second])
  for (const [first, second, count] of [['user', 'assistant', 4], ['assistant', 'user', 3]]) {
    const found = await gaps(first, second)
    assert.equal(found.length, count)
    assert.equal(new Set(found).size, 1, `${first}, ${second}: ${found}`)
    assert.ok(found[0] >= 4 && found[0] <= 24, `${first}, ${second}: ${found[0]} pixels`)
  }
})

test('what is clicked on stays where it is, at the end of the list too', async () => {
  page = await chromium.open(`${server.url}/#/reports`, { viewport: { width: 1200, height: 640 }, reducedMotion: 'reduce' })
  await page.hasText('How can I help?')
  await page.ask('think')
  await page.settled()
  await page.ask('tool error')
  await page.settled()
  for (const [head, body] of [['.ct-tool-head', '.ct-tool-body'], ['.ct-reasoning-head', '.ct-reasoning-body'], ['[aria-label="Bad answer"]', '.ct-feedback'], ['[aria-label="Edit"]', '.ct-editing']]) {
    await page.locator('.ct-list').evaluate((list) => list.scrollTo(0, list.scrollHeight))
    const button = page.locator(head).last()
    await button.scrollIntoViewIfNeeded()
    const message = page.locator('.ct-message').filter({ has: button }).last()
    const place = async () => (await message.boundingBox()).y
    const before = await place()
    await button.click()
    const opened = page.locator(body).last()
    await opened.waitFor()
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))))
    const list = await page.locator('.ct-list').boundingBox()
    const { y, height } = await (body === '.ct-editing' ? opened : button).boundingBox()
    assert.ok(y >= list.y - 1 && y + height <= list.y + list.height + 1, `${head} is out of sight`)
    // A form that takes the focus scrolls into view; content that is only shown moves nothing.
    if (!(await opened.evaluate((e) => e.contains(document.activeElement)))) assert.ok(Math.abs((await place()) - before) < 3, `${head} moved by ${(await place()) - before} pixels`)
    await page.reload()
    await page.answers.nth(1).waitFor()
    await page.locator('.ct-reasoning-head').waitFor()
  }
})

test('screen readers hear what a button is about, and the page has one heading of the first level', async () => {
  page = await chromium.open(`${server.url}/#/reports`)
  await page.ask('markdown')
  await page.settled()
  assert.equal(await page.locator('h1:not([aria-level])').count(), 1)
  await page.locator('h1[aria-level="3"]').getByText('Heading one').waitFor()
  await page.getByRole('group', { name: /^Heading one/ }).getByRole('button', { name: 'Good answer' }).waitFor()
  assert.deepEqual(await page.locator('.ct-tray [role=group]:not([aria-label], [aria-labelledby])').count(), 0)
})

test('what is still to come has its place: the page, its lists, a chat and the chats', async () => {
  page = await chromium.open(`${server.url}/#/streams`)
  await page.hasText('How can I help?')
  await page.ask('hello')
  await page.settled()

  // Each request waits until its path is let through.
  const held = new Map()
  let passes = /^$/
  await page.route(/\/api\//, async (route) => {
    const { pathname } = new URL(route.request().url())
    if (!passes.test(pathname)) await new Promise((resolve) => held.set(pathname, resolve))
    await route.continue()
  })
  const pass = (pattern) => {
    passes = pattern
    for (const [path, go] of held) if (pattern.test(path)) go()
  }
  await page.reload({ waitUntil: 'commit' })
  await page.locator('.boot i').first().waitFor()
  await until('the user is asked for', async () => held.has('/api/me'))
  pass(/\/api\/me$/)
  await page.locator('.app-card .ct-skeleton').first().waitFor()
  await page.locator('.ct-skeleton[data-of=chat]').waitFor()
  await page.shot('skeletons')
  pass(/./)
  await page.questions.first().waitFor()
  assert.equal(await page.locator('.ct-skeleton').count(), 0)

  passes = /^$/
  held.clear()
  await page.button('Chats').click()
  await page.locator('.ct-skeleton[data-of=list]').waitFor()
  pass(/./)
  await page.locator('.ct-chat-row').first().waitFor()
})

test('what is empty says what could be there, and how to begin', async () => {
  const fresh = await service()
  try {
    page = await chromium.open(`${fresh.url}/#/document`)
    const invite = page.locator('.app-main .ct-invite')
    await invite.getByText('Write with the assistant').waitFor()
    await page.button('Chats').click()
    await page.locator('.ct-history .ct-invite').waitFor()
    await page.button('Back').click()
    await invite.getByRole('button', { name: 'Have a report written' }).click()
    await page.settled()
    await page.locator('.ct-block').first().waitFor()
    assert.equal(await page.locator('.app-main .ct-invite').count(), 0)
  } finally {
    await fresh.kill()
  }
})

test('at 360 pixels the button to the end covers no words, and the first column has room for them', async () => {
  page = await chromium.open(`${server.url}/#/reports`, { viewport: { width: 360, height: 740 } })
  await page.button('Open the chat').or(page.input).first().waitFor()
  if (await page.button('Open the chat').isVisible()) await page.button('Open the chat').click()
  await page.ask('say | What it is about | Where it was found | In which year |\n| --- | --- | --- |\n| A word in each line is hard to read | The journal of editing bases | Two thousand twenty |')
  await page.settled()
  const first = await page.locator('.ct-md td').first().boundingBox()
  assert.ok(first.width >= 110, `the first column has ${first.width} pixels`)
  await page.ask('long 1500')
  await page.settled()
  await page.locator('.ct-list').evaluate((list) => {
    list.scrollTop = 0
  })
  const button = await page.button('Jump to the latest').boundingBox()
  for (const text of await page.locator('.ct-md').all()) {
    const box = await text.boundingBox()
    assert.ok(box.x + box.width <= button.x, `the text ends at ${box.x + box.width}, the button begins at ${button.x}`)
  }
})

test('at 320 pixels the sign of an error stands beside its words', async () => {
  page = await chromium.open(`${server.url}/#/reports`, { viewport: { width: 320, height: 700 } })
  await page.button('Open the chat').or(page.input).first().waitFor()
  if (await page.button('Open the chat').isVisible()) await page.button('Open the chat').click()
  await page.ask('error late')
  await page.settled()
  const sign = await page.locator('.ct-note > .ct-icon').boundingBox()
  const words = await page.locator('.ct-note > div').boundingBox()
  assert.ok(sign.y >= words.y && sign.x + sign.width <= words.x, 'one line')
})
