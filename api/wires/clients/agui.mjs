// A case with an unmodified client of the Agent-User Interaction Protocol; host.mjs runs it.
// agui-kinds.mjs has the clients.
import { kinds } from './agui-kinds.mjs'
import { at, call, current, cutter, done, outcome, stopped, stored, until } from './common.mjs'

const { client: version, url, name } = current
const id = `${name}-${version}`
const connection = cutter()
const errors = []
const client = await kinds[version]({ version, url, id, fetch: connection.fetch, failed: (e) => errors.push(e) })

const run = (agent, more) => client.run(agent, more)
const ask = (agent, content) => {
  agent.addMessage({ id: crypto.randomUUID(), role: 'user', content })
  return run(agent)
}

const words = (agent) => agent.messages.filter((m) => m.role === 'assistant').map((m) => m.content ?? '').join(' ')
const streaming = (agent) => until('the answer streams', () => words(agent).includes('one two three'))
const waiting = (agent) => {
  const ended = new Set(agent.messages.filter((m) => m.role === 'tool').map((m) => m.toolCallId))
  return agent.messages.flatMap((m) => m.toolCalls ?? []).filter((c) => !ended.has(c.id))
}
const place = async (agent) => {
  if (client.runsTools) return until('the tool has run', () => !agent.isRunning && waiting(agent).length === 0)
  for (const c of waiting(agent).filter((c) => c.function.name === 'where')) {
    agent.addMessage({ id: crypto.randomUUID(), role: 'tool', toolCallId: c.id, content: 'Basel' })
  }
  return run(agent)
}
// decide approves or denies every call that waits, in the form that the client requires.
const decide = (agent, approved, which = () => true) => run(agent, {
  resume: agent.pendingInterrupts.filter(which).map((i) => ({ interruptId: i.id, status: 'resolved', payload: i.metadata.kind === 'approval' ? { approved } : 'Basel' })),
})

// back follows the current run from a page that has been loaded again.
const back = async (point, follow = client.back) => {
  const { again, follows } = await follow()
  if (point) {
    await streaming(again)
    await (typeof point === 'function' ? point(again) : at(point))
  }
  await follows
  return again
}
const failed = (follows) => follows.then(() => { if (!client.swallows) throw new Error('the client did not notice') }, () => {})
const killed = async (agent, follows, then = 'resumed') => {
  await streaming(agent)
  const noticed = failed(follows)
  await at('streaming')
  await noticed
  return back(then, client.again && (() => client.again(agent)))
}

