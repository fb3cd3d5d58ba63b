import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { browser, call, service, tab, until } from './world.js'

let server, chromium, page
before(async () => {
  ;[server, chromium] = await Promise.all([service(), browser()])
})
after(async () => {
  await chromium.close()
  await server.kill()
})
beforeEach(async () => {
  page = await chromium.open(`${server.url}/#/edit/1/semantic`)
})
afterEach(async () => {
  const { bad } = page
  await page.done()
  assert.deepEqual(bad, [])
})

const panel = () => page.locator('.ct-panel')
const topics = () => page.locator('textarea[name="semantic.topics"]')

test('a tool’s result opens beside the tray on request, and closes with the next question and on the next page', async () => {
  await page.ask('Tell me about stream 1')
  await page.settled()
  assert.equal(await panel().count(), 0, 'what needs no decision does not open by itself')
  await page.locator('.ct-payload').first().click()
  await panel().getByRole('heading', { name: 'Research stream' }).waitFor()
  await panel().getByText('Gene editing in sickle cell disease').first().waitFor()
  const [beside, tray] = await Promise.all([panel().boundingBox(), page.locator('.ct-tray').boundingBox()])
  assert.ok(beside.x + beside.width <= tray.x + 1, 'the panel does not cover the answer')
  await page.button('Close panel').click()
  assert.equal(await panel().count(), 0)
  await page.locator('.ct-payload').first().click()
  await panel().waitFor()
  await panel().press('Escape')
  assert.equal(await panel().count(), 0)
  await page.locator('.ct-payload').first().click()
  await panel().waitFor()
  await page.ask('hello')
  await page.settled()
  assert.equal(await panel().count(), 0, 'the next question closes it')
  await page.locator('.ct-payload').first().click()
  await panel().waitFor()
  await page.getByRole('link', { name: 'Reports', exact: true }).first().click()
  await until('the next page closes it', async () => (await panel().count()) === 0)
  await page.goBack()
  await page.reload()
  await page.locator('.ct-payload').first().waitFor()
  assert.equal(await panel().count(), 0, 'what needs no decision does not pop up again')
})

test('without room beside the tray a payload opens in the answer and covers nothing', async () => {
  for (const [width, height] of [[800, 700], [360, 740]]) {
    await page.setViewportSize({ width, height })
    await page.reload()
    const open = page.getByRole('button', { name: /^Open the chat/ })
    await open.or(page.input).first().waitFor()
    if (await open.isVisible()) await open.click()
    await page.ask('Tell me about stream 1')
    await page.settled()
    await page.locator('.ct-payload').last().click()
    await page.locator('.ct-payload-body').getByText('Gene editing in sickle cell disease').first().waitFor()
    assert.equal(await panel().count(), 0)
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth))
    await page.shot(`payload-inline-${width}`)
    await page.locator('.ct-payload').last().click()
    assert.equal(await page.locator('.ct-payload-body').count(), 0)
  }
})

test('the tray knows where it is before the page has its data', async () => {
  await page.route('**/api/streams/2', () => undefined)
  await page.goto(`${server.url}/#/edit/2/retrieval`)
  const sent = page.waitForRequest((r) => r.method() === 'POST' && r.url().includes('/api/chat/stream'))
  await page.ask('hello')
  assert.deepEqual((await sent).postDataJSON().context, { current_page: 'edit_stream', active_tab: 'retrieval', stream_id: 2 })
  await page.settled()
})

