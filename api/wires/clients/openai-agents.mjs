// The agents of @openai/agents, with the methods of openai-kinds.mjs.
import OpenAI from 'openai'
import { Agent, Runner, OpenAIProvider, hostedMcpTool, tool as agentTool, setTracingDisabled, webSearchTool } from '@openai/agents'
import { Lists, cuttable, pixel, where } from './openai-lists.mjs'

// Agents is a runner of agents with the Responses API.
export class Agents extends Lists {
  approves = true
  runsTools = true
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
    this.input = state
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
  foreign(run) {
    return this.runner.run(this.agent, 'x', { previousResponseId: `resp_${run.replaceAll('-', '')}_0` })
  }
}
