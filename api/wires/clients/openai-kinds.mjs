// The clients of OpenAI's APIs, each with the same few methods.
import OpenAI from 'openai'
import { jsonSchema, streamText, generateText, tool } from 'ai7'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { createOpenAI } from '@ai-sdk/openai'
import { Agent, Runner, OpenAIProvider, hostedMcpTool, tool as agentTool, setTracingDisabled, webSearchTool } from '@openai/agents'
import { LangChain, LangChainResponses } from './openai-langchain.mjs'
import { Lists, cuttable, pixel, where } from './openai-lists.mjs'

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
  async outcome(name, output, options = {}) {
    for (const c of this.list.at(-1).tool_calls) {
      if (c.function.name !== name) throw new Error('asked for ' + c.function.name)
      this.list.push({ role: 'tool', tool_call_id: c.id, content: output })
    }
    await this.again(options)
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
  async outcome(name, output, options = {}) {
    for (const c of this.calls) {
      if (c.toolName !== name) throw new Error('asked for ' + c.toolName)
      this.list.push({ role: 'tool', content: [{ type: 'tool-result', toolCallId: c.toolCallId, toolName: name, output: { type: 'text', value: output } }] })
    }
    await this.again(options)
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

// Responses keeps only the id of the last response: the service has the chat.
class Responses {
  approves = true
  said = ''
  shown = [] // the texts that the user sees
  ids = [] // the id of the response to each question
  status = {}

  constructor(url, id) {
    this.url = url
    this.id = id
    this.client = new OpenAI({ baseURL: url + '/v1', apiKey: 'none', fetch: cuttable(this.status), maxRetries: 0 })
  }
  text() { return this.said }
  messages() { return this.shown }
  cut() { this.status.cut() }
  forget() { this.shown = [] }
  keep() { this.shown.at(-1).text += ' ' + this.said }

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
    this.said = ''
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
  asked(type) { return this.response.output.filter((i) => i.type === type) }
  async answer(input) {
    await this.run(this.body(input, this.response.id))
    this.ids[this.ids.length - 1] = this.response.id
  }
  outcomes(name, output) {
    return this.asked('function_call').map((c) => {
      if (c.name !== name) throw new Error('asked for ' + c.name)
      return { type: 'function_call_output', call_id: c.call_id, output }
    })
  }
  decisions(approve) { return this.asked('mcp_approval_request').map((i) => ({ type: 'mcp_approval_response', approval_request_id: i.id, approve })) }
  outcome(name, output) { return this.answer(this.outcomes(name, output)) }
  decide(approve) { return this.answer(this.decisions(approve)) }
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
  foreign() { return this.client.responses.create({ model: 'chattray', input: 'x', previous_response_id: 'resp_019ac0de000070008000000000000001_0' }) }
}

// Agents is a runner of agents with the Responses API.
class Agents extends Lists {
  approves = true
  constructor(url, id) {
    super(url, id)
    setTracingDisabled(true)
    const client = new OpenAI({ baseURL: url + '/v1', apiKey: 'none', fetch: cuttable(this.status), maxRetries: 0 })
    this.provider = new OpenAIProvider({ openAIClient: client, useResponses: true })
    this.runner = new Runner({ modelProvider: this.provider, tracingDisabled: true })
    this.agent = new Agent({
      name: 'tray', model: 'chattray/lab',
      tools: [
        agentTool({ name: 'where', description: where.description, strict: false, parameters: { ...where.parameters, required: [], additionalProperties: true }, execute: () => 'Basel' }),
        hostedMcpTool({ serverLabel: 'chattray', serverUrl: 'https://chattray.invalid', requireApproval: 'always' }),
      ],
    })
    this.history = []
    this.turns = []
  }
  question(text, file) {
    if (!file) return { role: 'user', content: text }
    return { role: 'user', content: [{ type: 'input_text', text }, { type: 'input_image', image: 'data:image/png;base64,' + pixel }] }
  }
  messages() { return this.turns }
  forget() { this.turns = [] }
  keep() { this.turns.push({ role: 'assistant', text: this.said }) }

  async ask(text, options = {}) {
    this.turns.push({ role: 'user', text })
    this.before = [...this.history]
    this.input = [...this.history, this.question(text, options.file)]
    await this.run(this.input, options)
  }
  async run(input, { whole } = {}) {
    this.said = ''
    if (whole) {
      this.result = await this.runner.run(this.agent, input)
    } else {
      this.aborter = new AbortController()
      const result = await this.runner.run(this.agent, input, { stream: true, signal: this.aborter.signal })
      this.result = result
      for await (const e of result) {
        if (e.type === 'raw_model_stream_event' && e.data.type === 'output_text_delta') this.said += e.data.delta
      }
      await result.completed
      if (result.error) throw result.error
    }
    if (this.aborter?.signal.aborted || this.result.interruptions?.length) return
    this.history = this.result.history
    const text = this.history.slice(this.before.length).filter((i) => i.role === 'assistant').flatMap((i) => i.content).map((p) => p.text).join(' ')
    if (this.turns.at(-1).role === 'assistant') this.turns.pop()
    this.turns.push({ role: 'assistant', text })
  }
  again() { return this.run(this.input) }
  seen(name) { if (!JSON.stringify(this.result.newItems.map((i) => i.rawItem)).includes(name)) throw new Error('no call of ' + name) }
  stop() { this.aborter.abort() }
  async outcome() { /* the runner has run the tool */ }
  async decide(approved) {
    const state = this.result.state
    for (const i of this.result.interruptions) approved ? state.approve(i) : state.reject(i)
    await this.run(state)
  }
  async both(name, output, approved) { if (this.result.interruptions.length) await this.decide(approved) }
  async regenerate() {
    this.history = this.before
    await this.run(this.input)
  }
  async edit(text) {
    this.turns.splice(-2)
    this.history = this.before
    await this.ask(text)
  }
  bad() { return this.runner.run(new Agent({ name: 'tray', model: 'chattray', tools: [webSearchTool()] }), 'x') }
  foreign() {
    return this.runner.run(this.agent, 'x', { previousResponseId: 'resp_019ac0de000070008000000000000001_0' })
  }
}

// Provider is the AI SDK with the Responses API.
class Provider extends Compatible {
  approves = true
  constructor(url, id) {
    super(url, id)
    this.openai = createOpenAI({ baseURL: url + '/v1', apiKey: 'none', fetch: cuttable(this.status) })
    this.model = this.openai.responses('chattray/lab')
    this.tools = { ...this.tools, chattray: this.openai.tools.mcp({ serverLabel: 'chattray', serverUrl: 'https://chattray.invalid', requireApproval: 'always' }) }
  }
  seen(name) { if (!JSON.stringify(this.list).includes(name)) throw new Error('no call of ' + name) }
  approvals(approved) {
    const asked = this.list.filter((m) => m.role === 'assistant').at(-1).content.filter((p) => p.type === 'tool-approval-request')
    if (asked.length === 0) throw new Error('nothing is asked')
    return asked.map((p) => ({ type: 'tool-approval-response', approvalId: p.approvalId, approved, providerExecuted: true }))
  }
  async decide(approved) {
    this.list.push({ role: 'tool', content: this.approvals(approved) })
    await this.again({})
  }
  async both(name, output, approved) {
    const approvals = this.approvals(approved)
    const results = this.calls.filter((c) => c.toolName === name).map((c) => ({ type: 'tool-result', toolCallId: c.toolCallId, toolName: name, output: { type: 'text', value: output } }))
    if (results.length === 0) throw new Error('no call of ' + name)
    this.list.push({ role: 'tool', content: [...results, ...approvals] })
    await this.again({})
  }
  bad() {
    return generateText({ model: this.model, maxRetries: 0, messages: [{ role: 'user', content: 'x' }], tools: { search: this.openai.tools.webSearch({}) } })
  }
}

const kinds = {
  completions: Completions, compatible: Compatible, responses: Responses, agents: Agents, provider: Provider,
  langchain: LangChain, 'langchain responses': LangChainResponses,
}
export const open = (kind, url, id) => new kinds[kind](url, id)
