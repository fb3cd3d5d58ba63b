// Functions that the drivers of several clients share.
import { createInterface } from 'node:readline'

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()

// at tells the test that the client has reached a point, and waits until the test has acted.
export const at = async (point) => {
  console.log('at ' + point)
  await lines.next()
}

export const until = async (what, holds) => {
  for (let n = 0; !(await holds()); n++) {
    if (n > 2000) throw new Error('never: ' + what)
    await new Promise((done) => setTimeout(done, 10))
  }
}

// cutter returns a fetch, a function that cuts its last connection, and one that tells how
// many requests with a body it has sent there.
const plainFetch = globalThis.fetch
export const cutter = () => {
  let cut = () => {}
  const sent = []
  const cuttable = async (input, init) => {
    if ((init?.method ?? input.method) === 'POST') sent.push(String(input.url ?? input))
    const response = await plainFetch(input, init)
    const reader = response.body?.getReader()
    if (!reader) return response
    const body = new ReadableStream({
      start(controller) {
        const fail = (error) => { reader.cancel().catch(() => {}); try { controller.error(error) } catch { /* it has ended */ } }
        cut = () => fail(new TypeError('network error'))
        init?.signal?.addEventListener('abort', () => fail(new DOMException('aborted', 'AbortError')))
        const pump = () => reader.read().then(({ done, value }) => {
          if (done) return controller.close()
          controller.enqueue(value)
          return pump()
        }).catch(fail)
        pump()
      },
    })
    return new Response(body, { status: response.status, headers: response.headers })
  }
  return { fetch: cuttable, cut: () => cut(), posts: (url) => sent.filter((s) => s.startsWith(url)).length }
}

export const call = async (url, path, body) => {
  const r = await fetch(url + path, body === undefined ? {} : { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  return r.json()
}

// stopped waits until no run of the user is live: a run whose client only closes its
// connection ends a few seconds later.
export const stopped = (url) => until('the run has ended', async () => (await call(url, '/api/chats')).items.every((c) => !c.active_run_id))

// stored returns the messages of the chat as a user sees them.
export const stored = async (url, id) => {
  const chat = (await call(url, '/api/chats')).items.find((c) => c.chat_id === id)
  if (!chat) return []
  const { messages } = await call(url, '/api/chats/' + chat.conversation_id)
  return messages.map((m) => m.role + ': ' + m.content.split(/(\[\[tool:\d+\]\])/).map((piece) => {
    const made = m.tool_history?.[/^\[\[tool:(\d+)\]\]$/.exec(piece)?.[1]]
    return made ? outcome(made.tool_name, made.is_error, made.output) : piece.trim()
  }).filter((s) => s !== '').join(' '))
}

export const outcome = (tool, failed, output) => `<${tool} ${failed ? 'failed' : output}>`

// done ends the driver and prints what the client shows and what the chat has.
export const done = async (url, id, run, shown) => {
  try {
    const client = await run()
    console.log('done ' + JSON.stringify({ client: shown(client), stored: await stored(url, id) }))
  } catch (e) {
    console.log('failed ' + e.stack.split('\n').filter((l) => l).slice(0, 4).join(' | '))
  }
  process.exit(0)
}

// Some clients do not handle a rejected promise of theirs when a connection breaks.
process.on('unhandledRejection', () => {})
