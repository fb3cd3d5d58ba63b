// Functions that the drivers of several clients share.
import { createInterface } from 'node:readline'

// lines are the lines of the input: cases, and that the test has acted.
export const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()

// current is the case that runs: its client, the service's url and its name.
export let current

const plainFetch = globalThis.fetch
const over = new Set() // the origins of the services of the cases that ended

// begin begins a case. What an earlier case has left behind reaches no service, and waits
// for ever: a client whose requests fail would try again and again.
export const begin = (c) => {
  over.delete(new URL(c.url).origin)
  current = c
  globalThis.fetch = async (input, init) => {
    if (over.has(new URL(input.url ?? input).origin)) return new Promise(() => {})
    return plainFetch(input, init)
  }
}

// at tells the test that the client has reached a point, and waits until the test has acted.
export const at = async (point) => {
  console.log('at ' + point)
  await lines.next()
}

// limit bounds each wait, in milliseconds: only a wait that hangs reaches it, not a busy machine.
const limit = 180_000

export const until = async (what, holds) => {
  for (const end = Date.now() + limit; !(await holds()); ) {
    if (Date.now() > end) throw new Error('never: ' + what)
    await new Promise((done) => setTimeout(done, 10))
  }
}

// cutter returns a fetch, a function that cuts its last connection, and one that tells how
// many requests with a body it has sent there.
export const cutter = () => {
  const request = globalThis.fetch // some clients get the cuttable one as the global one
  let cut = () => {}
  const sent = []
  const cuttable = async (input, init) => {
    if ((init?.method ?? input.method) === 'POST') sent.push(String(input.url ?? input))
    const response = await request(input, init)
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

// done ends the case. run returns what the client shows and what the chat has.
export const done = async (run) => {
  let end
  try {
    end = 'done ' + JSON.stringify(await run())
  } catch (e) {
    end = 'failed ' + e.stack.split('\n').filter((l) => l).slice(0, 6).join(' | ')
  }
  over.add(new URL(current.url).origin)
  console.log(end)
}
