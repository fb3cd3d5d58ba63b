// A case with an unmodified client of the AI SDK; host.mjs runs it.
import { at, current, done, until } from './common.mjs'

const { client: version, url, name } = current
const ai = await import('ai' + version)

// State is the state that useChat keeps in React.
class State {
  status = 'ready'
  error = undefined
  messages = []
  pushMessage = (m) => { this.messages = [...this.messages, m] }
  popMessage = () => { this.messages = this.messages.slice(0, -1) }
  replaceMessage = (i, m) => { this.messages = this.messages.map((old, n) => (n === i ? structuredClone(m) : old)) }
  snapshot = (v) => structuredClone(v)
}
class Chat extends ai.AbstractChat {
  constructor(init) { super({ ...init, state: new State() }) }
}

const id = `${name}-${version}`
let cut = () => {}
let posts = 0
const cuttable = async (input, init) => {
  if (init?.method === 'POST') posts++
  const aborter = new AbortController()
  const response = await fetch(input, init)
  const reader = response.body?.getReader()
  if (!reader) return response
  const body = new ReadableStream({
    start(controller) {
      cut = () => { reader.cancel().catch(() => {}); controller.error(new TypeError('network error')) }
      aborter.signal.addEventListener('abort', cut)
      const pump = () => reader.read().then(({ done, value }) => {
        if (done) return controller.close()
        controller.enqueue(value)
        return pump()
      }).catch((e) => { try { controller.error(e) } catch { /* it was cut */ } })
      pump()
    },
  })
  return new Response(body, { status: response.status, headers: response.headers })
}

const asked = [] // calls of the page's tools
const errors = []
const approvals = [] // for version 5, which has none
const open = (messages = [], byItself = true) => {
  const chat = new Chat({
    id,
    messages,
    transport: new ai.DefaultChatTransport({
      api: url + '/api/ui',
      fetch: cuttable,
      body: { ai: Number(version), context: { current_page: 'lab' }, client_tools: [{ name: 'where' }] },
      prepareReconnectToStreamRequest: ({ id }) => ({ api: `${url}/api/ui/${id}/stream?ai=${version}` }),
    }),
    sendAutomaticallyWhen: (o) => byItself &&
      (ai.lastAssistantMessageIsCompleteWithToolCalls(o) || (ai.lastAssistantMessageIsCompleteWithApprovalResponses?.(o) ?? false)),
    onToolCall: ({ toolCall }) => { asked.push(toolCall.toolCallId) },
    onData: (part) => { if (part.type === 'data-approval') approvals.push(part.data) },
    onError: (e) => { errors.push(e.message) },
  })
  chat.messages = messages
  return chat
}

