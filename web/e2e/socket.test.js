// The document page over the websocket, in a browser.
import assert from 'node:assert/strict'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { browser, call, line, listening, service, shop, tab, until } from './world.js'

let server, chromium, upstream, orders, wire, release
before(async () => {
  orders = await shop()
  upstream = writer()
  const pages = mkdtempSync(join(process.env.E2E_WORK, 'pages-'))
  writeFileSync(join(pages, 'document.yaml'), `
identity: You write documents and look after orders.
context:
  builder: document
tools: [read_document, plan_document, write_block, edit_block, delete_block, move_block]
payloads: [stream_suggestions]
${orders.tools}`)
  ;[server, chromium] = await Promise.all([
    service({ CHATTRAY_OPENAI_BASE_URL: `http://127.0.0.1:${await listening(upstream)}/v1`, CHATTRAY_OPENAI_API_KEY: 'x', CHATTRAY_MODEL: 'scripted', CHATTRAY_PAGES: pages }),
    browser(),
  ])
  wire = await line(server.url)
})
after(async () => {
  await chromium.close()
  wire.close()
  await server.kill()
  for (const one of [upstream, orders.server]) {
    one.closeAllConnections()
    one.close()
  }
})

/** A model that writes half of an answer, and the rest when it is released. It calls a tool, or writes a block, if the question asks for it. */
function writer() {
  return createServer(async (request, response) => {
    let body = ''
    for await (const piece of request) body += piece
    const message = JSON.parse(body).messages.at(-1)
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    const send = (choice) => response.write(`data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', choices: [{ index: 0, ...choice }] })}\n\n`)
    const say = (content) => send({ delta: { content } })
    const use = (name, input) => send({ delta: { tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name, arguments: JSON.stringify(input) } }] } })
    let finish = 'stop'
    if (message.role === 'tool') {
      say(/It is gone/.test(message.content) ? 'The order is removed.\n\nSTREAM_SUGGESTIONS: {"suggestions": [{"name": "Orders", "purpose": "Which orders are left?"}]}\n\nSTREAM_SUGGESTIONS: {"rows": 1}\n\nSUGGESTED_VALUES: [{"label": "Say thanks", "value": "Thanks"}]' : 'It is written.')
    } else if (/Remove order/.test(message.content)) {
      use('remove_order', { order_id: 7 })
      finish = 'tool_calls'
    } else if (/Write a table/.test(message.content)) {
      use('write_block', { type: 'csv', content: 'year,price\n2025,3431\n2026,4100\n' })
      finish = 'tool_calls'
    } else if (/Write/.test(message.content)) {
      say('Gold is **half** ')
      await new Promise((resolve) => {
        release = resolve
        request.socket.once('close', resolve)
      })
      say('and now whole.')
    } else {
      say('You are welcome.')
    }
    send({ delta: {}, finish_reason: finish })
    response.end('data: [DONE]\n\n')
  })
}

/** The part of the page that asks about the document. */
function asking(page) {
  const part = page.getByRole('region', { name: 'Ask about this document' })
  return {
    part,
    button: (name) => part.getByRole('button', { name, exact: true }),
    question: part.getByRole('group', { name: 'May I do this?' }),
    async ask(text, where = 'Where it fits') {
      await part.getByRole('combobox').selectOption({ label: where })
      await part.getByRole('textbox', { name: 'Ask about this document' }).fill(text)
      await part.getByRole('button', { name: 'Ask', exact: true }).click()
    },
    ended: (state) => part.locator(`.ct-doc-run[data-state=${state}]`).waitFor({ state: 'attached' }),
  }
}

async function opened() {
  const made = await call(server.url, 'POST', '/api/documents', { title: 'Gold' })
  const page = await chromium.open(`${wire.url}/#/document/${made.id}`)
  await page.getByText('This document is empty').waitFor()
  return { page, id: made.id, doc: asking(page) }
}

