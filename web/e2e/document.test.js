import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { after, before, test } from 'node:test'
import { PACED, browser, call, findings, listening, model, service, until } from './world.js'


let server, paced, chromium
before(async () => {
  ;[server, paced, chromium] = await Promise.all([service(), service(PACED), browser()])
})
after(async () => {
  await chromium.close()
  await server.kill()
  await paced.kill()
})

const states = (page) => page.locator('.ct-block[data-block]').evaluateAll((all) => all.map((b) => b.dataset.state))

test('a document is planned, filled, accepted and reverted block by block', async () => {
  const page = await chromium.open(`${paced.url}/#/document`)
  await page.button('New document').click()
  await page.getByText('This document is empty').waitFor()
  await page.ask('Create a research report about gold')
  await page.getByText('7 changes wait for you').waitFor()
  await page.settled()
  await page.locator('.ct-chart canvas').waitFor()
  await page.locator('.ct-block .ct-table').first().waitFor()
  await page.shot('document')
  assert.deepEqual(await states(page), Array(6).fill('pending_new'))

  const first = page.locator('.ct-block[data-block]').first()
  await first.getByRole('button', { name: 'Accept' }).click()
  await until('one is accepted', async () => (await states(page)).join() === ['clean', ...Array(5).fill('pending_new')].join())
  await page.locator('.ct-block[data-block]').last().getByRole('button', { name: 'Revert' }).click()
  await until('one is gone', async () => (await states(page)).length === 5)
  await page.button('Accept all').click()
  await until('all are accepted', async () => (await states(page)).every((s) => s === 'clean'))
  await page.button('Undo accepting').click()
  await until('they wait again', async () => (await states(page)).join() === ['clean', ...Array(4).fill('pending_new')].join())
  await page.locator('.ct-block[data-block]').nth(3).getByRole('button', { name: 'Accept' }).click()
  await until('one is accepted again', async () => (await states(page))[3] === 'clean')
  await page.button('Accept all').click()
  await until('all are accepted again', async () => (await states(page)).join() === Array(5).fill('clean').join())
  assert.equal((await page.locator('.ct-block[data-block] h1, .ct-block[data-block] h2').allTextContents())[0], 'Research report: gold')
  await page.button('Undo accepting').click()
  await until('four wait again', async () => (await states(page)).filter((s) => s === 'pending_new').length === 3)
  await page.button('Accept all').click()
  await until('all are accepted at last', async () => (await states(page)).join() === Array(5).fill('clean').join())
  await call(paced.url, 'PATCH', `/api/documents/${(await page.evaluate(() => location.hash)).split('/').pop()}`, { title: 'Research report: gold' })
  await page.reload()
  await page.locator('.ct-doc-title').getByText('Research report: gold').waitFor()

  await page.ask('Shorten the summary')
  await page.settled()
  await page.locator('.ct-block[data-state=pending_edit] .ct-changes del').first().waitFor()
  await page.shot('diff')
  const edited = page.locator('.ct-block[data-state=pending_edit]')
  await edited.getByRole('button', { name: 'Current' }).click()
  await edited.getByRole('button', { name: 'Revert' }).click()
  await until('the old text is back', async () => (await states(page)).every((s) => s === 'clean'))

  await page.answers.last().getByRole('button', { name: 'Add to document' }).click()
  await until('the chat block is in the document', async () => (await states(page)).filter((s) => s === 'pending_new').length === 1)
  await page.button('Revert all').click()
  await until('it is gone again', async () => (await states(page)).every((s) => s === 'clean'))
  assert.deepEqual(page.bad, [])
  await page.done()
})

