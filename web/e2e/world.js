// The helpers of all end-to-end tests: the real service, a real browser, and a tray in it.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { createServer as createHttpServer } from 'node:http'
import { connect, createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'

const web = fileURLToPath(new URL('..', import.meta.url))

/** Bounds each wait, in milliseconds. It is reached only by a wait that hangs, not on a busy machine. */
export const LIMIT = 180_000
const out = fileURLToPath(new URL('./out/', import.meta.url))

/** The limits of time with which the service bears a busy machine, on which a test holds the model for long. */
const patient = { CHATTRAY_DATABASE_TIMEOUT: '2m', CHATTRAY_MODEL_CONNECT_TIMEOUT: '2m', CHATTRAY_MODEL_FIRST_TOKEN_TIMEOUT: '10m', CHATTRAY_MODEL_IDLE_TIMEOUT: '10m' }

/** The pace of the demo model for those who read along, for tests of what is shown while an answer comes. In others it does not wait. */
export const PACED = { CHATTRAY_DEMO_DELAY: '15ms' }

/** Starts the service with only the settings in env. After kill, start uses the same address and data. */
export async function service(env = {}) {
  const folder = mkdtempSync(join(process.env.E2E_WORK, 'data-'))
  let process_
  const address = `127.0.0.1:${await freePort()}`
  const start = async () => {
    process_ = spawn(process.env.E2E_BINARY, [], {
      cwd: folder, stdio: ['ignore', 'pipe', 'inherit'],
      env: { PATH: process.env.PATH, HOME: folder, CHATTRAY_ADDR: address, CHATTRAY_LOG_FORMAT: 'json', CHATTRAY_DRAIN: '1s', CHATTRAY_DEMO_DELAY: '0', ...patient, ...env },
    })
    const lines = createInterface({ input: process_.stdout })
    const url = await new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('the service does not start')), LIMIT)
      process_.once('exit', (code) => reject(new Error(`the service ended with ${code}`)))
      lines.on('line', (line) => {
        const entry = JSON.parse(line)
        if (entry.level === 'ERROR') console.error(line)
        if (entry.url) {
          clearTimeout(timer)
          resolve(entry.url)
        }
      })
    })
    return url
  }
  const kill = async (signal = 'SIGKILL') => {
    if (process_.exitCode !== null || process_.signalCode !== null) return
    const ended = once(process_, 'exit')
    process_.kill(signal)
    await ended
  }
  const url = await start()
  return { url, start, kill, folder }
}

/** A proxy before a service. cut breaks its connections; new ones work again, unless it is down. */
export async function line(url) {
  const { hostname, port } = new URL(url)
  const open = new Set()
  let isDown = false
  const server = createServer((socket) => {
    if (isDown) return void socket.destroy()
    const there = connect(Number(port), hostname)
    for (const s of [socket, there]) {
      open.add(s)
      s.on('error', () => undefined)
      s.on('close', () => {
        open.delete(s)
        socket.destroy()
        there.destroy()
      })
    }
    socket.pipe(there).pipe(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = () => open.forEach((s) => s.destroy())
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    cut,
    /** The connections that are open carry nothing any more, and do not say so. */
    stall: () => open.forEach((s) => s.unpipe().pause()),
    down: () => {
      isDown = true
      cut()
    },
    up: () => {
      isDown = false
    },
    close: () => {
      cut()
      server.close()
    },
  }
}

/**
 * A model with OpenAI's interface: reply gets the last message and the request, and returns the text, or the tool that is
 * called, and the tokens of the prompt and of the reply if the model counts them.
 */
export function model(reply) {
  return createHttpServer(async (request, response) => {
    let body = ''
    for await (const piece of request) body += piece
    const asked = JSON.parse(body)
    const { content, call: called, usage } = reply(asked.messages.at(-1), asked)
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    const send = (choice) => response.write(`data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', choices: [{ index: 0, ...choice }] })}\n\n`)
    send({ delta: called ? { tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: called[0], arguments: JSON.stringify(called[1]) } }] } : { content } })
    send({ delta: {}, finish_reason: called ? 'tool_calls' : 'stop' })
    if (usage) response.write(`data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', choices: [], usage: { prompt_tokens: usage[0], completion_tokens: usage[1], total_tokens: usage[0] + usage[1] } })}\n\n`)
    response.end('data: [DONE]\n\n')
  })
}

/**
 * The service with a model that counts to the number last given to upTo: "count 9" counts to 9, "think 9" does so as
 * reasoning before its answer. It answers anything else in one sentence.
 */