test('a proposal of the model goes to the page, which takes it into the form; the decision is kept', async () => {
  const before = await topics().inputValue()
  await page.ask('Propose a schema with base editing')
  await page.settled()
  await panel().getByText('+ base editing').waitFor()
  await page.reload()
  await panel().getByText('+ base editing').waitFor()
  await panel().getByRole('button', { name: 'Accept' }).click()
  await page.hasText('The proposal is in the form. Save to keep it.')
  assert.equal(await topics().inputValue(), `${before}\nbase editing`)
  await page.locator('.ct-payload [data-outcome=accepted]').waitFor()
  assert.equal(await panel().count(), 0)
  await page.ask('hello')
  await page.settled()
  assert.equal(await topics().inputValue(), `${before}\nbase editing`, 'another answer leaves the form alone')
  await page.button('Save').click()
  await page.hasText('Saved.')
  const stream = await call(server.url, 'GET', '/api/streams/1')
  assert.ok(stream.schema.semantic.topics.includes('base editing'))
  await page.reload()
  await page.locator('.ct-payload [data-outcome=accepted]').waitFor()
  assert.equal(await panel().count(), 0, 'it does not come back')
})

test('a proposal that is rejected stays rejected', async () => {
  const stored = async () => (await call(server.url, 'GET', '/api/streams/1')).schema
  const before = await stored()
  await page.ask('Propose a schema with prime editing')
  await page.settled()
  await panel().getByRole('button', { name: 'Reject' }).waitFor()
  assert.equal(await page.button('Apply changes').count(), 0, 'the panel has the one pair of buttons')
  const second = await tab(page.context(), page.url())
  await second.locator('.ct-payload').last().waitFor()
  await panel().getByRole('button', { name: 'Reject' }).click()
  for (const one of [page, second]) {
    await one.locator('.ct-payload [data-outcome=rejected]').waitFor()
    assert.equal(await one.button('Apply changes').count(), 0, 'what was rejected cannot be applied')
  }
  await page.reload()
  await page.locator('.ct-payload [data-outcome=rejected]').waitFor()
  assert.equal(await page.button('Apply changes').count(), 0)
  assert.equal(await panel().count(), 0)
  assert.deepEqual(await stored(), before)
})

test('a server action changes the stream, and the page sees it', async () => {
  // If the page does not accept the proposal itself, as before its form has loaded, the server does.
  let load
  const loaded = new Promise((resolve) => (load = resolve))
  await page.route('**/api/streams/1', async (request) => {
    await loaded
    await request.continue()
  })
  await page.reload()
  await page.ask('Propose a schema with gene drives')
  await page.settled()
  await page.button('Apply changes').click()
  await page.questions.last().getByText('Apply changes').waitFor()
  await page.settled()
  load()
  await topics().filter({ hasText: 'gene drives' }).waitFor()
  // Changes that are made while an answer is written are in the form once the answer is complete.
  const { name, purpose, schema } = await call(server.url, 'GET', '/api/streams/1')
  await call(server.url, 'PUT', '/api/streams/1', { name, purpose, schema: { ...schema, semantic: { ...schema.semantic, topics: [...schema.semantic.topics, 'base editors'] } } })
  await page.ask('hello')
  await page.settled()
  await topics().filter({ hasText: 'base editors' }).waitFor()
})

test('a client action closes the chat; it opens again unchanged', async () => {
  await page.ask('bye')
  await page.settled()
  await page.button('Close the chat').last().click()
  await page.button('Open the chat').click()
  await page.hasText('bye')
})

test('a report’s articles are grouped as the assistant proposes', async () => {
  await page.goto(`${server.url}/#/reports/1/articles`)
  await page.ask('Categorize the articles')
  await page.settled()
  await panel().getByRole('button', { name: 'Accept' }).click()
  await page.hasText('Grouped as the assistant proposed.')
  assert.ok((await page.locator('.app-group').count()) > 1)
})