for (const how of ['comes word by word', 'has come whole before the page is drawn']) {
  test(`a document that the assistant creates is shown if its answer ${how}`, async () => {
    const page = await chromium.open(`${server.url}/#/document`)
    for (const { id } of (await call(server.url, 'GET', '/api/documents')).items) await call(server.url, 'DELETE', `/api/documents/${id}`)
    await page.reload()
    await page.hasText('Write with the assistant')
    if (how !== 'comes word by word') await page.evaluate(() => (window.requestAnimationFrame = () => 0))
    await page.ask('Create a research report about gold')
    await page.settled()
    await until('all blocks are there', async () => (await states(page)).join() === Array(6).fill('pending_new').join())
    assert.deepEqual(page.bad, [])
    await page.done()
  })
}

test('tables, images and charts of all kinds load nothing and run nothing', async () => {
  const made = await call(server.url, 'POST', '/api/documents', { title: 'Kinds' })
  const add = (block) => call(server.url, 'POST', `/api/documents/${made.id}/blocks`, block)
  await add({ type: 'csv', content: 'name,value\n"<img src=x onerror=window.hostile=1>",=1+1\n"a ""quoted"" one",2' })
  await add({ type: 'image/png', content: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', meta: { width: 40, height: 40 } })
  await add({ type: 'interactive_chart', content: 'year,tonnes\n2022,3000\n2023,3100\n', meta: { mark: 'bar', encoding: { x: { field: 'year', type: 'ordinal' }, y: { field: 'tonnes', type: 'quantitative' } } } })
  const hostile = {
    type: 'interactive_chart', content: 'x,y\n1,2\n', meta: {
      mark: { type: 'image', width: 10, height: 10 },
      transform: [{ calculate: "constructor.constructor('window.hostile = true')()", as: 'z' }],
      encoding: { x: { field: 'x', type: 'quantitative' }, y: { field: 'y', type: 'quantitative' }, url: { value: 'https://example.com/pixel.png' }, href: { value: 'javascript:window.hostile=true' } },
      usermeta: { embedOptions: { loader: {} } },
    },
  }
  await add(hostile)
  await assert.rejects(add({ ...hostile, meta: { ...hostile.meta, data: { url: 'https://example.com/data.json' } } }), /422.*without data/)
  await add({ type: 'application/unknown', content: '<b>plain</b>' })
  const page = await chromium.open(`${server.url}/#/document/${made.id}`)
  await page.locator('.ct-chart canvas').first().waitFor()
  assert.equal(await page.locator('.ct-block img').evaluate((img) => img.complete && img.naturalWidth), 1)
  assert.equal(await page.locator('.ct-block td').first().textContent(), '<img src=x onerror=window.hostile=1>')
  await page.hasText('<b>plain</b>')
  assert.equal(await page.evaluate(() => window.hostile), undefined)
  await page.shot('kinds')
  assert.deepEqual(page.bad, [])
  await page.done()
})

test('a block is deleted only after a confirmation, and text is not lost if it cannot be stored', async () => {
  const made = await call(server.url, 'POST', '/api/documents', { title: 'Care' })
  const block = await call(server.url, 'POST', `/api/documents/${made.id}/blocks`, { type: 'md', content: 'As it was.' })
  const page = await chromium.open(`${server.url}/#/document/${made.id}`)
  await page.button('Delete the block').click()
  await page.button('Cancel').click()
  await page.hasText('As it was.')
  await page.button('Edit the block').click()
  await call(server.url, 'PATCH', `/api/blocks/${block.id}`, { content: 'Changed elsewhere.' })
  await page.getByLabel('Content').fill('My long thought.')
  await page.button('Save').click()
  await page.hasText('The document has changed in the meantime')
  assert.equal(await page.getByLabel('Content').inputValue(), 'My long thought.')
  await page.button('Save').click()
  await page.locator('.ct-block').getByText('My long thought.').waitFor()
  await page.button('Delete the block').click()
  await page.getByRole('group', { name: 'Delete this block?' }).getByRole('button', { name: 'Delete' }).click()
  await page.getByText('This document is empty').waitFor()
  await page.button('Rename the document').click()
  await page.getByLabel('Title').fill('With care')
  await page.locator('.app-head').click()
  await until('the title is kept', async () => (await call(server.url, 'GET', `/api/documents/${made.id}`)).title === 'With care')
  await page.button('Delete').click()
  const sure = page.getByRole('group', { name: 'Delete this document?' })
  await sure.getByRole('button', { name: 'Cancel' }).click()
  await page.button('Delete').click()
  await sure.getByRole('button', { name: 'Delete' }).click()
  await until('the document is gone', async () => !(await call(server.url, 'GET', '/api/documents')).items.some((d) => d.id === made.id))
  assert.deepEqual(page.bad, [])
  await page.done()
})

test('a chart takes the available width', async () => {
  const made = await call(server.url, 'POST', '/api/documents', { title: 'Width' })
  await call(server.url, 'POST', `/api/documents/${made.id}/blocks`, { type: 'interactive_chart', content: 'year,tonnes\n2022,3000\n2023,3100\n', meta: { mark: 'bar', encoding: { x: { field: 'year', type: 'ordinal' }, y: { field: 'tonnes', type: 'quantitative' } } } })
  const page = await chromium.open(`${server.url}/#/document/${made.id}`, { viewport: { width: 740, height: 360 } })
  const fits = () => page.locator('.ct-chart-box').evaluate((box) => Math.abs((box.querySelector('canvas')?.clientWidth ?? 0) - box.clientWidth) < 3)
  await until('the chart fits', fits)
  for (const [width, height] of [[360, 740], [740, 360]]) {
    await page.setViewportSize({ width, height })
    await until(`the chart fits ${width} pixels`, fits)
    const [chart, button, data] = await Promise.all([page.locator('.ct-chart-box'), page.button('Save as PNG'), page.locator('.ct-chart summary')].map((part) => part.boundingBox()))
    assert.ok(button.y >= chart.y + chart.height - 1, 'the button covers nothing of the chart')
    assert.ok(button.y + button.height <= data.y + data.height + 12, 'the button is beside the line of the data')
  }
  await page.evaluate(() => document.querySelectorAll('html, .ct-root').forEach((part) => part.setAttribute('dir', 'rtl')))
  const [chart, tools] = await Promise.all(['.ct-chart-box', '.ct-block-tools'].map((part) => page.locator(part).first().boundingBox()))
  assert.ok(tools.x > chart.x + chart.width / 2, 'the buttons of the block do not cover the labels of the axis')
  assert.deepEqual(page.bad, [])
  await page.done()
})

test('a chart takes the colours of the theme, also when the theme changes', async () => {
  const made = await call(server.url, 'POST', '/api/documents', { title: 'Colours' })
  await call(server.url, 'POST', `/api/documents/${made.id}/blocks`, { type: 'interactive_chart', content: 'year,tonnes\n2022,3000\n2023,3100\n', meta: { mark: 'bar', encoding: { x: { field: 'year', type: 'ordinal' }, y: { field: 'tonnes', type: 'quantitative' } } } })
  const page = await chromium.open(`${server.url}/#/document/${made.id}`, { reducedMotion: 'no-preference' })
  await page.locator('.ct-chart canvas').waitFor()
  const picture = () => page.locator('.ct-chart canvas').evaluate((canvas) => canvas.toDataURL()).catch(() => '')
  const choose = async (theme) => {
    await page.button('More options').click()
    await page.getByRole('menuitemradio', { name: theme }).click()
  }
  let light = ''
  await until('the chart stands still', async () => {
    const before = light
    light = await picture()
    return light !== '' && light === before
  })
  await page.emulateMedia({ colorScheme: 'dark' })
  await until('the system is dark, and the chart is another', async () => ![light, ''].includes(await picture()))
  await choose('Theme: light')
  await until('the theme is light, and the chart is as it was', async () => (await picture()) === light)
  await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' })
  await choose('Theme: dark')
  await until('also with less motion', async () => ![light, ''].includes(await picture()))
  await page.shot('chart-dark')
  assert.deepEqual(page.bad, [])
  await page.done()
})

const chart = { mark: 'bar', encoding: { x: { field: 'year', type: 'ordinal' }, y: { field: 'tonnes', type: 'quantitative' } } }

/** A document with one change of each kind, made by a scripted model. */
async function changed() {
  const made = await call(server.url, 'POST', '/api/documents', { title: 'Review' })
  const add = (block) => call(server.url, 'POST', `/api/documents/${made.id}/blocks`, block)
  const blocks = []
  for (const block of [{ type: 'md', content: '# Summary\n\nThe **price** of gold rose by 5 % in 2023.\n\n| a | b |\n|---|---|\n| 1 | x |' }, { type: 'csv', content: 'year,tonnes\n2022,3000\n2023,3100\n' }, { type: 'interactive_chart', content: 'year,tonnes\n2022,3000\n2023,3100\n', meta: chart }, { type: 'md', content: '# To go\n\nThis [link](https://example.com) and `code` are deleted.' }]) blocks.push(await add(block))
  return { made, blocks }
}

test('changes are shown in the text, reviewed with the keyboard, and every decision can be undone', async () => {
  const { made, blocks } = await changed()
  const edits = [
    ['edit_block', { block_id: blocks[0].id, content: '# Summary\n\nThe **price** of gold fell by 4 % in 2023.\n\n| a | b |\n|---|---|\n| 2 | x |' }],
    ['edit_block', { block_id: blocks[1].id, content: 'year,tonnes\n2022,3000\n2023,3250\n2024,3300\n' }],
    ['edit_block', { block_id: blocks[2].id, content: 'year,tonnes\n2022,3000\n2023,3250\n' }],
    ['delete_block', { block_id: blocks[3].id }],
    ['write_block', { type: 'md', content: 'A new block.' }],
  ]
  const upstream = model((last) => (last.role === 'user' ? { call: edits[0] } : edits.length > 1 ? (edits.shift(), { call: edits[0] }) : { content: 'Done.' }))
  const port = await listening(upstream)
  const writer = await service({ CHATTRAY_OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`, CHATTRAY_OPENAI_API_KEY: 'x', CHATTRAY_MODEL: 'x' })
  try {
    const copy = await call(writer.url, 'POST', '/api/documents', { title: made.title })
    for (const [i, { type, current, meta }] of blocks.entries()) {
      const { id } = await call(writer.url, 'POST', `/api/documents/${copy.id}/blocks`, { type, content: current, ...(meta && { meta }) })
      for (const [, input] of edits) if (input.block_id === blocks[i].id) input.block_id = id
    }
    const page = await chromium.open(`${writer.url}/#/document/${copy.id}`, { viewport: { width: 1440, height: 1000 } })
    await page.ask('Change it')
    await page.settled()
    await until('all wait', async () => (await states(page)).join() === 'pending_edit,pending_edit,pending_edit,pending_delete,pending_new')
    const block = (i) => page.locator('.ct-block[data-block]').nth(i)
    assert.deepEqual([await block(0).locator('p del').first().textContent(), await block(0).locator('p ins').first().textContent()], ['rose ', 'fell '])
    assert.equal(await block(0).locator('strong').textContent(), 'price')
    assert.equal(await block(0).locator('td del').textContent(), '1')
    assert.equal(await block(1).locator('td ins').first().textContent(), '3250')
    await block(2).locator('figure figure canvas, .ct-beside canvas').nth(1).waitFor()
    for (const scheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' })
      await page.shot(`review-${scheme}`)
      assert.deepEqual(await findings(page, '.app-main'), [])
    }
    await page.locator('.ct-doc').focus()
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('k')
    assert.equal(await page.evaluate(() => document.activeElement.dataset.block), await block(0).getAttribute('data-block'))
    await page.keyboard.press('a')
    await until('the first is accepted', async () => (await states(page))[0] === 'clean')
    await page.keyboard.press('r')
    await until('the second is reverted', async () => (await states(page))[1] === 'clean')
    await page.keyboard.press('u')
    await until('the second waits again', async () => (await states(page))[1] === 'pending_edit')
    await page.button('Undo accepting').click()
    await until('the first waits again', async () => (await states(page))[0] === 'pending_edit')
    const stored = async () => (await call(writer.url, 'GET', `/api/documents/${copy.id}`)).blocks.map((b) => b.current)
    assert.match((await stored())[0], /rose by 5 %/)
    await page.button('Accept all').click()
    await until('all are accepted', async () => (await states(page)).join() === 'clean,clean,clean,clean')
    assert.match((await stored())[0], /fell by 4 %/)
    assert.match((await stored())[1], /3300/)
    await page.reload()
    await page.button('Undo accepting').click()
    await until('all wait again', async () => (await states(page)).join() === 'pending_edit,pending_edit,pending_edit,pending_delete,pending_new')
    await page.button('Revert all').click()
    await until('all are reverted', async () => (await states(page)).join() === 'clean,clean,clean,clean')
    assert.match((await stored())[0], /rose by 5 %/)
    assert.match((await stored())[3], /To go/)
    assert.deepEqual(page.bad, [])
    await page.done()
  } finally {
    await writer.kill()
    upstream.close()
  }
})

/** A model that begins to write into a block, and continues when the test releases it. */
function slowWriter(block) {
  let goOn = () => undefined
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const piece of request) body += piece
    const chunk = (choice) => response.write(`data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', choices: [{ index: 0, ...choice }] })}\n\n`)
    const argument = (index, piece) => chunk({ delta: { tool_calls: [{ index: 0, ...(index === 0 && { id: 'call_1', type: 'function' }), function: { ...(index === 0 && { name: 'edit_block' }), arguments: piece } }] } })
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    if (JSON.parse(body).messages.at(-1).role === 'user') {
      argument(0, `{"block_id":"${block}","content":"Not wanted, `)
      await new Promise((resolve) => {
        goOn = resolve
      })
      argument(1, 'not at all."}')
      chunk({ delta: {}, finish_reason: 'tool_calls' })
    } else {
      chunk({ delta: { content: 'I see.' } })
      chunk({ delta: {}, finish_reason: 'stop' })
    }
    response.end('data: [DONE]\n\n')
  })
  return { server, goOn: () => goOn() }
}

