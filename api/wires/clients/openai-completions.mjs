// The package openai with chat completions, with the methods of openai-kinds.mjs.
import OpenAI from 'openai'
import { Lists, cuttable, where } from './openai-lists.mjs'

export class Completions extends Lists {
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
  async outcome(name, output, options = {}) {
    for (const c of this.list.at(-1).tool_calls) {
      if (c.function.name !== name) throw new Error('asked for ' + c.function.name)
      this.list.push({ role: 'tool', tool_call_id: c.id, content: output })
    }
    await this.again(options)
  }
  bad() { return this.client.chat.completions.create({ model: 'chattray', n: 2, messages: [{ role: 'user', content: 'x' }] }) }
  foreign(run) {
    return this.client.chat.completions.create({
      model: 'chattray', messages: [{ role: 'tool', tool_call_id: run + '-0', content: 'x' }],
    })
  }
}
