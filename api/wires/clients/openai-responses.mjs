// The package openai with the Responses API, with the methods of openai-kinds.mjs.
import OpenAI from 'openai'
import { cuttable, where } from './openai-lists.mjs'

// Responses keeps only the id of the last response: the service has the chat.
export class Responses {
  approves = true
  said = ''
  before = '' // the beginning of said that was shown before the client came back
  shown = [] // the texts that the user sees
  ids = [] // the id of the response to each question
  status = {}

  constructor(url, id) {
    this.url = url
    this.id = id
    this.client = new OpenAI({ baseURL: url + '/v1', apiKey: 'none', fetch: cuttable(this.status), maxRetries: 0 })
  }
  text() { return this.said }
  fresh() { return this.said.slice(this.before.length) } // what the client was shown since it came back
  messages() { return this.shown }
  cut() { this.status.cut() }
  forget() { this.shown = [] }
  keep() { this.shown.at(-1).text += ' ' + this.fresh() }

  body(input, previous) {
    return {
      model: 'chattray/lab', input, tools: [{ type: 'function', strict: false, ...where }, { type: 'mcp', server_label: 'chattray', server_url: 'https://chattray.invalid' }],
      ...(previous ? { previous_response_id: previous } : { metadata: { chat_id: this.id } }),
    }
  }
  async ask(text, { whole, file, key, back } = {}) {
    this.last = file ? [{ role: 'user', content: [{ type: 'input_text', text }, { type: 'input_file', filename: 'a.txt', file_data: 'data:text/plain;base64,SGVsbG8=' }] }] : text
    this.shown.push({ role: 'user', text }, { role: 'assistant', text: '' })
    await this.run(this.body(this.last, this.ids.at(-1)), { whole, key, back })
    this.ids.push(this.response.id)
  }
  async run(body, { whole, key, back } = {}) {
    this.said = this.before = ''
    if (whole) {
      this.took(await this.client.responses.create(body))
      return
    }
    const stream = this.running = await this.client.responses.create(
      { ...body, stream: true, background: back ?? false }, key ? { headers: { 'Idempotency-Key': key } } : {})
    await this.follow(stream)
  }
  async follow(stream) {
    let end
    for await (const e of stream) {
      if (this.number !== undefined && e.sequence_number <= this.number && this.resuming) throw new Error('seen again: ' + e.sequence_number)
      this.number = e.sequence_number
      if (e.type === 'response.created') this.current = e.response.id
      if (e.type === 'response.output_text.delta') this.said += e.delta
      if (e.type === 'response.completed') end = e.response
      if (e.type === 'response.failed') throw new Error(e.response.error.message)
    }
    this.resuming = false
    if (!end) throw new Error('the stream has no end')
    this.took(end)
  }
  // took shows a response that was received as a whole, and throws if it failed.
  took(response) {
    this.response = response
    const text = response.output.filter((i) => i.type === 'message').flatMap((i) => i.content).map((p) => p.text).join('')
    this.number = undefined
    this.shown.at(-1).text += ' ' + text
    if (response.status === 'failed') throw new Error(response.error.message)
  }
  // again follows the response from the last event.
  async again() {
    this.resuming = true
    this.before = this.said
    let stream
    for (let n = 0; ; n++) {
      try {
        stream = await this.client.responses.retrieve(this.current, { stream: true, starting_after: this.number })
        break
      } catch (e) {
        if (n > 300 || e.status) throw e
        await new Promise((done) => setTimeout(done, 50))
      }
    }
    await this.follow(stream)
    this.ids.push(this.response.id)
  }
  seen(name) {
    if (!this.response.output.some((i) => i.type === 'mcp_call' && i.name === name && i.output.includes('found'))) throw new Error('no call of ' + name)
  }
  stop() { this.running.controller.abort() }
  cancel() { return this.client.responses.cancel(this.current) }
  asked(type) { return this.response.output.filter((i) => i.type === type) }
  async answer(input, { back } = {}) {
    await this.run(this.body(input, this.response.id), { back })
    this.ids[this.ids.length - 1] = this.response.id
  }
  outcomes(name, output) {
    return this.asked('function_call').map((c) => {
      if (c.name !== name) throw new Error('asked for ' + c.name)
      return { type: 'function_call_output', call_id: c.call_id, output }
    })
  }
  decisions(approve) { return this.asked('mcp_approval_request').map((i) => ({ type: 'mcp_approval_response', approval_request_id: i.id, approve })) }
  outcome(name, output, options) { return this.answer(this.outcomes(name, output), options) }
  decide(approve, options) { return this.answer(this.decisions(approve), options) }
  // both answers one of the calls that wait, and then the other.
  async both(name, output, approve) {
    const decisions = this.decisions(approve)
    await this.answer(this.outcomes(name, output))
    await this.answer(decisions)
  }
  async regenerate() {
    this.ids.pop()
    this.shown.at(-1).text = ''
    await this.run(this.body(this.last, this.ids.at(-1)))
    this.ids.push(this.response.id)
  }
  async edit(text) {
    this.shown.splice(-2)
    this.ids.pop()
    await this.ask(text)
  }
  bad() { return this.client.responses.create({ model: 'chattray', input: 'x', tools: [{ type: 'web_search' }] }) }
  foreign(run) { return this.client.responses.create({ model: 'chattray', input: 'x', previous_response_id: `resp_${run.replaceAll('-', '')}_0` }) }
}