test('a block is reverted while it is written: its text disappears immediately and does not come back', async () => {
  const { server: upstream, goOn } = slowWriter('half')
  const port = await listening(upstream)
  const writer = await service({ CHATTRAY_OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`, CHATTRAY_OPENAI_API_KEY: 'x', CHATTRAY_MODEL: 'x' })
  try {
    const made = await call(writer.url, 'POST', '/api/documents', { title: 'Half' })
    await call(writer.url, 'POST', `/api/documents/${made.id}/blocks`, { id: 'half', type: 'md', content: 'As it was.' })
    const page = await chromium.open(`${writer.url}/#/document/${made.id}`)
    await page.ask('Change it')
    const block = page.locator('.ct-block[data-block=half]')
    await page.locator('.ct-block[data-writing]').getByText('Not wanted').waitFor()
    await page.hasText('This is being written. Decide when it is complete, or revert it now.')
    assert.equal(await page.button('Accept all').isDisabled(), true)
    assert.equal(await block.getByRole('button', { name: 'Accept' }).count(), 0)
    await block.getByRole('button', { name: 'Revert' }).click()
    await until('it is as it was', async () => (await states(page)).join() === 'clean')
    await block.getByText('As it was.').waitFor()
    await page.hasText('What was being written was withdrawn.')
    await page.shot('withdrawn')
    goOn()
    await page.answers.last().getByText('I see.').waitFor()
    await page.settled()
    assert.equal(await block.getByText('Not wanted').count(), 0)
    assert.deepEqual((await call(writer.url, 'GET', `/api/documents/${made.id}`)).blocks.map((b) => [b.state, b.current, b.new]), [['clean', 'As it was.', undefined]])
    assert.deepEqual(page.bad, [])
    await page.done()
  } finally {
    goOn()
    await writer.kill()
    upstream.close()
  }
})

test('a chart says what is under the pointer and is saved as PNG; CSV sorts', async () => {
  const made = await call(server.url, 'POST', '/api/documents', { title: 'Figures' })
  await call(server.url, 'POST', `/api/documents/${made.id}/blocks`, { type: 'interactive_chart', content: 'year,tonnes\n2022,3000\n2023,3100\n', meta: chart })
  await call(server.url, 'POST', `/api/documents/${made.id}/blocks`, { type: 'csv', content: `name,value\n${Array.from({ length: 400 }, (_, i) => `n${i},${(i * 37) % 400}`).join('\n')}` })
  const page = await chromium.open(`${server.url}/#/document/${made.id}`, { acceptDownloads: true })
  const canvas = page.locator('.ct-chart canvas')
  await canvas.waitFor()
  await until('a bar is found', async () => {
    const box = await canvas.boundingBox()
    for (const x of [0.3, 0.4, 0.6, 0.7]) {
      await page.mouse.move(box.x + box.width * x, box.y + box.height * 0.6)
      if (await page.locator('.ct-chart-tip.visible').count()) return true
    }
    return false
  })
  assert.match(await page.locator('.ct-chart-tip').textContent(), /tonnes.*3[01]00/)
  await page.shot('chart-tip')
  const [saved] = await Promise.all([page.waitForEvent('download'), page.button('Save as PNG').click()])
  assert.deepEqual([...(await readFile(await saved.path())).subarray(1, 4)].map((c) => String.fromCharCode(c)).join(''), 'PNG')
  const grid = page.locator('.ct-grid').last()
  await grid.getByRole('button', { name: 'Sort by value' }).click()
  assert.equal(await grid.locator('tbody td[data-numeric]').first().textContent(), '0')
  await grid.getByRole('button', { name: 'Sort by value' }).click()
  assert.equal(await grid.locator('tbody td[data-numeric]').first().textContent(), '399')
  assert.ok((await grid.locator('tbody tr').count()) < 100, 'only rows in sight are made')
  assert.equal(await grid.locator('th[data-numeric]').evaluate((e) => getComputedStyle(e).textAlign), 'end')
  await page.shot('csv')
  for (const size of ['32px', '']) {
    await page.evaluate((to) => (document.documentElement.style.fontSize = to), size)
    await until('the rows out of view take the room of those in view', () => grid.locator('table').evaluate(({ parentElement: box }) => {
      // Rows are measured when they are rendered.
      box.scrollTop = box.scrollTop > 0 ? 0 : 2000
      const [head, row] = ['thead', 'tbody [aria-rowindex]'].map((part) => box.querySelector(part).getBoundingClientRect().height)
      return Math.abs(box.scrollHeight - head - 400 * row) < 20
    }))
  }
  assert.deepEqual(page.bad, [])
  await page.done()
})

test('a document with changes never scrolls sideways', async () => {
  const page = await chromium.open(`${server.url}/#/document`)
  await page.button('New document').click()
  await page.getByText('This document is empty').waitFor()
  await page.ask('Create a research report about gold')
  await page.settled()
  await page.button('Accept all').click()
  await page.locator('.ct-doc-pending[data-done]').waitFor()
  await page.ask('Shorten the summary')
  await page.settled()
  await page.locator('.ct-block[data-state=pending_edit]').first().waitFor()
  for (const [width, height] of [[320, 700], [360, 740], [720, 430], [800, 700], [1024, 740]]) {
    for (const dir of ['ltr', 'rtl']) {
      await page.setViewportSize({ width, height })
      await page.evaluate((to) => new Promise((resolve) => {
        document.documentElement.dir = to
        requestAnimationFrame(() => setTimeout(resolve))
      }), dir)
      let wide = []
      await until('it is laid out', async () => {
        wide = await page.evaluate(() => [...document.querySelectorAll('html, .app-main, .ct-doc, .ct-panel-body, .ct-list')].filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.className || e.tagName))
        return wide.length === 0
      }, 10_000).catch(() => assert.fail(`${width} px, ${dir}: ${wide} scrolls sideways`))
    }
  }
  assert.deepEqual(page.bad, [])
  await page.done()
})

