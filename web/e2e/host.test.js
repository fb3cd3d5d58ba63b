// A page of a host with its own build: made with the hooks alone, and with a tray whose parts are the page's own.
import assert from 'node:assert/strict'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import { build, preview } from 'vite'
import { browser, call, counting, freePort, listening, model, service, shop, until } from './world.js'

const web = fileURLToPath(new URL('..', import.meta.url))
const upstreams = []
let chromium, app, orders, stock, scripted, counts

/** What the model answers to the last message. */
function reply(message) {
  const text = String(message.content)
  if (message.role === 'tool') return { content: /It is gone/.test(text) ? 'The order is removed.' : /in stock/.test(text) ? 'There are some.' : 'I leave the order where it is.' }
  if (/stock/.test(text)) return { call: ['find_stock', { item: 'gold' }] }
  if (/all parts/.test(text)) return { content: '```js\nlet a = 1\n```\n\n[there](https://example.com/a) ![seen](https://example.com/b.png)\n\nSUGGESTED_VALUES: [{"label": "More of it", "value": "more"}]' }
  return { content: 'I ask first.', call: ['remove_order', { order_id: 7 }] }
}

before(async () => {
  orders = await shop()
  stock = createServer((_, response) => response.end('3 in stock'))
  const pages = mkdtempSync(join(process.env.E2E_WORK, 'pages-'))
  writeFileSync(join(pages, 'streams.yaml'), `
identity: You look after orders.
${orders.tools}
  - name: find_stock
    description: Says how much there is of an item.
    input_schema: {type: object, properties: {item: {type: string}}, required: [item]}
    url: http://127.0.0.1:${await listening(stock)}/
`)
  const upstream = model(reply)
  upstreams.push(upstream, orders.server, stock)
  app = mkdtempSync(join(process.env.E2E_WORK, 'host-'))
  ;[scripted, counts, chromium] = await Promise.all([
    service({ CHATTRAY_OPENAI_BASE_URL: `http://127.0.0.1:${await listening(upstream)}/v1`, CHATTRAY_OPENAI_API_KEY: 'x', CHATTRAY_MODEL: 'scripted', CHATTRAY_PAGES: pages }),
    counting(), browser(),
    build({
      root: join(web, 'e2e/host'), configFile: false, logLevel: 'error', plugins: [react()],
      resolve: { alias: [{ find: /^@chattray\/react$/, replacement: join(web, 'src/index.ts') }, { find: /^@chattray\/react\/styles\.css$/, replacement: join(web, 'src/styles.ts') }] },
      build: { outDir: join(app, 'dist'), minify: false },
    }),
  ])
})
after(async () => {
  await chromium.close()
  await scripted.kill()
  await counts.close()
  for (const one of upstreams) {
    one.closeAllConnections()
    one.close()
  }
})

/** Serves the built page before a service, opens it, and closes both after the test. */
async function host(t, url, hash = '') {
  const server = await preview({ root: app, configFile: false, logLevel: 'error', preview: { host: '127.0.0.1', port: await freePort(), proxy: { '/api': url } } })
  const page = await chromium.open(`${server.resolvedUrls.local[0]}${hash}`)
  t.after(async () => {
    await page.done()
    await server.close()
    assert.deepEqual(page.bad, [])
  })
  return Object.assign(page, {
    field: page.getByLabel('Question'),
    said: page.locator('output'),
    async put(text) {
      await page.field.fill(text)
      await page.button('Ask').click()
    },
    is: (selector, text) => until(`${selector} is ${text}`, async () => (await page.locator(selector).innerText()) === text),
  })
}

test('useComposer and useChatState: questions are asked, wait in the queue and are stopped; what is not selected renders nothing', async (t) => {
  const page = await host(t, counts.url)
  await page.is('h1', 'No title')
  assert.equal(await page.button('Ask').isDisabled(), true)
  await page.put('count 90')
  counts.upTo(3)
  await page.locator('.live').getByText('1 2 3').waitFor()
  await page.is('output', 'busy, 0 waiting')
  await page.is('h1', 'count 90')
  const renders = await page.locator('h1').getAttribute('data-renders')
  counts.upTo(60)
  await page.locator('.live').getByText('1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60').waitFor()
  assert.equal(await page.locator('h1').getAttribute('data-renders'), renders, 'tokens do not render the title')
  await page.put('And then?')
  await page.is('output', 'busy, 1 waiting')
  counts.upTo(90)
  await page.locator('.assistant').getByText('I am the model.').waitFor()
  await page.is('output', 'idle, 0 waiting')
  assert.match(await page.locator('.assistant').first().innerText(), /89 90$/)
  await page.put('count 99')
  await page.locator('.live').getByText('89 90').waitFor()
  await page.button('Stop it').click()
  await page.is('output', 'idle, 0 waiting')
  assert.match(await page.locator('.assistant').last().innerText(), /89 90$/)

  await page.locator('input[type=file]').setInputFiles({ name: 'x.bin', mimeType: 'application/octet-stream', buffer: Buffer.from([0, 1, 2, 0xff]) })
  await page.said.getByText('x.bin is neither text, an image nor a PDF.').waitFor()
  await page.locator('input[type=file]').setInputFiles({ name: 'notes.md', mimeType: 'text/markdown', buffer: Buffer.from('# Notes') })
  await page.button('Without notes.md').click()
  assert.equal(await page.button('Without notes.md').count(), 0)
  await page.field.fill('half a thought')
  await page.button('Another chat').click()
  await until('a new chat has its own draft', async () => (await page.field.inputValue()) === '')
})