export async function counting(env = {}) {
  let limit = 0, raised = () => undefined
  let next = new Promise((resolve) => (raised = resolve))
  const upstream = createHttpServer(async (request, response) => {
    let body = ''
    for await (const piece of request) body += piece
    const asked = JSON.parse(body).messages.findLast((message) => message.role === 'user').content
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    const send = (choice) => response.write(`data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', choices: [{ index: 0, ...choice }] })}\n\n`)
    const [, kind, end = 0] = /(count|think) (\d+)/.exec(asked) ?? []
    for (let i = 1; i <= end && !request.socket.destroyed; i++) {
      while (i > limit && !request.socket.destroyed) await Promise.race([next, once(request.socket, 'close')])
      send({ delta: { [kind === 'think' ? 'reasoning_content' : 'content']: `${i} ` } })
    }
    if (kind !== 'count') send({ delta: { content: 'I am the model.' } })
    send({ delta: {}, finish_reason: 'stop' })
    response.end('data: [DONE]\n\n')
  })
  const server = await service({ CHATTRAY_OPENAI_BASE_URL: `http://127.0.0.1:${await listening(upstream)}/v1`, CHATTRAY_OPENAI_API_KEY: 'x', CHATTRAY_MODEL: 'counts', ...env })
  return {
    ...server,
    upTo(n) {
      limit = n
      raised()
      next = new Promise((resolve) => (raised = resolve))
    },
    async close() {
      await server.kill()
      upstream.closeAllConnections()
      upstream.close()
    },
  }
}

/** Makes a server listen, and returns its port. */
export async function listening(server) {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server.address().port
}

/** A shop whose orders a tool of a page removes once the user approves. removed has the shop's requests; tools is the part of the page file. */
export async function shop() {
  const removed = []
  const server = createHttpServer((request, response) => {
    removed.push(request.url)
    response.end('It is gone.')
  })
  const tools = `http_tools:
  - name: remove_order
    description: Removes an order.
    title: Remove an order
    done: Removed an order|Removed {n} orders
    confirm: true
    input_schema: {type: object, properties: {order_id: {type: integer}}, required: [order_id]}
    url: http://127.0.0.1:${await listening(server)}/{{.order_id}}
`
  return { server, removed, tools }
}

/**
 * Starts Chromium. Pages of a context record what must not happen: errors, and requests to other hosts.
 * Animations are off unless a test wants them, so that positions can be measured.
 */
export async function browser() {
  const launched = await chromium.launch({
    executablePath: run(join(web, '../.ci/browser'), [], web).trim(),
    args: [
      '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync',
    ],
  })
  /** Pages that nobody uses, by the options of their contexts. */
  const spare = new Map()
  return {
    close: () => launched.close(),
    version: launched.version(),
    /** Messages to the browser itself, in its own protocol. */
    cdp: () => launched.newBrowserCDPSession(),
    /**
     * Opens a page as a new user's. It may be one of an earlier test that was given back: its process has the scripts compiled
     * already, and a new process takes most of the time of a short test.
     */
    async open(url, { viewport = { width: 1360, height: 860 }, colorScheme = 'light', reducedMotion = 'reduce', forcedColors = 'none', ...rest } = {}) {
      const kind = JSON.stringify(rest)
      const media = { colorScheme, reducedMotion, forcedColors }
      const used = spare.get(kind)?.pop()
      if (used) {
        await used.setViewportSize(viewport)
        await used.emulateMedia(media)
        if (rest.permissions) await used.context().grantPermissions(rest.permissions)
        return begin(used, url)
      }
      const context = await launched.newContext({ viewport, locale: 'en-GB', ...media, ...rest })
      context.setDefaultTimeout(LIMIT)
      const page = await tab(context, url)
      return Object.assign(page, {
        /** Gives the page back, empty. A test that has added scripts to the context closes the context instead. */
        async done() {
          await Promise.all(context.pages().filter((other) => other !== page).map((other) => other.close()))
          await empty(page)
          spare.set(kind, [...(spare.get(kind) ?? []), page])
        },
      })
    },
  }
}

/** A new tab with a tray in it. */
export const tab = async (context, url) => begin(await context.newPage(), url)

/** Removes what a test has left in a page, and what its origin has stored. */
async function empty(page) {
  const context = page.context()
  for (const event of ['pageerror', 'console', 'request', 'websocket']) {
    page.removeAllListeners(event)
    context.removeAllListeners(event)
  }
  await context.setOffline(false)
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  const nothing = `${page.origin}/nothing`
  await page.route(nothing, (route) => route.fulfill({ contentType: 'text/html', body: '' }))
  await page.goto(nothing)
  await page.unrouteAll()
  await page.evaluate(() => sessionStorage.clear())
  const cdp = await context.newCDPSession(page)
  await cdp.send('Storage.clearDataForOrigin', { origin: page.origin, storageTypes: 'cookies,local_storage,indexeddb,cache_storage,service_workers' })
  await cdp.detach()
  await context.clearPermissions()
  await page.mouse.move(0, 0)
}