test('earlier versions of a document are shown and can be restored', async () => {
  const made = await call(server.url, 'POST', '/api/documents', { title: 'Gold' })
  await call(server.url, 'POST', `/api/documents/${made.id}/blocks`, { id: `${made.id}-a`.slice(0, 60), type: 'md', content: '# The first words' })
  const page = await chromium.open(`${server.url}/#/document/${made.id}`)
  await page.button('Versions').click()
  await page.getByText('There are no earlier versions yet.').waitFor()
  await page.keyboard.press('Escape')
  const [block] = (await call(server.url, 'GET', `/api/documents/${made.id}`)).blocks
  await call(server.url, 'PATCH', `/api/blocks/${block.id}`, { content: '# Other words' })
  await call(server.url, 'PATCH', `/api/documents/${made.id}`, { title: 'Silver' })
  await page.reload()
  await page.getByRole('heading', { name: 'Other words' }).waitFor()
  await page.button('Versions').click()
  const dialog = page.getByRole('dialog', { name: 'Versions' })
  await dialog.getByRole('heading', { name: 'The first words' }).waitFor()
  await dialog.getByText('before it was edited').waitFor()
  assert.deepEqual(await findings(page), [])
  await page.shot('versions')
  await dialog.getByRole('button', { name: 'Restore this version' }).click()
  await until('the dialog is closed', async () => (await dialog.count()) === 0)
  await page.getByRole('heading', { name: 'The first words' }).waitFor()
  await page.getByRole('heading', { name: 'Gold', level: 2 }).waitFor()
  await page.button('Versions').click()
  await dialog.getByRole('button', { name: /before a version was restored/ }).click()
  await dialog.getByRole('heading', { name: 'Other words' }).waitFor()
  assert.deepEqual(page.bad, [])
  await page.done()
})

