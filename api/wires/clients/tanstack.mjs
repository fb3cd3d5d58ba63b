// A case with an unmodified ChatClient of TanStack AI; host.mjs runs it.
import { ChatClient, fetchServerSentEvents } from '@tanstack/ai-client'

import { at, call, current, cutter, done, outcome, stored, until } from './common.mjs'

const { url, name } = current
const id = `${name}-tanstack`
const connection = cutter()
const errors = []
let asked = 0 // calls of the page's tool

// By default the client gives up after five tries, 250 ms apart: a restart may take longer.
const open = () => {
  const client = new ChatClient({
    threadId: id,
    persistence: true,
    connection: fetchServerSentEvents(url + '/api/agui', { fetchClient: connection.fetch, reconnect: { maxAttempts: 600 } }),
    forwardedProps: { context: { current_page: 'lab' } },
    tools: [{ __toolSide: 'client', name: 'where', description: 'Where the user is', execute: async () => { asked++; return 'Basel' } }],
    onError: (e) => errors.push(e.message),
  })
  client.attach()
  return client
}

const isCall = (p) => p.type === 'tool-call'
const words = (client) => client.getMessages().flatMap((m) => m.role === 'assistant' ? m.parts.filter((p) => p.type === 'text').map((p) => p.content) : []).join(' ')
const streaming = (client) => until('the answer streams', () => words(client).includes('one two three'))
const ready = (client) => until('the client is ready', () => !client.getIsLoading() && ['ready', 'error'].includes(client.getStatus()))
const includes = (client, text) => until('the answer has ' + text, () => words(client).includes(text))

// decide approves or denies every call that waits.
const decide = async (client, approved) => {
  await until('the user is asked', () => client.getInterrupts().length > 0)
  for (const i of client.getInterrupts()) i.resolveInterrupt(i.metadata?.kind === 'client_tool' ? 'Basel' : { approved })
}
// killed continues by itself: the client resumes after the last event that it has.
const killed = async (client, then = () => at('resumed')) => {
  await streaming(client)
  const before = client.getMessages().at(-1).id
  await at('streaming')
  await until('the client has resumed', () => client.getMessages().at(-1).id !== before && words(client).trim().endsWith('one two three'))
  await then()
}
const ended = async (client) => {
  await killed(client)
  await includes(client, 'five')
  await ready(client)
}