const isTool = (p) => p.type.startsWith('tool-') || p.type === 'dynamic-tool'
const toolParts = (chat) => chat.messages.flatMap((m) => m.parts.filter(isTool))
const text = (chat) => chat.messages.at(-1)?.parts.filter((p) => p.type === 'text').map((p) => p.text).join('') ?? ''
const streaming = (chat) => until('the answer streams', () => chat.lastMessage?.role === 'assistant' && text(chat).split(' ').length > 3)
const ready = (chat) => until('the client is ready', () => chat.status === 'ready' || chat.status === 'error')
const call = async (path, body) => {
  const r = await fetch(url + path, body === undefined ? {} : { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  return r.status === 204 ? null : r.json()
}
const load = async () => (await call(`/api/ui/${id}/messages`)).messages

// decide approves or denies the calls that wait for the user.
const decide = async (chat, approved) => {
  if (chat.addToolApprovalResponse) {
    for (const p of toolParts(chat).filter((p) => p.state === 'approval-requested')) await chat.addToolApprovalResponse({ id: p.approval.id, approved })
    await until('the decisions are sent', () => chat.status !== 'ready' || !toolParts(chat).some((p) => p.state.startsWith('approval')))
  } else {
    for (const a of approvals.splice(0)) await call(`/api/chat/runs/${a.run_id}/approvals/${a.approval_id}`, { approved })
    await resumed(chat)
  }
  await ready(chat)
}

// resumed follows the current run. Version 5 keeps the received part of a message
// whose connection broke, so it first loads the stored messages.
const resumed = async (chat, point) => {
  const again = version === '5' ? open(await load()) : chat
  const follows = again.resumeStream()
  if (point) {
    await until('the answer streams again', () => again.status === 'streaming' && text(again).includes('one two three'))
    await (typeof point === 'function' ? point() : at(point))
  }
  await follows
  if (again.lastMessage?.role !== 'assistant') again.messages = await load() // the run had ended
  if (again !== chat) chat.messages = again.messages
  await ready(again)
}
const place = async (chat, output) => {
  const waiting = toolParts(chat).find((p) => p.type === 'tool-where' && p.state === 'input-available')
  await chat.addToolOutput({ tool: 'where', toolCallId: waiting.toolCallId, output })
}
// placed is place for a call beside one that the user decides about. The client sends the
// output by itself, and only once: the answer ends where the decision is waited for.
const placed = async (chat, output) => {
  await place(chat, output)
  await until('the output is sent', () => posts === 2 && chat.status === 'ready')
}

const cases = {
  async text(chat) { await chat.sendMessage({ text: 'text' }) },
  async tool(chat) { await chat.sendMessage({ text: 'tool' }) },
  async client(chat) {
    await chat.sendMessage({ text: 'client' })
    await place(chat, 'Basel')
    await until('the answer continues', () => text(chat).includes('done'))
  },
  async approve(chat) {
    await chat.sendMessage({ text: 'approve' })
    await decide(chat, true)
  },
  async deny(chat) {
    await chat.sendMessage({ text: 'deny' })
    await decide(chat, false)
  },
  async two(chat) {
    await chat.sendMessage({ text: 'two' })
    await placed(chat, 'Basel')
    await decide(chat, true)
    await until('the answer continues', () => text(chat).includes('done'))
    if (posts !== (version === '5' ? 2 : 3)) throw new Error(`${posts} requests`)
  },
  async reload(chat) {
    chat.sendMessage({ text: 'reload' }).catch(() => {})
    await streaming(chat)
    const again = open(await load())
    const follows = again.resumeStream()
    await streaming(again)
    await at('streaming')
    await follows
    return again
  },
  async reloadTool(chat) {
    await chat.sendMessage({ text: 'reloadTool' })
    await place(chat, 'Basel')
    await until('the answer continues', () => text(chat).includes('one two three'))
    asked.length = 0
    const again = open(await load())
    const follows = again.resumeStream()
    await until('the answer streams again', () => text(again).includes('one two three'))
    await at('streaming')
    await follows
    if (asked.length > 0) throw new Error('the tool of the page was asked for again')
    return again
  },
  // tabs answers a call on two pages: the second shows what the first has answered.
  async tabs(chat) {
    await chat.sendMessage({ text: 'tabs' })
    const other = open(await load())
    await other.resumeStream()
    await place(chat, 'Basel')
    await until('the answer continues', () => text(chat).includes('done'))
    await place(other, 'Rome')
    await until('the answer continues on the other page', () => text(other).includes('done'))
    return other
  },
  // later is a page that sends the output of its tool with the user's next message.
  async later() {
    const chat = open([], false)
    await chat.sendMessage({ text: 'later' })
    await place(chat, 'Basel')
    await chat.sendMessage({ text: 'next' })
    if (text(chat) !== 'fine' || posts !== 2) throw new Error(`${text(chat)}, ${posts} requests`)
    return open(await load())
  },
  async cut(chat) {
    chat.sendMessage({ text: 'cut' }).catch(() => {})
    await streaming(chat)
    cut()
    await until('the client sees it', () => chat.status === 'error')
    await resumed(chat, 'resumed')
  },
  async kill(chat) {
    chat.sendMessage({ text: 'kill' }).catch(() => {})
    await streaming(chat)
    await at('streaming')
    await until('the client sees it', () => chat.status === 'error')
    await resumed(chat, 'resumed')
  },
  async stop(chat) {
    const sent = chat.sendMessage({ text: 'stop' })
    await streaming(chat)
    if (!(await call(`/api/ui/${id}/stop`, {})).stopped) throw new Error('nothing was stopped')
    await sent
    await at('stopped')
  },
  async error(chat) {
    await chat.sendMessage({ text: 'error' })
    if (chat.status !== 'error' || errors.length !== 1) throw new Error(`status ${chat.status}, errors ${errors}`)
  },
  async turns(chat) {
    await chat.sendMessage({ text: 'first' })
    await chat.sendMessage({ text: 'second', files: [{ type: 'file', mediaType: 'text/plain', filename: 'a.txt', url: 'data:text/plain;base64,SGVsbG8=' }] })
    await chat.regenerate()
    await chat.sendMessage({ text: 'third', messageId: chat.messages[2].id })
    await chat.sendMessage({ text: 'fourth' })
  },
  async bad(chat) {
    await chat.sendMessage({ parts: [{ type: 'file', mediaType: 'image/png', url: 'https://example.org/a.png' }] })
    if (chat.status !== 'error' || !errors[0]?.includes('data: URL')) throw new Error(`status ${chat.status}, errors ${errors}`)
    chat.messages = []
  },
  async foreign(chat) {
    chat.messages = [
      { id: 'u', role: 'user', parts: [{ type: 'text', text: 'x' }] },
      { id: 'a', role: 'assistant', parts: [{ type: 'tool-where', toolCallId: current.run + '-0', state: 'output-available', input: {}, output: 'x' }] },
    ]
    await chat.sendMessage()
    await until('the client is refused', () => chat.status === 'error')
    if (!errors[0]?.includes('there is nothing')) throw new Error(`errors ${errors}`)
    chat.messages = []
  },
}

// asksNext asks the next question after an answer that broke off in a call of the page's tool.
const asksNext = async (chat, status) => {
  if (chat.status !== status || asked.length > 0) throw new Error(`status ${chat.status}, ${asked.length} calls`)
  await chat.sendMessage({ text: 'next' })
}
Object.assign(cases, {
  async halfError(chat) {
    await chat.sendMessage({ text: 'halfError' })
    await asksNext(chat, 'error')
  },
  async halfStop(chat) {
    const sent = chat.sendMessage({ text: 'halfStop' })
    await until('the call is shown', () => toolParts(chat).length > 0)
    await call(`/api/ui/${id}/stop`, {})
    await sent
    await asksNext(chat, 'ready')
  },
})

// killed follows an answer again after the program was killed while it wrote it.
const killed = async (chat, then = 'resumed') => {
  await until('the answer streams', () => text(chat).includes('one two three'))
  await at('streaming')
  await until('the client sees it', () => chat.status === 'error')
  await resumed(chat, then)
}
// decided decides without waiting for the answer, and returns the chat that shows it.
const decided = async (chat, approved) => {
  if (chat.addToolApprovalResponse) {
    for (const p of toolParts(chat).filter((p) => p.state === 'approval-requested')) chat.addToolApprovalResponse({ id: p.approval.id, approved }).catch(() => {})
    return chat
  }
  for (const a of approvals.splice(0)) await call(`/api/chat/runs/${a.run_id}/approvals/${a.approval_id}`, { approved })
  const again = open(await load())
  again.resumeStream().catch(() => {})
  return again
}
const file = { type: 'file', mediaType: 'text/plain', filename: 'a.txt', url: 'data:text/plain;base64,SGVsbG8=' }
const send = (chat, message) => { chat.sendMessage(message).catch(() => {}) }
Object.assign(cases, {
  async killTool(chat) { send(chat, { text: 'killTool' }); await killed(chat) },
  async killFile(chat) { send(chat, { text: 'killFile', files: [file] }); await killed(chat) },
  async killClient(chat) {
    await chat.sendMessage({ text: 'killClient' })
    place(chat, 'Basel').catch(() => {})
    await killed(chat)
  },
  async killApprove(chat) {
    await chat.sendMessage({ text: 'killApprove' })
    const again = await decided(chat, true)
    await killed(again)
    return again
  },
  async killDeny(chat) {
    await chat.sendMessage({ text: 'killDeny' })
    const again = await decided(chat, false)
    await killed(again)
    return again
  },
  async killTwo(chat) {
    await chat.sendMessage({ text: 'killTwo' })
    await placed(chat, 'Basel')
    const again = await decided(chat, true)
    await killed(again)
    return again
  },
  async killWaiting(chat) {
    await chat.sendMessage({ text: 'killWaiting' })
    await at('streaming')
    await decide(chat, true)
    await until('the answer continues', () => text(chat).includes('done'))
  },
  async killBoth(chat) {
    await chat.sendMessage({ text: 'killBoth' })
    await at('streaming')
    const again = open(await load())
    await again.resumeStream()
    await place(again, 'Basel')
    await until('the output is sent', () => posts === 2 && again.status === 'ready')
    await decide(again, true)
    await until('the answer continues', () => text(again).includes('done'))
    return again
  },
  async killEdit(chat) {
    await chat.sendMessage({ text: 'first' })
    send(chat, { text: 'killEdit', messageId: chat.messages[0].id })
    await killed(chat)
  },
  async killRegenerate(chat) {
    await chat.sendMessage({ text: 'killRegenerate' })
    chat.regenerate().catch(() => {})
    await killed(chat)
  },
  async killStop(chat) {
    send(chat, { text: 'killStop' })
    await killed(chat, () => call(`/api/ui/${id}/stop`, {}))
  },
  async killError(chat) {
    send(chat, { text: 'killError' })
    await until('the answer streams', () => text(chat).includes('one two three'))
    await at('streaming')
    await until('the client sees it', () => chat.status === 'error')
    errors.length = 0
    const again = version === '5' ? open(await load()) : chat
    const resumed = again.resumeStream()
    await at('resumed')
    await resumed
    chat.messages = await load() // an answer without text
  },
})

// shown is what a user sees: texts, and calls with their outcomes.
const shown = (messages) => messages.map((m) => m.role + ': ' + m.parts.flatMap((p) => {
  if (p.type === 'text') return [p.text.trim()]
  if (!isTool(p)) return []
  const tool = p.type === 'dynamic-tool' ? p.toolName : p.type.slice(5)
  const failed = p.state === 'output-error' || p.state === 'output-denied'
  return [`<${tool} ${failed ? 'failed' : p.state === 'output-available' ? p.output : p.state}>`]
}).filter((s) => s !== '').join(' '))

await done(async () => {
  const first = open()
  const chat = (await cases[name](first)) ?? first
  await ready(chat)
  return { client: shown(chat.messages), stored: shown(await load()) }
})
