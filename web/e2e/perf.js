// Measures how fluently a long answer is drawn on this machine: npm run perf
// A scripted model streams 20,000 tokens of Markdown through the real service into the page in Chromium. The page requests
// every animation frame, so that the time between two frames in Chromium's trace is the time that one took. With a file as its argument it also writes there a
// table of the figures, with the compressed sizes of the package.
import { createServer } from 'node:http'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const TOKENS = Number(process.env.TOKENS ?? 20_000)
const PER_SECOND = Number(process.env.TOKENS_PER_SECOND ?? 500)
const LIMIT = { frame: 20, task: 100, text: 1000 }

const folder = mkdtempSync(join(tmpdir(), 'chattray-perf-'))
process.env.E2E_WORK = folder
const { browser, run, service } = await import('./world.js')

const root = fileURLToPath(new URL('../..', import.meta.url))
if (!process.env.E2E_BINARY) {
  process.env.E2E_BINARY = join(folder, 'chattray')
  if (spawnSync('go', ['build', '-o', process.env.E2E_BINARY, '.'], { cwd: root, stdio: 'inherit' }).status !== 0) process.exit(1)
}
/** The content that costs most to draw: code, a table and math. */
const costly = `
\`\`\`go
${Array.from({ length: 30 }, (_, i) => `func step${i}(ctx context.Context, input []string) (string, error) { // the step ${i}\n\treturn strings.Join(input[:${i}], ", "), nil\n}`).join('\n')}
\`\`\`

| Editor | Year | Change | Efficiency |
|---|--:|:-:|--:|
${Array.from({ length: 25 }, (_, i) => `| BE${i} with \\(x_{${i}}\\) | ${2000 + i} | C→T | ${i} % |`).join('\n')}

The rate $k_1 = A e^{-E_a/RT}$ costs $5 and $6, and

\\[ \\int_0^\\infty e^{-x^2}\\,dx = \\frac{\\sqrt{\\pi}}{2} \\]

`
const text = readFileSync(join(root, 'agents/demo/texts/long.md'), 'utf8') + costly
const words = text.match(/\S+\s*/g)

/** A model that writes the given number of tokens at an even pace. */
const model = createServer(async (request, response) => {
  for await (const _ of request);
  response.writeHead(200, { 'Content-Type': 'text/event-stream' })
  const start = performance.now()
  for (let written = 0; written < TOKENS; ) {
    const due = Math.min(TOKENS, Math.ceil(((performance.now() - start) / 1000) * PER_SECOND) + 1)
    for (; written < due; written++) {
      const word = written % words.length === 0 ? `\n\n${words[0]}` : words[written % words.length]
      response.write(`data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content: word } }] })}\n\n`)
    }
    await new Promise((resolve) => setTimeout(resolve, 4))
  }
  response.end(`data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`)
})
model.listen(0, '127.0.0.1')
await once(model, 'listening')

/**
 * A page without an inspector: with one, the browser decodes each response a second time when it ends, in one long task. It is
 * reached by messages of the browser's own target, which asks nothing of the page but to run a function.
 */
async function bare(cdp, url) {
  const { targetId } = await cdp.send('Target.createTarget', { url, width: 1360, height: 860 })
  const { sessionId } = await cdp.send('Target.attachToTarget', { targetId, flatten: false })
  const waiting = new Map()
  cdp.on('Target.receivedMessageFromTarget', ({ message }) => {
    const { id, result, error } = JSON.parse(message)
    waiting.get(id)?.(error ? { exceptionDetails: error } : result)
  })
  let last = 0
  return {
    async evaluate(act) {
      const id = ++last
      const answer = new Promise((resolve) => waiting.set(id, resolve))
      await cdp.send('Target.sendMessageToTarget', { sessionId, message: JSON.stringify({ id, method: 'Runtime.evaluate', params: { expression: `(${act})()`, awaitPromise: true, returnByValue: true } }) })
      const { result, exceptionDetails } = await answer
      if (exceptionDetails) throw new Error(JSON.stringify(exceptionDetails))
      return result.value
    },
  }
}

const at = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]
const round = (n) => Math.round(n * 10) / 10
const report = {}
const chromium = await browser()
const server = await service({ CHATTRAY_OPENAI_BASE_URL: `http://127.0.0.1:${model.address().port}/v1`, CHATTRAY_OPENAI_API_KEY: 'x', CHATTRAY_MODEL: 'x', CHATTRAY_MAX_TOKENS: '100000' })
try {
  const firsts = []
  for (let i = 0; i < 5; i++) {
    const page = await chromium.open(server.url)
    await page.getByRole('heading', { name: 'How can I help?' }).waitFor()
    firsts.push(await page.evaluate(() => new Promise((resolve) => {
      new PerformanceObserver((list) => resolve(list.getEntries().at(-1).startTime)).observe({ type: 'largest-contentful-paint', buffered: true })
    })))
    await page.context().close()
  }
  report.text_painted_ms = firsts.sort((a, b) => a - b).map(round)

  const cdp = await chromium.cdp()
  const page = await bare(cdp, `${server.url}/#/streams`)
  const events = []
  cdp.on('Tracing.dataCollected', ({ value }) => events.push(...value))
  await page.evaluate(async () => {
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve))
    while (!document.querySelector('.ct-composer textarea')) await frame()
    // Nobody asks while the page is being loaded.
    await new Promise((resolve) => setTimeout(resolve, 2000))
    const spin = () => requestAnimationFrame(spin)
    spin()
  })
  await cdp.send('Tracing.start', { transferMode: 'ReportEvents', traceConfig: { includedCategories: ['devtools.timeline', 'disabled-by-default-devtools.timeline', 'toplevel', 'blink.user_timing', ...(process.env.PERF_PROFILE ? ['disabled-by-default-v8.cpu_profiler'] : [])], excludedCategories: ['*'] } })
  const start = Date.now()
  report.characters = await page.evaluate(async () => {
    const input = document.querySelector('.ct-composer textarea')
    Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, 'value').set.call(input, 'Say much.')
    input.dispatchEvent(new Event('input', { bubbles: true }))
    const changed = (what) => new Promise((resolve) => {
      const seen = new MutationObserver(() => look())
      const look = () => {
        if (!what()) return
        seen.disconnect()
        resolve()
      }
      seen.observe(document.body, { childList: true, subtree: true, attributes: true })
      look()
    })
    await changed(() => document.querySelector('.ct-composer .ct-send[type=submit]:enabled'))
    document.querySelector('.ct-composer .ct-send').click()
    await changed(() => document.querySelector('.ct-message[data-status=streaming]'))
    performance.mark('begin')
    // The tray alone is watched: a look at the whole page for each token would be work of its own.
    await new Promise((resolve) => {
      const look = () => !document.querySelector('.ct-send[data-stop]') && resolve()
      new MutationObserver(look).observe(document.querySelector('.ct-composer'), { childList: true, subtree: true, attributes: true })
      look()
    })
    performance.mark('end')
    return [...document.querySelectorAll('.ct-md')].at(-1).textContent.length
  })
  report.seconds = round((Date.now() - start) / 1000)
  const done = new Promise((resolve) => cdp.once('Tracing.tracingComplete', resolve))
  await cdp.send('Tracing.end')
  await done
  if (process.env.PERF_TRACE) writeFileSync(process.env.PERF_TRACE, JSON.stringify(events))
  const mark = (name) => events.find((e) => e.name === name && e.cat.includes('user_timing')).ts
  const [from, to] = [mark('begin'), mark('end')]
  const main = events.find((e) => e.name === 'begin').tid
  const within = (e) => e.ts >= from && e.ts <= to
  // Callbacks of one frame run one after the other; a frame begins with the first of them.
  const frames = events.filter((e) => e.name === 'FireAnimationFrame' && e.tid === main && within(e)).sort((a, b) => a.ts - b.ts).reduce((list, e) => {
    if (e.ts > list.end + 1000) list.push(e.ts)
    list.end = e.ts + (e.dur ?? 0)
    return list
  }, Object.assign([], { end: 0 }))
  const times = frames.slice(1).map((t, i) => (t - frames[i]) / 1000).sort((a, b) => a - b)
  // The page's own time in a frame, which does not depend on the load of the machine.
  const work = frames.map(() => 0)
  for (const e of events) {
    if (e.name !== 'RunTask' || e.tid !== main || !within(e) || e.ts < frames[0]) continue
    let [low, high] = [0, frames.length - 1]
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if (frames[middle] <= e.ts) low = middle
      else high = middle - 1
    }
    work[low] += (e.tdur ?? 0) / 1000
  }
  work.sort((a, b) => a - b)
  const tasks = events.filter((e) => e.name === 'RunTask' && e.tid === main && e.dur && within(e)).map((e) => e.dur / 1000).sort((a, b) => a - b)
  if (process.env.PERF_NAMES) {
    const sums = new Map()
    for (const e of events) if (e.tid === main && within(e)) sums.set(e.name, [(sums.get(e.name)?.[0] ?? 0) + 1, (sums.get(e.name)?.[1] ?? 0) + (e.dur ?? 0) / 1000, Math.max(sums.get(e.name)?.[2] ?? 0, (e.dur ?? 0) / 1000)])
    console.log([...sums].sort((a, b) => b[1][1] - a[1][1]).slice(0, 30).map(([n, [c, d, m]]) => `${n} ${c} ${round(d)} ${round(m)}`).join('\n'))
  }
  report.frames = { count: times.length, median: round(at(times, 0.5)), p95: round(at(times, 0.95)), p99: round(at(times, 0.99)), longest: round(times.at(-1)) }
  report.processor_ms_per_frame = { median: round(at(work, 0.5)), p95: round(at(work, 0.95)), p99: round(at(work, 0.99)), most: round(work.at(-1)) }
  report.tasks_over_50_ms = tasks.filter((t) => t > 50).length
  report.longest_task_ms = round(tasks.at(-1))
  report.busy_share = round((tasks.reduce((a, b) => a + b, 0) / ((to - from) / 1000)) * 100) / 100
} finally {
  await chromium.close()
  await server.kill()
  model.closeAllConnections()
  model.close()
  rmSync(folder, { recursive: true, force: true })
}
console.log(JSON.stringify({ tokens: TOKENS, tokens_per_second: PER_SECOND, ...report }, null, 2))
if (process.argv[2]) {
  const sizes = run(process.execPath, ['scripts/budget.js'], join(root, 'web')).trim().split('\n').map((text) => /^(\w+): (\S+ kB) gzip of (\S+ kB)/.exec(text))
  writeFileSync(process.argv[2], `# How fast the tray is

Written by \`make perf\` on ${new Date().toISOString().slice(0, 10)} with Chromium ${chromium.version}: an answer of ${TOKENS.toLocaleString('en')} tokens with code, tables and math, at
${PER_SECOND} tokens a second, from the service into the page. Times depend on the machine and on what else runs on it; the processor's time depends on it less.

| | measured | limit |
|---|--:|--:|
| time between frames, median | ${report.frames.median} ms | |
| time between frames, 95th percentile | ${report.frames.p95} ms | ${LIMIT.frame} ms |
| processor's time for a frame, 95th percentile | ${report.processor_ms_per_frame.p95} ms | |
| longest task | ${report.longest_task_ms} ms | ${LIMIT.task} ms |
| share of the time in which the page works | ${Math.round(report.busy_share * 100)} % | |
| text painted after opening, median | ${at(report.text_painted_ms, 0.5)} ms | ${LIMIT.text} ms |
${sizes.map(([, name, size, limit]) => `| ${name === 'tray' ? 'the tray without what is loaded later, gzip' : 'the store and its hooks alone, gzip'} | ${size} | ${limit} |`).join('\n')}
`)
}
const ok = report.frames.p95 <= LIMIT.frame && report.longest_task_ms <= LIMIT.task && at(report.text_painted_ms, 0.5) < LIMIT.text
if (!ok) console.error(`over the limit: frames ${LIMIT.frame} ms at the 95th percentile, tasks ${LIMIT.task} ms, text ${LIMIT.text} ms`)
process.exit(ok ? 0 : 1)