test('useStickToEnd: a question goes to the top, a reader who scrolls up stays, and the button follows the end', async (t) => {
  counts.upTo(0)
  const page = await host(t, counts.url)
  await page.put('count 4000')
  counts.upTo(2000)
  await page.locator('.live').getByText('1999 2000').waitFor()
  const view = page.locator('.view')
  const below = () => page.locator('.user').last().evaluate((e) => Math.round(e.getBoundingClientRect().top - e.closest('.view').getBoundingClientRect().top))
  assert.ok(Math.abs((await below())) < 40, `the question is ${await below()} pixels below the top`)
  await page.is('#stuck', 'not at the end')
  await page.button('To the end').click()
  await page.is('#stuck', 'at the end')
  const left = () => view.evaluate((e) => e.scrollHeight - e.scrollTop - e.clientHeight)
  counts.upTo(3000)
  await page.locator('.live').getByText('2999 3000').waitFor()
  await until('the end is followed', async () => (await left()) < 3)
  await view.hover()
  await page.mouse.wheel(0, -600)
  await page.is('#stuck', 'not at the end')
  const top = await view.evaluate((e) => e.scrollTop)
  counts.upTo(4000)
  await page.locator('.assistant').getByText('3999 4000').waitFor()
  assert.equal(await view.evaluate((e) => e.scrollTop), top, 'the reader stays')
})

test('useThreads: chats are listed, searched, opened, pinned, renamed, archived and removed', async (t) => {
  const page = await host(t, scripted.url)
  const list = page.getByRole('navigation')
  const titles = (...wanted) => until(`the chats are ${wanted}`, async () => (await list.locator('li > button:first-child').allInnerTexts()).join() === wanted.join())
  const row = (title) => list.locator('li', { has: page.getByRole('button', { name: title, exact: true }) })
  for (const question of ['all parts of silver', 'all parts of gold']) {
    await page.put(question)
    await page.locator('.assistant').waitFor()
    await row(question).waitFor()
    await page.button('Another chat').click()
    await until('the chat is new', async () => (await page.locator('.ct-message').count()) === 0)
  }
  await titles('all parts of gold', 'all parts of silver')
  await row('all parts of silver').getByRole('button', { name: 'pin' }).click()
  await titles('all parts of silver', 'all parts of gold')
  await row('all parts of gold').getByRole('button', { name: 'louder' }).click()
  await titles('all parts of silver', 'all parts of gold!')
  await page.getByLabel('Search').fill('gold')
  await titles('all parts of gold!')
  await page.button('all parts of gold!').click()
  await page.locator('.user').getByText('all parts of gold', { exact: true }).waitFor()
  await row('all parts of gold!').and(page.locator('[aria-current=true]')).waitFor()
  await page.getByLabel('Search').fill('')
  await row('all parts of gold!').getByRole('button', { name: 'archive' }).click()
  await titles('all parts of silver')
  await page.button('Archived').click()
  await titles('all parts of gold!')
  await row('all parts of gold!').getByRole('button', { name: 'remove' }).click()
  await titles()
  await page.button('Not archived').click()
  await titles('all parts of silver')
  const { items } = await call(scripted.url, 'GET', '/api/chats')
  assert.deepEqual(items.map((c) => [c.title, c.pinned]), [['all parts of silver', true]])
})

test('useApproval: a call is approved, with another input, always, or denied', async (t) => {
  orders.removed.length = 0
  const page = await host(t, scripted.url)
  const ask = async (answer) => {
    await page.put('Remove order 7')
    await page.is('#waiting code', 'remove_order {"order_id":7}')
    await page.button(answer).click()
  }
  const ended = (count, text) => until(`answer ${count} is: ${text}`, async () => (await page.locator('.assistant').allInnerTexts()).length === count && (await page.locator('.assistant').last().innerText()).includes(text))
  await ask('Yes')
  await ended(1, 'The order is removed.')
  await ask('No')
  await ended(2, 'I leave the order where it is.')
  await ask('Yes, but order 9')
  await ended(3, 'The order is removed.')
  await ask('Yes, always')
  await ended(4, 'The order is removed.')
  await page.put('Remove order 7')
  await ended(5, 'The order is removed.')
  assert.deepEqual(orders.removed, ['/7', '/9', '/7', '/7'])
  await page.is('#waiting', 'Nothing waits')
})