test('an answer is written into a block while the connection is cut', async () => {
  const { page, id, doc } = await opened()
  const sent = []
  page.on('websocket', (socket) => socket.on('framesent', ({ payload }) => sent.push(JSON.parse(payload))))
  await doc.ask('Write about gold', 'A new block at the end')
  const block = page.locator('.ct-block[data-block]')
  await block.locator('strong').getByText('half').waitFor()
  assert.equal(await block.getAttribute('data-writing'), 'true')
  await page.shot('socket-writing')
  wire.down()
  await doc.part.getByText('Connection lost').waitFor()
  wire.up()
  await doc.part.getByText('Connection lost').waitFor({ state: 'hidden' })
  release()
  await doc.ended('completed')
  await until('the block is whole', async () => (await block.locator('.ct-md').innerText()).trim().endsWith('Gold is half and now whole.'))
  assert.equal(await block.count(), 1)
  assert.equal(await block.getAttribute('data-state'), 'pending_new')
  const kept = await call(server.url, 'GET', `/api/documents/${id}`)
  assert.deepEqual(kept.blocks.map((b) => b.new), ['Gold is **half** and now whole.'])
  await block.getByRole('button', { name: 'Revert' }).click()
  await page.getByText('This document is empty').waitFor()
  assert.equal(await block.count(), 0, 'what was reverted does not come back')
  assert.ok(sent.some((e) => e.name === 'resume' && e.run_id && e.after > 0), 'the second line resumes')
  assert.deepEqual(page.bad, [])
  await page.done()
})

test('a call waits for the user, who answers in another tab, and the result is shown', async () => {
  const { page, id, doc } = await opened()
  await doc.ask('Remove order 7')
  await doc.question.getByText('Remove an order', { exact: true }).waitFor()
  await page.shot('socket-approval')
  assert.deepEqual(orders.removed, [])
  wire.cut()
  const second = await tab(page.context(), `${wire.url}/#/document/${id}`)
  const other = asking(second)
  assert.equal(await other.question.getByLabel('Order id').inputValue(), '7')
  await other.question.getByRole('button', { name: 'Approve' }).click()
  for (const one of [doc, other]) {
    await one.ended('completed')
    await one.part.getByText('The order is removed.').waitFor()
    assert.equal(await one.question.count(), 0)
    await one.part.getByText('Removed an order').waitFor()
    await one.part.locator('.ct-payload-card[data-type=stream_suggestions]').getByText('Orders', { exact: true }).first().waitFor()
    assert.equal(await one.part.locator('.ct-notes li').count(), 1)
  }
  assert.deepEqual(orders.removed, ['/7'])
  await page.shot('socket-cards')
  await doc.button('Say thanks').click()
  await doc.part.getByText('You are welcome.').waitFor()
  await doc.ended('completed')
  await other.part.getByText('You are welcome.').waitFor()
  assert.deepEqual(page.bad, [])
  assert.deepEqual(second.bad, [])
  await page.done()
})

test('a table is written by a call, and a stopped answer keeps its text', async () => {
  const { page, id, doc } = await opened()
  await doc.ask('Write a table')
  await page.locator('.ct-block .ct-table').first().waitFor()
  await doc.ended('completed')
  await page.locator('.ct-block[data-state=pending_new]').getByRole('button', { name: 'Accept' }).click()
  await until('it is accepted', async () => (await call(server.url, 'GET', `/api/documents/${id}`)).blocks[0].state === 'clean')
  await doc.ask('Write more', 'A new block at the end')
  const block = page.locator('.ct-block[data-block]').last()
  await block.locator('strong').getByText('half').waitFor()
  await doc.button('Stop').click()
  await doc.ended('cancelled')
  await doc.part.getByText('You stopped this answer.').waitFor()
  await until('the block is no longer written', async () => (await block.getAttribute('data-writing')) === null)
  assert.deepEqual((await call(server.url, 'GET', `/api/documents/${id}`)).blocks.map((b) => b.new ?? b.current), ['year,price\n2025,3431\n2026,4100\n', 'Gold is **half** '])
  await page.shot('socket-stopped')
  await doc.ask('Thanks')
  await doc.part.getByText('You are welcome.').waitFor()
  assert.deepEqual(page.bad, [])
  await page.done()
})
