// The clients of the Agent-User Interaction Protocol that agui.mjs drives. Each opens an
// agent, runs it, and comes back to a run from a page that has been loaded again.
import { call, until } from './common.mjs'

const tools = [{ name: 'where', description: 'Where the user is', parameters: { type: 'object', properties: {} } }]
const lab = { context: { current_page: 'lab' } }

// httpAgent is the HttpAgent of a version.
const httpAgent = async ({ version, url, id, fetch, failed }) => {
  const { HttpAgent } = await import('agui' + version)
  const open = (path = '/api/agui') => {
    const agent = new HttpAgent({ url: url + path, threadId: id, fetch })
    agent.subscribe({ onRunErrorEvent: ({ event }) => { failed(event.code + ': ' + event.message) } })
    return agent
  }
  return {
    open,
    run: (agent, more = {}) => agent.runAgent({ tools, forwardedProps: lab, ...more }),
    back: () => {
      const again = open('/api/copilotkit/agent/default/connect')
      return { again, follows: again.runAgent().finally(() => { again.url = url + '/api/agui' }) }
    },
    stop: () => call(url, '/api/agui/stop', { threadId: id }),
  }
}

// copilotKit is CopilotKit's core with the routes of the service in place of its runtime,
// or with its own runtime in front of the service. It runs the tool of the page by itself.
const copilotKit = async ({ url, id, fetch, failed }, runtimeUrl = url + '/api/copilotkit', agentId = 'lab', runtimeTransport = 'rest') => {
  globalThis.window = globalThis // it connects only in a browser
  globalThis.fetch = fetch
  const { CopilotKitCore } = await import('@copilotkit/core')
  const cores = new Map()
  const open = async () => {
    const core = new CopilotKitCore({
      runtimeUrl, runtimeTransport, properties: lab,
      tools: [{ name: 'where', description: 'Where the user is', handler: async () => 'Basel' }],
    })
    await until('CopilotKit is connected', () => core.runtimeConnectionStatus === 'connected')
    core.subscribe({ onError: ({ error }) => { failed('error: ' + error.message) } })
    const agent = core.getAgent(agentId)
    agent.threadId = id
    agent.subscribe({ onRunErrorEvent: ({ event }) => { failed(event.code + ': ' + event.message) } })
    cores.set(agent, core)
    return agent
  }
  return {
    open,
    run: (agent, more = {}) => cores.get(agent).runAgent({ agent, ...more }),
    back: async () => {
      const again = await open()
      return { again, follows: cores.get(again).connectAgent({ agent: again }) }
    },
    stop: async (agent) => {
      cores.get(agent).stopAgent({ agent })
      return { stopped: true }
    },
    runsTools: true,
    swallows: true, // errors go to its subscribers
  }
}

// One endpoint for all methods, which <CopilotKit> uses by default before 1.69.
const single = (o) => copilotKit(o, o.url + '/api/copilotkit', 'lab', 'single')

const ownRuntime = async (o) => {
  const { start } = await import('./runtime/index.mjs')
  const kit = await copilotKit(o, await start(o.url), 'default')
  // The runtime keeps the events of a run that it has received. The request is sent
  // again, and the service follows the run that the first one began or continued.
  let last
  const run = (agent, more) => {
    last = { messages: structuredClone(agent.messages), more }
    return kit.run(agent, more)
  }
  const again = (agent) => {
    agent.setMessages(last.messages)
    return { again: agent, follows: kit.run(agent, last.more) }
  }
  return { ...kit, run, again, aborts: true }
}

export const kinds = { 1: httpAgent, '0': httpAgent, copilotkit: copilotKit, single, runtime: ownRuntime }