test('a chart of columns that its data do not have says that it has no data', async () => {
  const made = await call(server.url, 'POST', '/api/documents', { title: 'Charts' })
  const meta = { mark: 'bar', encoding: { x: { field: 'year', type: 'ordinal' }, y: { field: 'tonnes', type: 'quantitative' } } }
  for (const content of ['year,tons\n2022,3000\n', 'year,tonnes\n2022,\n2023,3000\n']) await call(server.url, 'POST', `/api/documents/${made.id}/blocks`, { type: 'interactive_chart', content, meta })
  const notes = { mark: 'text', transform: [{ filter: 'datum.year == 2030' }], encoding: { ...meta.encoding, text: { field: 'year' } } }
  await call(server.url, 'POST', `/api/documents/${made.id}/blocks`, { type: 'interactive_chart', content: 'year,tonnes\n2022,1\n2023,2\n', meta: { layer: [{ ...meta, mark: 'line' }, notes] } })
  const page = await chromium.open(`${server.url}/#/document/${made.id}`)
  const chart = page.locator('.ct-chart')
  await chart.nth(0).getByText('The chart has no data.').waitFor()
  for (const shown of [1, 2]) {
    await chart.nth(shown).getByRole('button', { name: 'Save as PNG' }).waitFor()
    await chart.nth(shown).locator('canvas').waitFor()
    assert.equal(await chart.nth(shown).locator('.ct-note').count(), 0)
  }
  assert.deepEqual(page.bad, [])
  await page.done()
})
