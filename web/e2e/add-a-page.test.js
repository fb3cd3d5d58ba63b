import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { build, preview } from 'vite'
import { browser, call, freePort, installPack, listening, model, run, service, until } from './world.js'

const web = fileURLToPath(new URL('..', import.meta.url))

/** A model that calls the tool, and writes a note when it is asked for one. */
const scripted = () => model((message) => (message.role === 'tool' ? { content: `These are open: ${JSON.parse(message.content.match(/\{.*\}/s)[0]).orders.map((o) => o.customer).join(', ')}.` }
  : /note/i.test(message.content) ? { content: 'Here is a note.\n\nORDER_NOTE: {"order_id": 2, "note": "Call before delivery"}' }
    : { call: ['find_orders', { state: 'open' }] }))

/** Writes the files of docs/add-a-page.md to the places that it names, and copies the application that it copies. */
function written(work, port) {
  const text = readFileSync(join(web, '../docs/add-a-page.md'), 'utf8')
  const files = [...text.matchAll(/^```\w+ file=(\S+)\n([\s\S]*?)^```$/gm)].map(([, name, content]) => [name, content.replaceAll('9090', String(port))])
  assert.deepEqual(files.map(([name]) => name), ['orders.mjs', 'pages/orders.yaml', 'orders-app/cards.jsx', 'orders-app/main.jsx', 'orders-app/page.css'])
  for (const [name] of files) assert.ok(text.replace(/^```[\s\S]*?^```$/gm, '').includes(`\`${name}\``), `a reader sees the name ${name}`)
  // A reader works in the repository, so none of these files may exist in it.
  for (const top of new Set(files.map(([name]) => name.split('/')[0]))) assert.equal(run('git', ['ls-files', '--', top], join(web, '..')), '', `the repository has ${top} already`)
  assert.match(text, /^cp -r web\/examples\/vite orders-app$/m)
  cpSync(join(web, 'examples/vite'), join(work, 'orders-app'), { recursive: true, filter: (from) => !from.includes('node_modules') })
  for (const [name, content] of files) {
    mkdirSync(dirname(join(work, name)), { recursive: true })
    writeFileSync(join(work, name), content)
  }
  // Does what "npm install" would do, without the network.
  installPack(join(work, 'orders-app'), [])
}

let work
before(async () => {
  work = mkdtempSync(join(process.env.E2E_WORK, 'page-'))
  written(work, await freePort())
  await build({ root: join(work, 'orders-app'), logLevel: 'error' })
})

/** The page that results from the steps, with a given model or the demo model. */
async function made(t, upstream) {
  const orders = spawn(process.execPath, ['orders.mjs'], { cwd: work, stdio: 'inherit' })
  const chromium = await browser()
  const own = upstream ? { CHATTRAY_OPENAI_BASE_URL: `http://127.0.0.1:${await listening(upstream)}/v1`, CHATTRAY_OPENAI_API_KEY: 'x', CHATTRAY_MODEL: 'scripted' } : {}
  const server = await service({ CHATTRAY_PAGES: join(work, 'pages'), ...own })
  let shown
  t.after(async () => {
    delete process.env.SERVICE_URL
    await chromium.close()
    await server.kill()
    orders.kill()
    upstream?.closeAllConnections()
    upstream?.close()
    await shown?.close()
    await until('the stand-in has ended', async () => orders.exitCode !== null || orders.signalCode !== null)
  })
  const { items } = await call(server.url, 'GET', '/api/tools?page=orders')
  assert.ok(items.some((tool) => tool.name === 'find_orders'))
  process.env.SERVICE_URL = server.url
  shown = await preview({ root: join(work, 'orders-app'), logLevel: 'error', preview: { port: 0, host: '127.0.0.1' } })
  return chromium.open(`http://127.0.0.1:${shown.httpServer.address().port}`)
}

async function accepted(page) {
  await page.button('Accept').click()
  await page.hasText('Order 2: Call before delivery')
  const decided = page.locator('.ct-payload [data-outcome=accepted]')
  await decided.waitFor()
  await page.reload()
  await decided.waitFor()
  await page.hasText('Order 2: Call before delivery')
  assert.equal(await page.locator('.ct-panel').count(), 0)
  assert.deepEqual(page.bad, [])
}

test('docs/add-a-page.md: its steps give a page with a tool and a payload', async (t) => {
  const page = await made(t, scripted())
  await page.getByRole('button', { name: 'Which orders are open?' }).click()
  await page.hasText('These are open: Ada, Grace.')
  await page.locator('.ct-tool[data-tool=find_orders][data-status=completed]').waitFor()
  await page.locator('.ct-tool').getByText('Found orders').waitFor()
  await page.locator('.ct-payload-card').getByText('Ada: open, 120 €').waitFor()
  assert.equal(await page.locator('.ct-panel').count(), 0)
  await page.ask('Note on order 2: call before delivery')
  await page.shot('add-a-page')
  await accepted(page)
})

test('docs/add-a-page.md: the demo model shows the tool and the payload too', async (t) => {
  const page = await made(t)
  await page.getByRole('button', { name: 'Find open orders' }).click()
  await page.locator('.ct-payload-card').getByText('Ada: open, 120 €').waitFor()
  await page.settled()
  await page.button('New chat').click()
  await page.getByRole('button', { name: 'Suggest a note' }).click()
  await page.settled()
  await accepted(page)
})
