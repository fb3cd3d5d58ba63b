// What a user chooses in the tray: the model, what a message mentions, a thread; and where an answer has its facts from.
import assert from 'node:assert/strict'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { after, afterEach, before, test } from 'node:test'
import { browser, call, listening, model, service, until } from './world.js'

const asked = []
let chromium, server, demo, upstream, articles, page
before(async () => {
  articles = createServer((_, response) => response.end('1. Komor et al. Programmable editing of a target base\n   Nature 2016\n   https://example.com/komor\n2. Gaudelli et al. Programmable base editing of A•T\n   Nature 2017\n   https://example.com/gaudelli\n'))
  const pages = mkdtempSync(join(process.env.E2E_WORK, 'pages-'))
  writeFileSync(join(pages, 'streams.yaml'), `
identity: You know articles.
http_tools:
  - name: find_articles
    description: Finds articles.
    input_schema: {type: object, properties: {}}
    url: http://127.0.0.1:${await listening(articles)}/
`)
  upstream = model((message, request) => {
    asked.push(request.model)
    if (message.role === 'tool') return { content: 'It changes C to T [1], and A to G [2]; a third way is not known [7].' }
    if (/articles/.test(message.content)) return { call: ['find_articles', {}] }
    return { content: 'Gold is dear.', usage: [9000, 1000] }
  })
  const models = [{ name: 'large', context_window: 100_000, price: { input: 2, output: 8 } }, { name: 'small', context_window: 50_000, price: { input: 0.1, output: 0.4 } }, { name: 'free' }]
  ;[server, demo, chromium] = await Promise.all([
    service({ CHATTRAY_OPENAI_BASE_URL: `http://127.0.0.1:${await listening(upstream)}/v1`, CHATTRAY_OPENAI_API_KEY: 'x', CHATTRAY_MODELS: JSON.stringify(models), CHATTRAY_PAGES: pages }),
    service(), browser(),
  ])
})
after(async () => {
  await chromium.close()
  await server.kill()
  await demo.kill()
  for (const one of [upstream, articles]) {
    one.closeAllConnections()
    one.close()
  }
})
afterEach(async () => {
  const { bad } = page
  await page.done()
  assert.deepEqual(bad, [])
})

test('a model is chosen by its price; the chat shows its tokens, its cost and how full its context is', async () => {
  page = await chromium.open(`${server.url}/#/streams`)
  const choice = page.getByRole('combobox', { name: 'Model' })
  await choice.waitFor()
  assert.deepEqual(await choice.locator('option').allInnerTexts(), ['large ($2 in, $8 out)', 'small ($0.1 in, $0.4 out)', 'free'])
  assert.equal(await choice.inputValue(), 'large')
  const used = page.getByLabel('Used by this chat')
  assert.equal(await used.count(), 0, 'nothing is used yet')
  await page.ask('What does gold cost?')
  await page.settled()
  const shows = (text) => used.getByText(text, { exact: true }).or(used.filter({ hasText: text })).first().waitFor()
  await shows('10,000 tokens · $0.03 · 10 % of the context')
  await choice.selectOption('small')
  await page.ask('And silver?')
  await page.settled()
  await shows('20,000 tokens · $0.03 · 20 % of the context')
  assert.deepEqual(asked.splice(0), ['large', 'small'])
  await page.shot('model')
  await page.reload()
  await shows('20,000 tokens · $0.03 · 20 % of the context')
  assert.equal(await choice.inputValue(), 'small', 'the choice is kept')
  await page.button('New chat').click()
  await until('a new chat has used nothing', async () => (await used.count()) === 0)
})

test('a number in the text shows the source that a tool found, live and when the chat is opened again', async () => {
  page = await chromium.open(`${server.url}/#/streams`)
  await page.ask('Which articles are there?')
  await page.settled()
  for (const again of [false, true]) {
    if (again) await page.reload()
    const second = page.answers.last().getByRole('button', { name: /^Source 2: Gaudelli/ })
    await second.click()
    const card = page.locator('.ct-cite-card:popover-open')
    await card.getByText('Programmable base editing of A•T').waitFor()
    await card.getByText('Nature 2017').waitFor()
    assert.equal(await card.getByRole('link').getAttribute('href'), 'https://example.com/gaudelli')
    assert.equal(await page.answers.last().locator('.ct-cite > button').count(), 2)
    assert.match(await page.answers.last().innerText(), /not known \[7\]/, 'a number without a source is text')
    await page.keyboard.press('Escape')
  }
})