/** Opens the address in a page, and adds what tests do with a tray. */
async function begin(page, url) {
  const bad = []
  page.on('pageerror', (error) => bad.push(`error: ${error.message}`))
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && !/Failed to load resource|net::ERR/.test(message.text()) && bad.push(`console: ${message.text()}`))
  page.on('request', (request) => {
    const asked = new URL(request.url())
    if (asked.protocol.startsWith('http') && asked.origin !== new URL(url).origin) bad.push(`request: ${request.url()}`)
  })
  await page.goto(url)
  return Object.assign(page, {
    bad,
    origin: new URL(url).origin,
    log: page.getByRole('log'),
    input: page.getByLabel('Message', { exact: true }),
    answers: page.locator('.ct-message[data-role=assistant]'),
    questions: page.locator('.ct-message[data-role=user]'),
    button: (name) => page.getByRole('button', { name, exact: true }),
    /** Sends a message; while the chat is being opened nothing can be sent, and the input may change to another draft. */
    async ask(text) {
      const ready = page.locator('.ct-composer .ct-send[type=submit]:enabled')
      await until('the message can be sent', async () => {
        if ((await page.input.inputValue()) !== text) await page.input.fill(text)
        return ready.isVisible()
      })
      await page.input.press('Enter')
    },
    /**
     * Does what asks for an answer, and waits until the tray shows its end. What the page shows in between may be missed: a
     * busy browser draws many events at once. The tray shows that it waits before the response begins.
     */
    async answered(act) {
      const sent = page.waitForResponse((response) => response.request().method() === 'POST' && new URL(response.url()).pathname === '/api/chat/stream')
      await act()
      await sent
      await page.settled()
    },
    /** Waits until the answer is complete. */
    async settled() {
      await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
    },
    /** Waits until the page is drawn as it is. With E2E_SHOTS in the environment there is a picture of it in e2e/out then. */
    async shot(name) {
      await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))))
      if (!process.env.E2E_SHOTS) return
      mkdirSync(out, { recursive: true })
      await page.screenshot({ path: join(out, `${name}.png`) })
    },
    hasText: (text) => page.getByText(text).first().waitFor(),
  })
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** The serious and critical findings of axe in a page, or in a part of it. No policy of the page holds for what a test evaluates. */
export async function findings(page, part = 'html') {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe)
  const { violations } = await page.evaluate((within) => window.axe.run(within, { resultTypes: ['violations'] }), part)
  return violations.filter((v) => ['serious', 'critical'].includes(v.impact)).map((v) => `${v.id}: ${v.nodes.map((n) => n.target.join(' ')).slice(0, 3).join(' | ')} ${v.nodes[0].failureSummary}`)
}

/** Runs a command to its end, and returns its output. */
export function run(command, args, cwd, env = process.env) {
  const done = spawnSync(command, args, { cwd, env, encoding: 'utf8' })
  if (done.status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${done.status ?? done.error}:\n${done.stdout}${done.stderr}`)
  return done.stdout
}

/** Installs the packed package in an application's node_modules, with its dependencies and those in others, and returns its folder. */
export function installPack(app, others) {
  const modules = join(app, 'node_modules')
  const pack = join(modules, '@chattray/react')
  mkdirSync(pack, { recursive: true })
  run('tar', ['-xzf', process.env.E2E_PACK, '-C', pack, '--strip-components=1'], app)
  const { dependencies } = JSON.parse(readFileSync(join(pack, 'package.json'), 'utf8'))
  for (const other of [...Object.keys(dependencies), 'react', 'react-dom', 'vite', '@vitejs/plugin-react', ...others]) {
    const place = join(modules, other)
    mkdirSync(join(place, '..'), { recursive: true })
    if (!existsSync(place)) symlinkSync(join(web, 'node_modules', other), place)
  }
  return pack
}

/** A free port, outside the range from which the system chooses ports. */
export async function freePort() {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000)
    const server = createServer()
    server.listen(port, '127.0.0.1')
    const free = await once(server, 'listening').then(() => true, () => false)
    if (!free) continue
    server.close()
    await once(server, 'close')
    return port
  }
}

/** Calls the service as a user. */
export async function call(base, method, path, body, token) {
  const response = await fetch(base + path, {
    method, headers: { ...(body && { 'Content-Type': 'application/json' }), ...(token && { Authorization: `Bearer ${token}` }) }, ...(body && { body: JSON.stringify(body) }),
  })
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
  return response.status === 204 ? null : response.json()
}

/** Waits until a condition holds by checking it repeatedly, where no event tells. What is awaited may be a function, which is called when it fails. */
export async function until(what, holds, limit = LIMIT) {
  const end = Date.now() + limit
  for (;;) {
    if (await holds()) return
    if (Date.now() > end) throw new Error(`not in time: ${typeof what === 'function' ? what() : what}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