test('components: every part of the tray is the page’s own, around the default or without it; toolRenderers show a call', async (t) => {
  orders.removed.length = 0
  const page = await host(t, scripted.url, '#tray')
  await page.locator('#own-header').getByText('Our shop').waitFor()
  await page.button('More options').waitFor()
  await page.hasText('Ask about your orders.')
  assert.equal(await page.getByText('How can I help?').count(), 0)
  await page.hasText('Answers may be wrong.')
  await page.ask('Show all parts')
  await page.settled()
  assert.equal(await page.locator('.own-question').innerText(), 'You: Show all parts')
  assert.deepEqual(await page.locator('.own-message').evaluateAll((all) => all.map((e) => e.dataset.of)), ['user', 'assistant'])
  const answer = page.locator('.own-answer')
  await until('the code is the page’s', async () => (await answer.locator('.own-code').innerText()).trim() === 'js: let a = 1')
  assert.equal(await answer.locator('.own-link').getAttribute('title'), 'https://example.com/a')
  assert.equal(await answer.locator('.own-image').innerText(), 'https://example.com/b.png')
  assert.equal(await page.locator('.own-suggestions').innerText(), 'More of it')
  assert.equal(await page.locator('.own-actions').innerText(), 'Was this right?')
  assert.equal(await page.button('Good answer').count(), 0)

  await page.ask('What is in stock?')
  await page.settled()
  const own = page.locator('.own-stock')
  await until('the call is the page’s', async () => (await own.innerText()).startsWith('completed: 3 in stock'))
  await own.getByRole('button', { name: 'How?' }).click()
  await own.locator('.ct-tool').waitFor()
  await page.shot('host-renderer')

  await page.ask('Remove order 7')
  const asks = page.locator('.own-approval')
  await asks.getByText('The shop asks: remove_order').waitFor()
  await asks.getByRole('button', { name: 'Approve' }).click()
  await page.hasText('The order is removed.')
  await page.settled()
  assert.deepEqual(orders.removed, ['/7'])
  await page.reload()
  await page.locator('.own-answer').nth(2).waitFor()
  await page.locator('.own-answer').nth(1).scrollIntoViewIfNeeded()
  await until('a kept call is the page’s too', async () => /completed: 3 in stock/.test(await page.locator('.own-stock').innerText()))
  await page.locator('.own-call[data-name=remove_order]').waitFor()
})

test('the focus and the caret are where the user writes: in a draft at its end, and while a part of the page loads again', async (t) => {
  const page = await host(t, counts.url, '#loading')
  await page.hasText('It is loaded.')
  await page.input.pressSequentially('one')
  await page.button('Close the chat').click()
  await page.button('Open the chat').click()
  await page.input.focus()
  await page.keyboard.type(' two')
  assert.equal(await page.input.inputValue(), 'one two')
  const shown = page.locator('.ct-composer textarea:visible')
  const inFocus = () => until('the shown input has the focus', () => shown.evaluate((e) => e === document.activeElement))
  await page.evaluate(() => window.loadAgain())
  await page.getByText('It is loaded.').waitFor({ state: 'hidden' })
  await inFocus()
  await page.evaluate(() => window.loaded())
  await page.hasText('It is loaded.')
  await inFocus()
})

test('in a shadow root the menu can be used, the focus and a selection are kept, and the key of the tray closes it', async (t) => {
  const page = await host(t, counts.url, '#shadow')
  const focused = () => page.evaluate(() => document.activeElement?.shadowRoot?.activeElement?.getAttribute('aria-label'))
  const inFocus = (name) => until(`the focus is on ${name}`, async () => (await focused()) === name)
  await page.ask('hello')
  await page.settled()
  await page.button('More options').click()
  await page.getByRole('menuitem', { name: 'Save as Markdown' }).press('ArrowDown')
  assert.equal(await page.getByRole('menuitem', { name: 'Save as JSON' }).evaluate((e) => e.matches(':focus')), true)
  await page.getByRole('menuitem', { name: 'Keyboard' }).click()
  await page.getByRole('button', { name: 'Close panel' }).waitFor()
  await page.keyboard.press('Escape')
  await inFocus('More options')
  await page.questions.last().hover()
  await page.button('Edit').click()
  await page.getByRole('textbox', { name: 'Edit message' }).press('Escape')
  await inFocus('Edit')
  await page.button('Bad answer').click()
  await page.getByPlaceholder('What was wrong? (optional)').press('Escape')
  await inFocus('Bad answer')
  await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }))
  await page.answers.last().getByRole('button', { name: 'Copy' }).press('Enter')
  assert.match((await focused()) ?? '', /^Cop(y|ied)$/)
  counts.upTo(3)
  await page.ask('count 9')
  const selected = (text) => text.evaluate((e) => String(e.getRootNode().getSelection()))
  await page.answers.last().getByText('1 2 3').evaluate((e) => e.getRootNode().getSelection().setBaseAndExtent(e.firstChild, 5, e.firstChild, 2))
  counts.upTo(5)
  assert.equal(await selected(page.answers.last().getByText('1 2 3 4 5')), '2 3')
  await page.input.fill('later')
  await page.input.press('Enter')
  await page.button('Take back: later').click()
  await inFocus('Message')
  counts.upTo(9)
  await page.settled()
  await page.keyboard.press('Control+/')
  await page.button('Open the chat').waitFor()
})