test('after @ come tools and documents by name, after / commands; with the pointer and with Escape too', async () => {
  await call(demo.url, 'POST', '/api/documents', { title: 'Gold report' })
  page = await chromium.open(`${demo.url}/#/document`)
  await page.hasText('How can I help?')
  const list = page.getByRole('listbox')
  await page.input.pressSequentially('See @gold')
  await page.getByRole('listbox', { name: 'Tools and documents' }).getByRole('option', { name: /Gold report/ }).click()
  await until('the document is named', async () => /^See @?.*Gold report.* $/.test(await page.input.inputValue()))
  assert.equal(await list.count(), 0)
  await page.input.fill('')
  await page.input.pressSequentially('@read')
  await list.getByRole('option', { name: /@read_document/ }).waitFor()
  await page.input.press('Escape')
  assert.equal(await list.count(), 0)
  assert.equal(await page.input.inputValue(), '@read', 'Escape leaves the text')
  await page.input.fill('')
  await page.input.pressSequentially('/')
  const commands = page.getByRole('listbox', { name: 'Commands' })
  await commands.getByRole('option', { name: '/chats' }).click()
  await page.getByRole('region', { name: 'Chats' }).waitFor()
  await page.button('Back').click()
  assert.equal(await page.input.inputValue(), '', 'a command is no text')
  await page.input.pressSequentially('no /chats')
  assert.equal(await list.count(), 0, 'only at the beginning')
})

test('threads are tabs with the keyboard, or a list in the order of arrival', async () => {
  page = await chromium.open(`${demo.url}/#/reports`)
  await page.ask('Research base editing and gold')
  await page.settled()
  const threads = page.getByRole('group', { name: 'Parallel work' })
  const tabs = threads.getByRole('tab')
  await tabs.nth(1).waitFor()
  const count = await tabs.count()
  const chosen = () => tabs.evaluateAll((all) => all.flatMap((t, i) => (t.ariaSelected === 'true' ? [i] : [])))
  assert.deepEqual(await chosen(), [0])
  const panel = threads.getByRole('tabpanel')
  const first = await panel.innerText()
  await tabs.first().focus()
  await page.keyboard.press('ArrowRight')
  assert.deepEqual(await chosen(), [1])
  assert.ok(await tabs.nth(1).evaluate((t) => t === document.activeElement))
  assert.notEqual(await panel.innerText(), first)
  assert.equal(await panel.getAttribute('aria-labelledby'), await tabs.nth(1).getAttribute('id'))
  await page.keyboard.press('ArrowLeft')
  assert.equal(await panel.innerText(), first)
  await page.keyboard.press('ArrowLeft')
  assert.deepEqual(await chosen(), [count - 1], 'before the first comes the last')
  await tabs.nth(1).click()
  assert.deepEqual(await chosen(), [1])
  const names = await tabs.allInnerTexts()
  await threads.getByRole('button', { name: 'In order of arrival' }).click()
  assert.equal(await tabs.count(), 0)
  const heads = await threads.locator('.ct-thread h4').allInnerTexts()
  assert.deepEqual([...new Set(heads)].sort(), names.map((n) => n.trim()).sort())
  await threads.getByRole('button', { name: 'One at a time' }).click()
  assert.equal(await tabs.count(), count)
})

test('a starter of the front page leads to an approval', async () => {
  page = await chromium.open(`${demo.url}/#/streams`)
  await page.locator('.ct-starter').getByText('Order 2 printed copies of report 1').click()
  const asks = page.getByRole('group', { name: 'May I do this?' })
  assert.equal(await asks.getByLabel('Copies').inputValue(), '2')
  await asks.getByRole('button', { name: 'Approve' }).click()
  await page.hasText('This is how it went')
  await page.settled()
})
