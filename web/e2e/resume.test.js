import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { browser, counting, line, tab, until } from './world.js'

let server, chromium, page
before(async () => {
  ;[server, chromium] = await Promise.all([counting(), browser()])
})
after(async () => {
  await chromium.close()
  await server.close()
})
beforeEach(async () => {
  server.upTo(5)
  page = await chromium.open(`${server.url}/#/streams`)
})
afterEach(async () => {
  const { bad } = page
  await page.context().close()
  assert.deepEqual(bad, [])
})

const counted = (n) => Array.from({ length: n }, (_, i) => i + 1).join(' ')
const textOf = async (p) => (await p.answers.last().locator('.ct-md').allTextContents()).join(' ').replace(/\s+/g, ' ')

test('after a reload in the middle of an answer it continues without a gap', async () => {
  await page.ask('count 40')
  await page.hasText(/\b3 4/)
  await page.reload()
  await page.button('Stop').waitFor()
  server.upTo(40)
  await page.settled()
  assert.ok((await textOf(page)).includes(counted(40)), await textOf(page))
  assert.equal(await page.questions.count(), 1)
  assert.equal(await page.answers.count(), 1)
})

test('a second tab follows, and stops what the first one started', async () => {
  await page.ask('count 60')
  await page.hasText(/\b2 3/)
  const second = await tab(page.context(), `${server.url}/#/reports`)
  await second.hasText(/\b2 3 4/)
  await second.button('Stop').click()
  await Promise.all([second.settled(), page.settled()])
  await page.hasText('You stopped this answer.')
  await second.hasText('You stopped this answer.')
  server.upTo(10)
  await page.ask('count 10')
  await second.hasText('count 10')
  await Promise.all([second.settled(), page.settled()])
  assert.equal(await second.questions.count(), 2)
  assert.equal(await textOf(second), await textOf(page))
  assert.deepEqual(second.bad, [])
})

test('the service is killed and starts again: a notice, then the answer continues', async () => {
  await page.ask('count 40')
  await page.hasText(/\b3 4/)
  await server.kill()
  await page.hasText('Connection lost. Reconnecting…')
  await page.shot('reconnecting')
  await server.start()
  server.upTo(40)
  await page.button('Try now').click({ timeout: 1000 }).catch(() => undefined)
  await page.settled()
  assert.ok((await textOf(page)).includes(counted(40)), await textOf(page))
  await until('the notice goes', async () => (await page.getByText('Connection lost').count()) === 0)
  assert.equal(await page.answers.count(), 1)
})

test('a connection that is cut repeatedly loses nothing', async () => {
  const through = await line(server.url)
  const cut = await chromium.open(through.url)
  try {
    await cut.ask('count 30')
    for (const at of [4, 9, 15]) {
      server.upTo(at)
      await cut.answers.last().getByText(new RegExp(`\\b${at}\\b`)).waitFor()
      through.cut()
    }
    server.upTo(30)
    await cut.settled()
    assert.ok((await textOf(cut)).includes(counted(30)), await textOf(cut))
    assert.deepEqual(cut.bad, [])
  } finally {
    await cut.context().close()
    through.close()
  }
})

test('a message that could not be sent can be sent again', async () => {
  await page.hasText('How can I help?')
  await server.kill()
  await page.ask('hello')
  await page.hasText('Connection lost. Reconnecting…')
  await server.start()
  await page.settled()
  await page.hasText('I am the')
  assert.equal(await page.questions.count(), 1)
})

test('a message to a chat that another browser uses is given back, and the other answer is shown', async () => {
  await page.ask('hello')
  await page.settled()
  const other = await chromium.open(`${server.url}/#/streams`)
  await other.button('Chats').click()
  await other.locator('.ct-chat-open').first().click()
  await other.hasText('hello')
  await page.ask('count 40')
  await page.hasText(/\b2 3/)
  await other.ask('from the other browser')
  await other.hasText('count 40')
  await until('the message is given back', async () => (await other.input.inputValue()) === 'from the other browser')
  server.upTo(40)
  await Promise.all([page.settled(), other.settled()])
  assert.ok((await textOf(other)).includes(counted(40)), await textOf(other))
  await other.input.press('Enter')
  await other.questions.nth(2).waitFor()
  await other.settled()
  assert.deepEqual(await other.questions.locator('.ct-bubble').allTextContents(), ['hello', 'count 40', 'from the other browser'])
  assert.deepEqual(other.bad, [])
  await other.context().close()
})

test('back and forward during an answer lose nothing, and each tab keeps its own chat', async () => {
  await page.ask('count 40')
  await page.hasText(/\b2 3/)
  await page.goto('about:blank')
  await page.goBack()
  server.upTo(9)
  await page.hasText(/\b8 9/)
  const second = await tab(page.context(), `${server.url}/#/streams`)
  await second.hasText('count 40')
  await second.button('New chat').click()
  await second.ask('hello')
  await second.settled()
  server.upTo(40)
  await page.settled()
  assert.ok((await textOf(page)).includes(counted(40)), await textOf(page))
  await page.reload()
  await page.hasText('count 40')
  await second.reload()
  await second.hasText('hello')
  assert.equal(await page.questions.count(), 1)
  assert.equal(await second.questions.count(), 1)
})

test('messages wait while an answer is written; one is taken back, the other is answered, also after a reload', async () => {
  await page.ask('count 40')
  await page.button('Stop').waitFor()
  await page.ask('help')
  await page.ask('goodbye')
  const list = page.getByRole('list', { name: 'Waiting messages' })
  await until('both wait in sight', async () => (await list.getByRole('listitem').allTextContents()).join() === 'help,goodbye')
  await page.button('Take back: help').click()
  await page.reload()
  await list.getByText('goodbye').waitFor()
  server.upTo(40)
  await page.hasText('I am the model.')
  await page.settled()
  assert.equal(await list.count(), 0)
  assert.deepEqual(await page.questions.locator('.ct-bubble').allTextContents(), ['count 40', 'goodbye'])
})
