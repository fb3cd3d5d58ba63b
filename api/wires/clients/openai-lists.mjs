// Functions that the clients of OpenAI's APIs share.
export const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
export const where = { name: 'where', description: 'Where the user is', parameters: { type: 'object', properties: { key: { type: 'string' } } } }

// cuttable is a fetch whose connection can be cut.
export const cuttable = (state) => async (input, init) => {
  const response = await fetch(input, init)
  const reader = response.body?.getReader()
  if (!reader || response.status !== 200) return reader ? new Response(new ReadableStream({ async start(c) { for (;;) { const { done, value } = await reader.read(); if (done) return c.close(); c.enqueue(value) } } }), response) : response
  const body = new ReadableStream({
    start(controller) {
      state.cut = () => { reader.cancel().catch(() => {}); controller.error(new TypeError('network error')) }
      const pump = () => reader.read().then(({ done, value }) => {
        if (done) return controller.close()
        controller.enqueue(value)
        return pump()
      }).catch((e) => { try { controller.error(e) } catch { /* it was cut */ } })
      pump()
    },
    cancel() { return reader.cancel() },
  })
  return new Response(body, { status: response.status, headers: response.headers })
}

// Lists is the base of clients that send all messages with each request.
export class Lists {
  approves = false
  list = [] // the messages, in the form in which they are sent
  said = '' // the answer so far
  status = {}

  constructor(url, id) { this.url = url; this.id = id }
  text() { return this.said }
  fresh() { return this.said } // what the client was shown since it came back
  cut() { this.status.cut() }
  cancel() { this.stop() }
  forget() { this.list = [] }
  keep() { this.list.push({ role: 'assistant', content: this.said }) }

  async ask(text, options = {}) {
    this.list.push(this.question(text, options.file))
    this.said = ''
    await this.send(options)
  }
  async again(options) {
    this.said = ''
    await this.send(options)
  }
  async regenerate() {
    while (this.list.at(-1).role !== 'user') this.list.pop()
    await this.again({})
  }
  async edit(text) {
    while (this.list.at(-1).role !== 'user') this.list.pop()
    this.list.pop()
    await this.ask(text)
  }
  // messages are what the user sees: a tool's outcome does not end an answer.
  messages() {
    const out = []
    for (const m of this.list) {
      const text = this.plain(m)
      if (m.role === 'tool') continue
      if (m.role === 'assistant' && out.at(-1)?.role === 'assistant') out.at(-1).text += ' ' + text
      else out.push({ role: m.role, text })
    }
    return out
  }
}
