import { expect, it } from 'vitest'
import { ChatStore, emptyRun, reduceRun, sectionsOf, type GeneralChatMessage } from '../src'
import { answerFrames, event, fakeApi, frame, json, sse } from './fakes'

const kept = (id: string, run: string, more: object = {}) => ({ id, conversation_id: 7, role: 'assistant', type: 'md', content: 'Forty-two.', status: 'complete', created_at: '', run_id: run, ...more })
const thought = () => {
  const frames = answerFrames('Forty-two.')
  return [...frames.slice(0, 2), frame('thinking', { content: 'A number.' }, { message_id: 'M0', block_id: 'B1', delta: true }), event('message_end', { message_id: 'M0', status: 'completed' }), ...frames.slice(2).map((f, i) => ({ ...f, chunk_id: `C${900_000 + i}` }))]
}

/** Asks for the reasoning of one more answer, which is read last, and waits until it is read. */
async function readAll(store: ChatStore, begun: () => boolean) {
  store.recall(kept('m-last', 'last') as unknown as GeneralChatMessage)
  await expect.poll(begun).toBe(true)
}

/** A store whose chat has an answer of each of these runs. */
async function opened(runs: Record<string, unknown[] | null>, more: object = {}) {
  const messages = Object.keys(runs).map((run) => kept(`m-${run}`, run, more))
  const { api, calls } = fakeApi(({ path }) => {
    const run = /runs\/([^/]+)\/stream/.exec(path)?.[1]
    if (run) return runs[run] ? sse(runs[run]!) : json({ detail: 'there is nothing under this id', code: 'not_found' }, 404)
    return path.startsWith('/api/chats/7') ? json({ conversation_id: 7, chat_id: 'c', title: 't', messages }) : undefined
  })
  const store = new ChatStore({ api })
  await store.open(7)
  for (const message of store.getSnapshot().messages) {
    store.recall(message)
    store.recall(message)
  }
  await readAll(store, () => calls.some((c) => c.path.includes('/last/stream')))
  expect(calls.filter((c) => c.path.includes('/stream'))).toHaveLength(messages.length + 1)
  return { store, calls, views: () => store.getSnapshot().messages.map((m) => m.view?.fold.messages.map((f) => f.type)) }
}

it('gives loaded answers their reasoning back, and leaves those that have none as they are', async () => {
  const { views } = await opened({ gone: null, plain: answerFrames('Forty-two.'), thought: thought() })
  await expect.poll(views).toEqual([undefined, undefined, ['thinking', 'text']])
})

it('reads an answer without tools only up to its text', async () => {
  let pulled = 0
  const long = function* () {
    yield* answerFrames('x').slice(0, 3)
    for (let i = 0; i < 10_000; i++) yield frame('text', { content: 'x' }, { message_id: 'M1', delta: true })
  }
  const frames = long()
  const { api } = fakeApi(({ path }) => (path.startsWith('/api/chats/7') ? json({ conversation_id: 7, chat_id: 'c', title: 't', messages: [kept('m', 'r')] }) : undefined))
  let last = false
  api.followRun = async function* (run) {
    last = run === 'last'
    if (!last) for (const data of frames) {
      pulled++
      yield { id: '', data }
    }
  }
  const store = new ChatStore({ api })
  await store.open(7)
  store.recall(store.getSnapshot().messages[0]!)
  await readAll(store, () => last)
  expect(pulled).toBe(3)
})

it('stops reading when another chat is opened', async () => {
  const { api, calls } = fakeApi(({ path }) => (path.startsWith('/api/chats/7') ? json({ conversation_id: 7, chat_id: 'c', title: 't', messages: [kept('m', 'r')] }) : undefined))
  const store = new ChatStore({ api })
  await store.open(7)
  const [message] = store.getSnapshot().messages
  store.recall(message!)
  store.newChat()
  const streams = () => calls.map((c) => c.path).filter((path) => path.includes('/stream'))
  await readAll(store, () => streams().length > 0)
  expect(streams()).toEqual([expect.stringContaining('/last/')])
})

it('lays threads with blocks of their own out side by side, in the block they were opened in', () => {
  const inside = (thread: string, block: string) => [
    event('block_start', { block_id: block, type: 'llm' }, { block_id: block, thread_id: thread }), frame('text', { content: `of ${block}` }, { message_id: `M${block}`, block_id: block, thread_id: thread, delta: true }),
  ]
  const open = (thread: string) => event('thread_start', { thread_id: thread, label: thread }, { block_id: 'B1', thread_id: thread })
  const frames = [event('block_start', { block_id: 'B1', type: 'tool' }), open('T1'), open('T2'), ...inside('T1', 'B2'), ...inside('T2', 'B3'), ...inside('T1', 'B4')]
  const sections = sectionsOf(frames.reduce(reduceRun, emptyRun))
  expect(sections.map((s) => s.parts.map((p) => p.kind))).toEqual([['threads']])
  const [part] = sections[0]!.parts
  expect(part?.kind === 'threads' && part.threads.map((t) => t.parts.map((p) => p.kind === 'text' && p.text))).toEqual([['of B2', 'of B4'], ['of B3']])
})