const cases = {
  text: (agent) => ask(agent, 'text'),
  tool: (agent) => ask(agent, 'tool'),
  async client(agent) {
    await ask(agent, 'client')
    await place(agent)
  },
  async approve(agent) {
    await ask(agent, 'approve')
    await decide(agent, true)
  },
  async deny(agent) {
    await ask(agent, 'deny')
    await decide(agent, false)
  },
  async two(agent) {
    await ask(agent, 'two')
    await decide(agent, true)
  },
  async partial(agent) {
    await ask(agent, 'partial')
    const tool = (i) => i.metadata.kind === 'client_tool'
    await decide(agent, true, tool).catch(() => {}) // a client may refuse it
    await decide(agent, true)
    const posts = connection.posts(url)
    if (posts > 3) throw new Error(`${posts} requests`)
  },
  async reload(agent) {
    ask(agent, 'reload').catch(() => {})
    await streaming(agent)
    return back('streaming')
  },
  async reloadTool(agent) {
    const asked = ask(agent, 'reloadTool')
    if (!client.runsTools) {
      await asked
      place(agent).catch(() => {})
    }
    await streaming(agent)
    const again = await back('streaming')
    if (waiting(again).length > 0) throw new Error('the tool of the page waits again')
    return again
  },
  async cut(agent) {
    const noticed = failed(ask(agent, 'cut'))
    await streaming(agent)
    connection.cut()
    await noticed
    return back('resumed')
  },
  async stop(agent) {
    const sent = ask(agent, 'stop')
    await streaming(agent)
    if (!(await client.stop(agent)).stopped) throw new Error('nothing was stopped')
    await sent
    if (version !== '1' && !errors[0]?.startsWith(client.aborts ? 'abort' : 'cancelled')) throw new Error('errors ' + errors)
    await at('stopped')
    await stopped(url)
  },
  async error(agent) {
    await ask(agent, 'error')
    if (errors.length === 0) throw new Error('there is no error')
  },
  async turns(agent) {
    await ask(agent, 'first')
    await ask(agent, [
      { type: 'text', text: 'second' },
      { type: 'document', source: { type: 'data', value: 'SGVsbG8=', mimeType: 'text/plain' }, metadata: { filename: 'a.txt' } },
    ])
    agent.setMessages(agent.messages.slice(0, -1)) // ask for the answer again
    await run(agent)
    agent.setMessages([...agent.messages.slice(0, 2), { ...agent.messages[2], content: 'third' }])
    await run(agent)
    await ask(agent, 'fourth')
  },
  async bad(agent) {
    const error = await ask(agent, [{ type: 'text', text: 'x' }, { type: 'image', source: { type: 'url', value: 'https://example.org/a.png' } }]).catch((e) => e)
    if (!(error?.message + errors).includes('data: URL')) throw new Error('got ' + error + errors)
    agent.setMessages([])
  },
  async foreign(agent) {
    const others = current.run + '-0'
    agent.setMessages([
      { id: 'u', role: 'user', content: 'x' },
      { id: 'a', role: 'assistant', toolCalls: [{ id: others, type: 'function', function: { name: 'where', arguments: '{}' } }] },
      { id: 't', role: 'tool', toolCallId: others, content: 'x' },
    ])
    const error = await run(agent).catch((e) => e)
    if (!(error?.message + errors).includes('there is nothing')) throw new Error('got ' + error + errors)
    agent.setMessages([])
  },

  async halfError(agent) {
    await ask(agent, 'halfError')
    if (errors.length === 0) throw new Error('there is no error')
    await ask(agent, 'next')
  },
  async halfStop(agent) {
    const sent = ask(agent, 'halfStop')
    await until('the call is shown', () => waiting(agent).length > 0)
    await call(url, '/api/agui/stop', { threadId: id }) // as another page of the user does
    await sent
    await ask(agent, 'next')
  },

  kill: (agent) => killed(agent, ask(agent, 'kill')),
  killTool: (agent) => killed(agent, ask(agent, 'killTool')),
  async killClient(agent) {
    const asked = ask(agent, 'killClient')
    if (client.runsTools) return killed(agent, asked)
    await asked
    return killed(agent, place(agent))
  },
  async killApprove(agent) {
    await ask(agent, 'killApprove')
    return killed(agent, decide(agent, true))
  },
  async killDeny(agent) {
    await ask(agent, 'killDeny')
    return killed(agent, decide(agent, false))
  },
  async killTwo(agent) {
    await ask(agent, 'killTwo')
    return killed(agent, decide(agent, true))
  },
  async killWaiting(agent) {
    await ask(agent, 'killWaiting')
    await at('streaming')
    await decide(agent, true)
  },
  async killBoth(agent) {
    await ask(agent, 'killBoth')
    await at('streaming')
    const again = client.again ? agent : await back()
    await decide(again, true)
    return again
  },
  async killStop(agent) {
    return killed(agent, ask(agent, 'killStop'), async (again) => {
      await client.stop(again)
      await stopped(url)
    })
  },
  async killError(agent) {
    const asked = ask(agent, 'killError')
    await streaming(agent)
    const noticed = failed(asked)
    await at('streaming')
    await noticed
    const { again, follows } = await (client.again ? client.again(agent) : client.back())
    await until('the page is back', () => again.messages.length > 0)
    await at('resumed')
    await follows
    if (errors.length === 0) throw new Error('there is no error')
    return again
  },
  async killEdit(agent) {
    await ask(agent, 'first')
    agent.setMessages([{ ...agent.messages[0], content: 'killEdit' }])
    return killed(agent, run(agent))
  },
  async killRegenerate(agent) {
    await ask(agent, 'killRegenerate')
    agent.setMessages(agent.messages.slice(0, 1))
    return killed(agent, run(agent))
  },
  async killFile(agent) {
    return killed(agent, ask(agent, [{ type: 'text', text: 'killFile' }, { type: 'document', source: { type: 'data', value: 'SGVsbG8=', mimeType: 'text/plain' } }]))
  },
}

// shown is what a user sees: texts, and calls with their outcomes.
const shown = (agent) => {
  const out = []
  const results = new Map(agent.messages.filter((m) => m.role === 'tool').map((m) => [m.toolCallId, m]))
  for (const m of agent.messages) {
    const text = typeof m.content === 'string' ? m.content : (m.content ?? []).filter?.((p) => p.type === 'text').map((p) => p.text).join('')
    if (m.role === 'user') out.push('user: ' + text)
    if (m.role !== 'assistant') continue
    const parts = [text?.trim() ?? '', ...(m.toolCalls ?? []).map((c) => {
      const result = results.get(c.id)
      return result ? outcome(c.function.name, result.error !== undefined || result.metadata?.is_error || /^The (user denied|answer ended)/.test(result.content), result.content) : `<${c.function.name} waits>`
    })].filter((s) => s !== '').join(' ')
    if (out.at(-1)?.startsWith('assistant')) out[out.length - 1] += ' ' + parts
    else out.push('assistant: ' + parts)
  }
  return out
}

await done(async () => {
  const first = await client.open()
  const last = await cases[name](first)
  return { client: shown(last?.messages ? last : first), stored: await stored(url, id) }
})
