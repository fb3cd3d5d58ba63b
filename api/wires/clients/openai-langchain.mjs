// LangChain's models of OpenAI's APIs, with the methods of openai-kinds.mjs.
import { ChatOpenAI } from '@langchain/openai'
import { HumanMessage, ToolMessage } from '@langchain/core/messages'
import { Lists, cuttable, pixel, where } from './openai-lists.mjs'

// LangChain is LangChain's model of OpenAI's chat completions.
export class LangChain extends Lists {
  responses = false
  model(more) {
    const configuration = { baseURL: this.url + '/v1', fetch: cuttable(this.status) }
    return new ChatOpenAI({ model: 'chattray/lab', apiKey: 'none', maxRetries: 0, useResponsesApi: this.responses, configuration, ...more })
  }
  question(text, file) {
    if (!file) return new HumanMessage(text)
    return new HumanMessage({ content: [{ type: 'text', text }, { type: 'image_url', image_url: { url: 'data:image/png;base64,' + pixel } }] })
  }
  plain(m) { return m.text }
  messages() {
    const roles = { human: 'user', ai: 'assistant' }
    const out = []
    for (const m of this.list) {
      const role = m.role ?? roles[m.getType()]
      const text = m.role ? m.content : m.text
      if (!role || role === 'user' && text === '') continue
      if (role === 'assistant' && out.at(-1)?.role === role) out.at(-1).text += ' ' + text
      else out.push({ role, text })
    }
    return out
  }
  metadata(wait) { return { chat_id: this.id, ...(wait ? { approvals: 'wait' } : {}) } }

  async send({ whole, wait, key }) {
    const metadata = this.metadata(wait)
    const model = this.model({ modelKwargs: metadata ? { metadata } : {} }).bindTools([{ type: 'function', function: where }])
    this.aborter = new AbortController()
    // Streams of chat completions take the headers from one place, all other calls from the other.
    const headers = key ? { 'Idempotency-Key': key } : undefined
    const options = { signal: this.aborter.signal, headers, options: { headers } }
    if (whole) {
      this.last = await model.invoke(this.list, options)
      this.said = this.last.text
    } else {
      this.last = undefined
      for await (const chunk of await model.stream(this.list, options)) {
        this.said += chunk.text
        this.last = this.last ? this.last.concat(chunk) : chunk
      }
    }
    this.list.push(this.last)
  }
  seen(name) { if (!JSON.stringify(this.last).includes(name)) throw new Error('no call of ' + name + ' in ' + JSON.stringify(this.last)) }
  stop() { this.aborter.abort() }
  outcomes(name, output) {
    return this.last.tool_calls.map((c) => {
      if (c.name !== name) throw new Error('asked for ' + c.name)
      return new ToolMessage({ tool_call_id: c.id, content: output })
    })
  }
  async outcome(name, output, options = {}) {
    this.list.push(...this.outcomes(name, output))
    await this.again(options)
  }
  async regenerate() {
    while (this.list.at(-1).getType() !== 'human') this.list.pop()
    await this.again({})
  }
  async edit(text) {
    while (this.list.at(-1).getType() !== 'human') this.list.pop()
    this.list.pop()
    await this.ask(text)
  }
  bad() { return this.model({ n: 2, modelKwargs: { n: 2, tools: [{ type: 'web_search' }] } }).invoke('x') }
  foreign(run) {
    const id = run + '-0'
    return this.model({}).invoke([new HumanMessage('x'), new ToolMessage({ tool_call_id: id, content: 'x' })])
  }
}

// LangChainResponses is LangChain's model of the Responses API.
export class LangChainResponses extends LangChain {
  approves = true
  responses = true
  failsWhole = true // its streams show no error: they do not read response.failed
  metadata() { return undefined }
  decisions(approve) {
    const asked = (this.last.additional_kwargs.tool_outputs ?? []).filter((i) => i.type === 'mcp_approval_request')
    if (asked.length === 0) throw new Error('nothing is asked')
    return new HumanMessage({ content: asked.map((i) => ({ type: 'mcp_approval_response', approval_request_id: i.id, approve })) })
  }
  async decide(approve) {
    this.list.push(this.decisions(approve))
    await this.again({})
  }
  async both(name, output, approve) {
    const decisions = this.decisions(approve)
    this.list.push(...this.outcomes(name, output), decisions)
    await this.again({})
  }
}