const cases = {
  text: (client) => client.sendMessage('text'),
  tool: (client) => client.sendMessage('tool'),
  async client(client) {
    await client.sendMessage('client')
    await includes(client, 'done')
    if (asked !== 1) throw new Error(`the tool of the page ran ${asked} times`)
  },
  async approve(client) {
    await client.sendMessage('approve')
    await decide(client, true)
    await includes(client, 'done')
  },
  async deny(client) {
    await client.sendMessage('deny')
    await decide(client, false)
    await includes(client, 'done')
  },
  async two(client) {
    await client.sendMessage('two')
    await decide(client, true)
    await includes(client, 'done')
  },
  async partial(client) {
    await client.sendMessage('partial')
    await until('the user is asked', () => client.getInterrupts().length === 2)
    const [first, second] = client.getInterrupts()
    const answer = (i) => i.resolveInterrupt(i.metadata?.kind === 'client_tool' ? 'Basel' : { approved: true })
    answer(first)
    await ready(client)
    answer(second)
    await includes(client, 'done')
    await ready(client)
    if (connection.posts(url) !== 2) throw new Error(`${connection.posts(url)} requests`)
  },
  async reload(client) {
    client.sendMessage('reload').catch(() => {})
    await streaming(client)
    client.detach()
    const again = open()
    await streaming(again)
    await at('streaming')
    await includes(again, 'five')
    return again
  },
  async reloadTool(client) {
    client.sendMessage('reloadTool').catch(() => {})
    await streaming(client)
    client.detach()
    const again = open()
    await streaming(again)
    await at('streaming')
    await includes(again, 'five')
    if (asked !== 1) throw new Error(`the tool of the page ran ${asked} times`)
    return again
  },
  async cut(client) {
    client.sendMessage('cut').catch(() => {})
    await streaming(client)
    connection.cut()
    await at('resumed')
    await includes(client, 'five')
  },
  async stop(client) {
    const sent = client.sendMessage('stop')
    await streaming(client)
    if (!(await call(url, '/api/agui/stop', { threadId: id })).stopped) throw new Error('nothing was stopped')
    await sent.catch(() => {})
    await at('stopped')
  },
  async error(client) {
    await client.sendMessage('error').catch(() => {})
    if (client.getStatus() !== 'error') throw new Error('status ' + client.getStatus())
  },
  async turns(client) {
    await client.sendMessage('first')
    await client.sendMessage({ content: [{ type: 'text', content: 'second' }, { type: 'document', source: { type: 'data', value: 'SGVsbG8=', mimeType: 'text/plain' } }] })
    await client.reload()
    const messages = client.getMessages()
    client.setMessagesManually([...messages.slice(0, 2), { ...messages[2], parts: [{ type: 'text', content: 'third' }] }])
    await client.reload()
    await client.sendMessage('fourth')
  },
  async bad(client) {
    await client.sendMessage({ content: [{ type: 'text', content: 'x' }, { type: 'image', source: { type: 'url', value: 'https://example.org/a.png' } }] }).catch(() => {})
    if (client.getStatus() !== 'error' || !errors[0]?.includes('422')) throw new Error(`status ${client.getStatus()}, errors ${errors}`)
    client.setMessagesManually([])
  },
  async foreign(client) {
    const others = current.run + '-0'
    client.setMessagesManually([
      { id: 'u', role: 'user', parts: [{ type: 'text', content: 'x' }] },
      { id: 'a', role: 'assistant', parts: [{ type: 'tool-call', id: others, name: 'where', arguments: '{}', state: 'input-complete' }] },
    ])
    await client.addToolResult({ toolCallId: others, tool: 'where', output: 'x' }).catch(() => {})
    await until('the client is refused', () => client.getStatus() === 'error')
    if (!errors[0]?.includes('404')) throw new Error('errors ' + errors)
    client.setMessagesManually([])
  },
  async halfError(client) {
    await client.sendMessage('halfError').catch(() => {})
    if (client.getStatus() !== 'error') throw new Error('status ' + client.getStatus())
    await client.sendMessage('next')
  },
  async halfStop(client) {
    const sent = client.sendMessage('halfStop')
    await until('the call is shown', () => client.getMessages().some((m) => m.parts.some(isCall)))
    await call(url, '/api/agui/stop', { threadId: id })
    await sent.catch(() => {})
    await client.sendMessage('next')
  },
  async kill(client) {
    client.sendMessage('kill').catch(() => {})
    await ended(client)
  },
  async killTool(client) {
    client.sendMessage('killTool').catch(() => {})
    await ended(client)
  },
  async killClient(client) {
    client.sendMessage('killClient').catch(() => {})
    await ended(client)
  },
  async killApprove(client) {
    await client.sendMessage('killApprove')
    await decide(client, true)
    await ended(client)
  },
  async killDeny(client) {
    await client.sendMessage('killDeny')
    await decide(client, false)
    await ended(client)
  },
  async killTwo(client) {
    await client.sendMessage('killTwo')
    await decide(client, true)
    await ended(client)
  },
  async killWaiting(client) {
    await client.sendMessage('killWaiting')
    await at('streaming')
    const again = open()
    await decide(again, true)
    await includes(again, 'done')
    return again
  },
  async killBoth(client) {
    await client.sendMessage('killBoth')
    await at('streaming')
    const again = open()
    await decide(again, true)
    await includes(again, 'done')
    return again
  },
  async killStop(client) {
    const sent = client.sendMessage('killStop').catch(() => {})
    await killed(client, () => call(url, '/api/agui/stop', { threadId: id }))
    await sent
  },
  async killError(client) {
    const sent = client.sendMessage('killError').catch(() => {})
    await streaming(client)
    await at('streaming')
    await at('resumed')
    await sent
    if (client.getStatus() !== 'error') throw new Error('status ' + client.getStatus())
  },
  async killEdit(client) {
    await client.sendMessage('first')
    client.setMessagesManually([{ ...client.getMessages()[0], parts: [{ type: 'text', content: 'killEdit' }] }])
    client.reload().catch(() => {})
    await ended(client)
  },
  async killRegenerate(client) {
    await client.sendMessage('killRegenerate')
    client.reload().catch(() => {})
    await ended(client)
  },
  async killFile(client) {
    client.sendMessage({ content: [{ type: 'text', content: 'killFile' }, { type: 'document', source: { type: 'data', value: 'SGVsbG8=', mimeType: 'text/plain' } }] }).catch(() => {})
    await ended(client)
  },
}

// shown is what a user sees: texts, and calls with their outcomes.
const shown = (client) => {
  const out = []
  for (const m of client.getMessages()) {
    const results = new Map(m.parts.filter((p) => p.type === 'tool-result').map((p) => [p.toolCallId, p]))
    const parts = m.parts.flatMap((p) => {
      if (p.type === 'text') return [p.content.trim()]
      if (!isCall(p)) return []
      const result = results.get(p.id)
      const output = result?.content ?? p.output
      return [output === undefined ? `<${p.name} waits>` : outcome(p.name, result?.state === 'error' || /^The (user denied|answer ended)/.test(output), output.replace?.(/^"|"$/g, '') ?? JSON.stringify(output))]
    }).filter((s) => s !== '').join(' ')
    if (m.role === 'assistant' && out.at(-1)?.startsWith('assistant')) out[out.length - 1] += parts === '' ? '' : ' ' + parts
    else out.push(m.role + ': ' + parts)
  }
  return out
}

await done(async () => {
  const first = open()
  const last = await cases[name](first)
  const client = last?.getMessages ? last : first
  await ready(client)
  return { client: shown(client), stored: await stored(url, id) }
})
