// A case with an unmodified client of OpenAI's APIs; host.mjs runs it. openai-kinds.mjs has
// the clients.
import { at, call as callOf, current, done, until } from './common.mjs'
import { open } from './openai-kinds.mjs'

const { client: kind, url, name } = current
const call = (path, body) => callOf(url, path, body)
const chat = await open(kind, url, `${name}-${kind}`)
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

// killed comes back after the program was killed while it wrote the answer. What it returns
// waits for the rest.
const killed = async (answer, options = {}) => {
  await streaming()
  const failed = fails(answer)
  await at('streaming')
  await failed
  const again = chat.again(options)
  again.catch(() => {})
  if (!options.silent) await streaming()
  return () => again
}
const back = async (answer, options) => {
  const rest = await killed(answer, options)
  await at('resumed')
  await rest()
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
  async kill() { await back(chat.ask('kill', { back: true })) },
  async killTool() { await back(chat.ask('killTool', { back: true })) },
  async killFile() { await back(chat.ask('killFile', { back: true, file: true })) },
  async killEdit() {
    await chat.ask('first')
    await chat.ask('second')
    await back(chat.edit('killEdit'))
  },
  async killRegenerate() {
    await chat.ask('first')
    await chat.ask('killRegenerate')
    await back(chat.regenerate())
  },
  // killStop stops only what the new attempt has shown: the model holds the rest.
  async killStop() {
    await chat.ask('first')
    const rest = await killed(chat.ask('killStop', { back: true }))
    await until('the next attempt streams', () => chat.fresh().split(' ').length > 3)
    await chat.cancel()
    await rest().catch(() => {}) // some clients end a stream that was stopped with an error
    await at('stopped')
    await until('the chat has it', async () => (await stored()).length === 4)
    chat.keep()
  },
  async killError() {
    const rest = await killed(chat.ask('killError', { back: true }), { whole: chat.failsWhole, silent: true })
    await at('resumed')
    const e = await fails(rest())
    if (!/credentials|response\.failed/.test(e.message)) throw e
  },
  // killDeny has a call that was denied before; clients that cannot be asked deny by themselves.
  async killDeny() {
    const answer = chat.ask('killDeny', { back: true })
    if (!chat.approves) return back(answer)
    await answer
    await back(chat.decide(false, { back: true }))
  },
  // killApprove has a call that was approved before, and has run.
  async killApprove() {
    const answer = chat.ask('killApprove', { back: true, wait: true })
    if (chat.approves) {
      await answer
      return back(chat.decide(true, { back: true }))
    }
    await until('the answer begins', () => chat.text() !== '')
    for (const path of await approvals(1)) await call(path, { approved: true })
    await back(answer, { wait: true })
  },
  // killClient has a call whose outcome was given before.
  async killClient() {
    const answer = chat.ask('killClient', { back: true })
    if (chat.runsTools) return back(answer)
    await answer
    await back(chat.outcome('where', 'Basel', { back: true }))
  },
  // killWaiting has a call that waits, and is approved afterwards.
  async killWaiting() {
    const answer = chat.ask('killWaiting', { back: true, wait: true })
    if (chat.approves) {
      await answer
      await at('streaming')
      return chat.decide(true)
    }
    await until('the answer begins', () => chat.text() !== '')
    await approvals(1)
    const failed = fails(answer)
    await at('streaming')
    await failed
    const again = chat.again({ wait: true })
    again.catch(() => {})
    for (const path of await approvals(1)) await call(path, { approved: true })
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
    const e = await fails(chat.foreign(current.run))
    if (!/404/.test(String(e.status ?? e.statusCode ?? e.message))) throw e
    chat.forget()
  },
}

await done(async () => {
  await cases[name]()
  return { client: shown(chat.messages()), stored: shown(await stored()) }
})
