// The AI SDK's models of OpenAI's APIs, with the methods of openai-kinds.mjs.
import { jsonSchema, streamText, generateText, tool } from 'ai7'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { createOpenAI } from '@ai-sdk/openai'
import { Lists, cuttable, pixel, where } from './openai-lists.mjs'

export class Compatible extends Lists {
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
  foreign(run) {
    const id = run + '-0'
    return generateText({
      model: this.model, maxRetries: 0, messages: [
        { role: 'user', content: 'x' }, { role: 'assistant', content: [{ type: 'tool-call', toolCallId: id, toolName: 'where', input: {} }] },
        { role: 'tool', content: [{ type: 'tool-result', toolCallId: id, toolName: 'where', output: { type: 'text', value: 'x' } }] }],
    })
  }
}

// Provider is the AI SDK with the Responses API.
export class Provider extends Compatible {
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
