// The clients of OpenAI's APIs, each with the same few methods.
import OpenAI from 'openai'
import { jsonSchema, streamText, generateText, tool } from 'ai7'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const where = { name: 'where', description: 'Where the user is', parameters: { type: 'object', properties: { key: { type: 'string' } } } }

// cuttable is a fetch whose connection can be cut.
const cuttable = (state) => async (input, init) => {
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

// Lists is what clients share that send all messages each time.
class Lists {
  approves = false
  list = [] // as they are sent
  said = '' // the answer so far
  status = {}

  constructor(url, id) { this.url = url; this.id = id }
  text() { return this.said }
  cut() { this.status.cut() }
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

class Completions extends Lists {
  constructor(url, id) {
    super(url, id)
    this.client = new OpenAI({ baseURL: url + '/v1', apiKey: 'none', fetch: cuttable(this.status), maxRetries: 0 })
  }
  question(text, file) {
    if (!file) return { role: 'user', content: text }
    return { role: 'user', content: [{ type: 'text', text }, { type: 'file', file: { filename: 'a.txt', file_data: 'data:text/plain;base64,SGVsbG8=' } }] }
  }
  plain(m) { return typeof m.content === 'string' ? m.content : (m.content ?? []).map((p) => p.text ?? '').join('') }

  async send({ whole, wait, key }) {
    const body = {
      model: 'chattray/lab', messages: this.list, tools: [{ type: 'function', function: where }],
      metadata: { chat_id: this.id, ...(wait ? { approvals: 'wait' } : {}) },
    }
    const options = key ? { headers: { 'Idempotency-Key': key } } : {}
    this.reasoning = ''
    if (whole) {
      const done = await this.client.chat.completions.create(body, options)
      this.said = done.choices[0].message.content
      this.list.push({ role: 'assistant', content: this.said })
      if (done.usage.total_tokens !== done.usage.prompt_tokens + done.usage.completion_tokens) throw new Error('usage')
      return
    }
    this.running = this.client.chat.completions.stream({ ...body, stream_options: { include_usage: true } }, options)
    this.running.on('chunk', (c) => {
      this.said += c.choices[0]?.delta.content ?? ''
      this.reasoning += c.choices[0]?.delta.reasoning_content ?? ''
    })
    const m = await this.running.finalMessage()
    this.list.push({ role: 'assistant', content: m.content, ...(m.tool_calls ? { tool_calls: m.tool_calls } : {}) })
  }
  seen(name) { if (!this.reasoning.includes(`Running ${name}`)) throw new Error('the reasoning is ' + this.reasoning) }
  stop() { this.running.abort() }
  async outcome(name, output) {
    for (const c of this.list.at(-1).tool_calls) {
      if (c.function.name !== name) throw new Error('asked for ' + c.function.name)
      this.list.push({ role: 'tool', tool_call_id: c.id, content: output })
    }
    await this.again({})
  }
  bad() { return this.client.chat.completions.create({ model: 'chattray', n: 2, messages: [{ role: 'user', content: 'x' }] }) }
  foreign() {
    return this.client.chat.completions.create({
      model: 'chattray', messages: [{ role: 'tool', tool_call_id: '019ac0de-0000-7000-8000-000000000001-0', content: 'x' }],
    })
  }
}

class Compatible extends Lists {
  constructor(url, id) {
    super(url, id)
    const provider = createOpenAICompatible({ name: 'chattray', baseURL: url + '/v1', apiKey: 'none', fetch: cuttable(this.status), includeUsage: true })
    this.model = provider('chattray/lab')
  }
  tools = { where: tool({ description: where.description, inputSchema: jsonSchema(where.parameters) }) }
  question(text, file) {
    if (!file) return { role: 'user', content: text }
    return { role: 'user', content: [{ type: 'text', text }, { type: 'file', mediaType: 'image/png', data: pixel }] }
  }
  plain(m) { return typeof m.content === 'string' ? m.content : m.content.filter((p) => p.type === 'text').map((p) => p.text).join('') }

  async send({ whole, wait, key }) {
    const options = {
      model: this.model, messages: this.list, tools: this.tools, maxRetries: 0, providerOptions: { chattray: wait ? { metadata: { approvals: 'wait' } } : {} },
      headers: { 'X-Chattray-Chat-Id': this.id, ...(key ? { 'Idempotency-Key': key } : {}) },
    }
    this.reasoning = ''
    if (whole) {
      const done = await generateText(options)
      this.said = done.text
      this.list.push(...done.response.messages)
      return
    }
    this.aborter = new AbortController()
    let failed
    const running = streamText({ ...options, abortSignal: this.aborter.signal, onError: ({ error }) => { failed = error } })
    for await (const part of running.fullStream) {
      if (part.type === 'text-delta') this.said += part.text
      if (part.type === 'reasoning-delta') this.reasoning += part.text
      if (part.type === 'error') failed = part.error
      if (part.type === 'abort') return
    }
    if (failed) throw failed instanceof Error ? failed : new Error(failed.message ?? JSON.stringify(failed))
    this.list.push(...(await running.response).messages)
    this.calls = await running.toolCalls
  }
  seen(name) { if (!this.reasoning.includes(`Running ${name}`)) throw new Error('the reasoning is ' + this.reasoning) }
  stop() { this.aborter.abort() }
  async outcome(name, output) {
    for (const c of this.calls) {
      if (c.toolName !== name) throw new Error('asked for ' + c.toolName)
      this.list.push({ role: 'tool', content: [{ type: 'tool-result', toolCallId: c.toolCallId, toolName: name, output: { type: 'text', value: output } }] })
    }
    await this.again({})
  }
  bad() {
    return generateText({ model: this.model, maxRetries: 0, messages: [{ role: 'user', content: 'x' }], providerOptions: { chattray: { n: 2 } } })
  }
  foreign() {
    const id = '019ac0de-0000-7000-8000-000000000001-0'
    return generateText({
      model: this.model, maxRetries: 0, messages: [
        { role: 'user', content: 'x' }, { role: 'assistant', content: [{ type: 'tool-call', toolCallId: id, toolName: 'where', input: {} }] },
        { role: 'tool', content: [{ type: 'tool-result', toolCallId: id, toolName: 'where', output: { type: 'text', value: 'x' } }] }],
    })
  }
}

export const open = (kind, url, id) => new { completions: Completions, compatible: Compatible }[kind](url, id)