test('diagnostics are for the admin only', async () => {
  const secret = '0123456789abcdef0123456789abcdef'
  const guarded = await service({ CHATTRAY_JWT_SECRET: secret })
  try {
    const token = (...args) => execFileSync(process.env.E2E_BINARY, ['token', ...args], { cwd: guarded.folder, env: { PATH: process.env.PATH, HOME: guarded.folder, CHATTRAY_JWT_SECRET: secret } }).toString().trim()
    for (const [name, role] of [['alice', ['--role', 'admin']], ['bob', []]]) {
      const theirs = await chromium.open(guarded.url)
      await theirs.getByLabel('Token').fill(token('--user', name, ...role))
      await theirs.button('Sign in').click()
      await theirs.hasText('How can I help?')
      await theirs.ask('List the research streams')
      await theirs.settled()
      if (role.length > 0) {
        await theirs.button('Diagnostics').click()
        await theirs.hasText('Iterations (2)')
        await theirs.getByText('System prompt').click()
        await theirs.hasText('## IDENTITY')
        for (const width of [360, 800, 1440]) {
          await theirs.setViewportSize({ width, height: 740 })
          await until(`nothing covers the answer at ${width}`, () => theirs.evaluate(() => {
            const [panel, list] = ['.ct-panel', '.ct-list'].map((part) => document.querySelector(part)?.getBoundingClientRect())
            return panel && list && list.height > 100 && (panel.right <= list.left || panel.bottom <= list.top)
          }))
        }
      } else {
        assert.equal(await theirs.button('Diagnostics').count(), 0)
      }
      assert.deepEqual(theirs.bad, [])
      await theirs.done()
    }
  } finally {
    await guarded.kill()
  }
})

test('the page’s own tool is called, does its work on the page, and the model reads the outcome', async () => {
  await page.goto(`${server.url}/#/reports/1/articles`)
  const id = Number((await call(server.url, 'GET', '/api/reports/1')).articles[1].article_id)
  const { title } = (await call(server.url, 'GET', '/api/reports/1')).articles[1]
  await page.getByRole('button', { name: title }).waitFor()
  await page.ask(`open article ${id}`)
  await page.settled()
  assert.equal(await page.getByRole('button', { name: title }).first().getAttribute('aria-pressed'), 'true')
  assert.ok((await page.answers.last().textContent()).includes(title))
  await page.locator('.ct-tool[data-tool=open_article][data-status=completed]').waitFor()
  await page.ask('open article 99999')
  await page.settled()
  await page.locator('.ct-tool[data-tool=open_article][data-status=error]').waitFor()
  assert.match(await page.answers.last().textContent(), /This report has no article 99999/)
})

test('a call that waits when the page is loaded is run by one of two tabs', async () => {
  const place = `${server.url}/#/reports/1/articles`
  await page.goto(place)
  await page.ask('hello')
  await page.settled()
  await page.goto('about:blank')
  const { conversation_id: chat } = (await call(server.url, 'GET', '/api/chats')).items[0]
  const { articles: [, article] } = await call(server.url, 'GET', '/api/reports/1')
  const elsewhere = new AbortController()
  const started = await fetch(`${server.url}/api/chat/stream`, {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, signal: elsewhere.signal, body: JSON.stringify({
      message: `open article ${article.article_id}`, conversation_id: chat, context: { current_page: 'reports' }, on_disconnect: 'continue',
      client_tools: [{ name: 'open_article', description: 'Opens an article.', input_schema: { type: 'object' } }],
    }),
  })
  const run = started.headers.get('X-Run-Id')
  await until('the run waits', async () => (await call(server.url, 'GET', `/api/chat/runs/${run}`)).state === 'waiting')
  elsewhere.abort()
  const outcomes = []
  page.context().on('request', (request) => request.url().endsWith('/tool_results') && outcomes.push(request.postData()))
  const tabs = await Promise.all([tab(page.context(), place), tab(page.context(), place)])
  for (const one of tabs) {
    await one.locator('.ct-tool[data-tool=open_article][data-status=completed]').waitFor()
    await one.settled()
    assert.ok((await one.answers.last().textContent()).includes(article.title))
    assert.deepEqual(one.bad, [])
  }
  assert.equal(outcomes.length, 1, 'one tab ran it')
})
