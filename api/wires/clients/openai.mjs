// Runs one case with an unmodified client of OpenAI's APIs: node openai.mjs CLIENT URL CASE.
// It prints "at POINT" where the test acts, continues after the next line of its input, and
// ends by printing what the client shows and what the chat has.
import { createInterface } from 'node:readline'
import { open } from './openai-kinds.mjs'

const [kind, url, name] = process.argv.slice(2)
process.on('unhandledRejection', () => {}) // a stream that was cut rejects a promise that nobody handles
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const at = async (point) => {
  console.log('at ' + point)
  await lines.next()
}
const until = async (what, holds) => {
  for (let n = 0; !(await holds()); n++) {
    if (n > 2000) throw new Error('never: ' + what)
    await new Promise((done) => setTimeout(done, 10))
  }
}
const call = async (path, body) => {
  const r = await fetch(url + path, body === undefined ? {} : { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  return r.json()
}

const chat = await open(kind, url, `${name}-${kind}-${process.pid}`)
const stored = async () => {
  const list = (await call('/api/chats')).items
  if (list.length === 0) return []
  const { messages } = await call('/api/chats/' + list[0].conversation_id)
  return messages.map((m) => ({ role: m.role, text: m.content.replaceAll(/\[\[tool:\d+\]\]/g, ' ') }))
}
const words = (text) => text.split(/\s+/).filter((w) => w !== '').join(' ')
const shown = (list) => list.map((m) => words(m.role + ': ' + m.text))
const streaming = () => until('the answer streams', () => chat.text().split(' ').length > 3)

// fails runs a function that must fail, and returns its error.
const fails = async (run) => {
  try {
    await run
  } catch (e) {
    return e
  }
  throw new Error('there was no error')
}
// approvals returns the approvals that wait, when there are so many.
const approvals = async (count) => {
  const run = (await call('/api/chats')).items[0].active_run_id
  let waits = []
  await until('the calls wait', async () => (waits = (await call(`/api/chat/runs/${run}/waits`)).items.filter((w) => w.kind === 'approval')).length === count)
  return waits.map((w) => `/api/chat/runs/${run}/approvals/${w.approval_id}`)
}

const cases = {
  async text() { await chat.ask('text') },
  async whole() { await chat.ask('whole', { whole: true }) },
  async tool() {
    await chat.ask('tool')
    chat.seen('look')
  },
  async client() {
    await chat.ask('client')
    await chat.outcome('where', 'Basel')
  },
  async approve() {
    if (chat.approves) {
      await chat.ask('approve')
      await chat.decide(true)
      return
    }
    const answer = chat.ask('approve', { wait: true })
    await until('the answer begins', () => chat.text() !== '')
    for (const path of await approvals(1)) await call(path, { approved: true })
    await answer
  },
  async deny() {
    await chat.ask('deny')
    if (chat.approves) await chat.decide(false)
  },
  async two() {
    await chat.ask('two')
    if (chat.approves) await chat.both('where', 'Basel', true)
    else await chat.outcome('where', 'Basel')
  },
  async cut() {
    const answer = chat.ask('cut', { key: 'the-key', cuttable: true })
    await streaming()
    chat.cut()
    await fails(answer)
    const again = chat.again({ key: 'the-key' })
    await streaming()
    await at('resumed')
    await again
  },
  async kill() {
    const answer = chat.ask('kill', { back: true })
    await streaming()
    const failed = fails(answer)
    await at('streaming')
    await failed
    const again = chat.again({})
    await streaming()
    await at('resumed')
    await again
  },
  async killBoth() {
    if (chat.approves) {
      await chat.ask('killBoth')
      await at('streaming')
      await chat.both('where', 'Basel', true)
      return
    }
    await chat.ask('killBoth', { wait: true })
    await at('streaming')
    const answer = chat.outcome('where', 'Basel', { wait: true })
    for (const path of await approvals(2)) await call(path, { approved: true })
    await answer
  },
  async stop() {
    const answer = chat.ask('stop').catch(() => {})
    await streaming()
    chat.stop()
    await answer
    await at('stopped')
    await until('the chat has it', async () => (await stored()).length === 2)
    chat.keep()
  },
  async error() {
    const e = await fails(chat.ask('error', { whole: chat.failsWhole }))
    if (!/credentials|response\.failed/.test(e.message)) throw e // the agents' runner hides the reason
  },
  async turns() {
    await chat.ask('first')
    await chat.ask('second', { file: true })
    await chat.regenerate()
    await chat.edit('third')
    await chat.ask('fourth')
  },
  async bad() {
    const e = await fails(chat.bad())
    if (!/400/.test(String(e.status ?? e.statusCode ?? e.message))) throw e
    chat.forget()
  },
  async foreign() {
    const e = await fails(chat.foreign())
    if (!/404/.test(String(e.status ?? e.statusCode ?? e.message))) throw e
    chat.forget()
  },
}

try {
  await cases[name]()
  console.log('done ' + JSON.stringify({ client: shown(chat.messages()), stored: shown(await stored()) }))
} catch (e) {
  console.log('failed ' + e.stack.split('\n').filter((l) => l).slice(0, 6).join(' | '))
}
process.exit(0)
