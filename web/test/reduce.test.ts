import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { ChatResponsePayload, MessageFrame } from '../src/api/types'
import { emptyRun, reduceRun, textOf, type RunView } from '../src/state/values/run'
import { emptyState, reduce, type ChatState } from '../src/state/values/state'
import { partsOfContent, sectionsOf, waitingApproval } from '../src/state/values/view'

interface Recording {
  name: string
  message: string
  messages: MessageFrame[]
}

const recordings = readdirSync('page/recordings').map((f) => JSON.parse(readFileSync(`page/recordings/${f}`, 'utf8')) as Recording)
const recording = (name: string) => recordings.find((r) => r.name === name)!
const replay = (frames: MessageFrame[]): RunView => frames.reduce(reduceRun, emptyRun)
const plain = (s: string) => s.replace(/\[\[tool:\d+\]\]/g, '').replace(/\s+/g, ' ').trim()
const started: ChatState = reduce(emptyState, {
  type: 'send', message: { id: 'local:1', role: 'user', type: 'md', content: 'hi', status: 'complete', created_at: '' },
})
const event = (seq: number, name: string, data: object, ids: object = {}): MessageFrame => ({
  type: 'event', props: { event: name, data }, chunk_id: `C${seq}`, metadata: { timestamp: 0, sequence: seq }, ...ids,
})
const words = (seq: number, id: string, content: string, delta = true): MessageFrame => ({
  type: 'text', props: { content }, chunk_id: `C${seq}`, message_id: id, delta, metadata: { timestamp: 0, sequence: seq },
})

it.each(['cancelled', 'error'])('an answer that ended as %s has what it used, as the chat has', (status) => {
  const usage = { input_tokens: 10, output_tokens: 2, total_tokens: 12 }
  const frames = [event(1, 'stream_start', { run_id: 'r', conversation_id: 7 }), event(2, 'stream_end', { status, usage })]
  const ended = frames.reduce<ChatState>((state, frame) => reduce(state, { type: 'frame', frame }), { ...started, usage })
  expect(ended.messages.at(-1)).toMatchObject({ status, usage })
  expect(ended.usage?.total_tokens).toBe(24)
})

describe.each(recordings)('recording $name', (r) => {
  it('is folded without a refused frame and ends', () => {
    const run = replay(r.messages)
    expect(run.refused).toBe(0)
    expect(run.outcome).not.toBeNull()
    expect(run.blocks.every((b) => b.status !== '')).toBe(true)
    expect(run.threads.every((t) => t.status !== '')).toBe(true)
  })

  it('gives the kept text', () => {
    const run = replay(r.messages)
    if (run.outcome?.status === 'completed') expect(plain(textOf(run))).toBe(plain(run.outcome.payload.message))
  })

  it('shows the same live and from what is kept', () => {
    const shape = (parts: { kind: string }[]) => parts.map((p) => p.kind).filter((k) => k !== 'thinking' && k !== 'threads' && k !== 'payload') // only live
    const live = sectionsOf(replay(r.messages)).flatMap((s) => s.parts)
    const end = replay(r.messages).outcome
    if (end?.status === 'completed') expect(shape(partsOfContent(end.payload.message, end.payload.tool_history))).toEqual(shape(live))
  })

  it('does not depend on duplicates, and a cut loses nothing', () => {
    const whole = replay(r.messages)
    const cut = Math.floor(r.messages.length / 2)
    expect(replay([...r.messages.slice(0, cut), ...r.messages.slice(Math.max(0, cut - 20))])).toEqual(whole)
  })
})

describe('a run', () => {
  it('shows tools while they run and when they are done', () => {
    const frames = recording('tools').messages
    const at = frames.findIndex((f) => f.type === 'tool_call' && f.props?.index === 0)
    const running = replay(frames.slice(0, at + 1))
    expect(running.status).toEqual({ message: 'Running search_articles...', code: 'running_tool', tool: 'search_articles' })
    expect(running.active?.toolName).toBe('search_articles')
    const tools = sectionsOf(running).flatMap((s) => s.parts).filter((p) => p.kind === 'tool')
    expect(tools.map((p) => p.tool.status)).toEqual(['running', 'preparing'])
    const done = sectionsOf(replay(frames)).flatMap((s) => s.parts).filter((p) => p.kind === 'tool')
    expect(done.map((p) => [p.tool.name, p.tool.index, p.tool.status])).toEqual([['search_articles', 0, 'completed'], ['list_reports', 1, 'completed']])
    expect(done[0]!.tool.output).toContain('mercury')
  })

  it('joins the messages of the state at its end', () => {
    const state = recording('proposal').messages.reduce((s, frame) => reduce(s, { type: 'frame', frame }), started)
    expect(state.isLoading).toBe(false)
    expect(state.run).toBeNull()
    expect(state.messages.map((m) => m.role)).toEqual(['user', 'assistant'])
    expect(state.messages[0]!.id).not.toMatch(/^local:/)
    expect(state.messages[1]!.custom_payload?.type).toBe('stream_details')
    expect(state.messages[1]!.payloads?.map((p) => p.type)).toContain('schema_proposal')
    expect(state.conversationId).toBeGreaterThan(0)
  })

  it('keeps the partial answer of a failure and says what failed', () => {
    const state = recording('broken').messages.reduce((s, frame) => reduce(s, { type: 'frame', frame }), started)
    expect(state.error).toMatchObject({ code: 'upstream_truncated', retryable: true })
    expect(state.messages.at(-1)).toMatchObject({ status: 'error' })
    expect(state.messages.at(-1)!.content).toContain('begins well enough')
  })

  it('continues after a recovery with the kept text', () => {
    const before = [
      event(1, 'stream_start', { run_id: 'r', conversation_id: 7 }), event(2, 'block_start', { block_id: 'B1', type: 'llm' }),
      words(3, 'M1', 'Kept.'), event(4, 'message_end', { message_id: 'M1', status: 'completed' }), words(5, 'M2', 'Lost half'),
    ]
    const attempt = event(1_000_001, 'attempt', { attempt: 2, kept_through: 4 })
    const same = replay([...before, attempt, words(1_000_002, 'M3', 'Kept.', false), words(1_000_003, 'M4', 'More.')])
    expect(textOf(same)).toBe('Kept.\n\nMore.')
    expect(same.attempt).toBe(2)
    expect(same.rewritten).toBeUndefined()
    expect(same.fold.messages.map((m) => m.id)).toEqual(['M1', 'M4'])
    const other = replay([...before, attempt, words(1_000_002, 'M3', 'Another text', false), words(1_000_003, 'M3', ' goes on.')])
    expect(textOf(other)).toBe('Another text goes on.')
    expect(other.rewritten).toBe(true)
    expect(other.refused).toBe(0)
  })

  it('asks once for a call that a recovery shows again', () => {
    const asks = (seq: number, id: string, props: object = {}): MessageFrame => ({
      type: 'approval', props: { id: 'call_1', name: 'book', approval_id: 'A1', input: {}, ...props }, chunk_id: `C${seq}`, message_id: id, block_id: 'B1',
      metadata: { timestamp: 0, sequence: seq },
    })
    const frames = [
      event(1, 'block_start', { block_id: 'B1', type: 'tool' }), asks(2, 'M1'), { ...words(3, 'M2', 'found', false), props: { content: 'found', tool_use_id: 'call_2' }, block_id: 'B1' },
      event(1_000_001, 'attempt', { attempt: 2, kept_through: 3 }), event(1_000_002, 'message_end', { message_id: 'M1', status: 'partial' }), asks(1_000_003, 'M3'),
    ]
    const waiting = replay(frames)
    expect(sectionsOf(waiting).flatMap((s) => s.parts).filter((p) => p.kind === 'approval').map((p) => p.key)).toEqual(['approval:call_1'])
    expect(waitingApproval(waiting)?.id).toBe('A1')
    const granted = replay([...frames, { ...asks(1_000_004, 'M3', { approved: true }), delta: true }, event(1_000_005, 'message_end', { message_id: 'M3', status: 'completed' })])
    expect(waitingApproval(granted)).toBeUndefined()
  })

  it('shows parallel threads side by side', () => {
    const run = replay([
      event(1, 'block_start', { block_id: 'B1', type: 'tool' }), event(2, 'thread_start', { thread_id: 'T1', label: 'Weather' }, { thread_id: 'T1' }),
      { ...words(3, 'M1', 'Sunny'), block_id: 'B1', thread_id: 'T1' }, { ...words(4, 'M2', 'News'), block_id: 'B1', thread_id: 'T2' },
      { ...words(5, 'M1', ', 25°C'), block_id: 'B1', thread_id: 'T1' },
    ])
    const [part] = sectionsOf(run)[0]!.parts
    expect(part).toMatchObject({ kind: 'threads', threads: [{ label: 'Weather', parts: [{ text: 'Sunny, 25°C' }] }, { label: 'T2' }] })
  })

  it('counts refused frames and continues', () => {
    const run = replay([words(1, 'M1', 'a'), { ...words(2, 'M1', 'b'), type: 'thinking' }, words(3, 'M1', 'c')])
    expect(run.refused).toBe(1)
    expect(textOf(run)).toBe('ac')
  })
})

describe('the state', () => {
  it('drops an edited message and all after it', () => {
    const at = (id: string, role: 'user' | 'assistant') => ({ id, role, type: 'md', content: id, status: 'complete' as const, created_at: '' })
    const state = { ...emptyState, messages: [at('q1', 'user'), at('a1', 'assistant'), at('q2', 'user'), at('a2', 'assistant')] }
    const ids = (s: ChatState) => s.messages.map((m) => m.id)
    expect(ids(reduce(state, { type: 'send', message: at('new', 'user'), replaces: 'q2' }))).toEqual(['q1', 'a1', 'new'])
    expect(ids(reduce(state, { type: 'send', message: null, replaces: 'a2' }))).toEqual(['q1', 'a1', 'q2'])
  })

  it('keeps decisions and ratings', () => {
    const payload = { payload_id: 'p1', type: 'x', data: {} }
    const state = { ...emptyState, messages: [{ id: 'a', role: 'assistant' as const, type: 'md', content: '', status: 'complete' as const, created_at: '', payloads: [payload], custom_payload: payload }] }
    const done = reduce(reduce(state, { type: 'resolved', payloadId: 'p1', outcome: 'accepted' }), { type: 'message', messageId: 'a', set: { feedback: { rating: 'up' } } })
    expect(done.messages[0]).toMatchObject({ payloads: [{ outcome: 'accepted' }], custom_payload: { outcome: 'accepted' }, feedback: { rating: 'up' } })
  })
})

it('shows each marker once, and drops those without a call', () => {
  const history: ChatResponsePayload['tool_history'] = [{ tool_name: 't', input: {}, output: 'o', is_error: false, duration_ms: 1 }]
  const parts = partsOfContent('a [[tool:0]] b [[tool:0]] c [[tool:9]] d', history)
  expect(parts.map((p) => (p.kind === 'text' ? p.text.trim() : p.kind))).toEqual(['a', 'tool', 'b', 'c', 'd'])
})

describe('a block of tools', () => {
  const framesOf = (name: string): MessageFrame[] =>
    readFileSync(`../app/transcripts/testdata/transcripts/${name}.txtar`, 'utf8').split('\n').filter((l) => l.startsWith('data: ')).map((l) => JSON.parse(l.slice(6)) as MessageFrame)

  it('holds the status line, the call and the result between two blocks of the model', () => {
    const run = replay(framesOf('messages_4_sequence'))
    expect(run.refused).toBe(0)
    expect(run.blocks.map((b) => b.type)).toEqual(['llm', 'mcp', 'llm'])
    expect(run.fold.messages.map((m) => `${m.block} ${m.type} ${m.status}`)).toEqual([
      'B1 text completed', 'B1 tool_call completed', 'B2 loading completed', 'B2 tool_call completed', 'B2 text completed', 'B3 text completed',
    ])
    const parts = sectionsOf(run).flatMap((s) => s.parts)
    expect(parts.map((p) => (p.kind === 'text' ? p.text : p.kind === 'tool' ? `${p.tool.status}: ${p.tool.output}` : p.kind))).toEqual(['I ask the weather server.', 'completed: Sunny.', 'Sunny it is.'])
    expect(textOf(run)).toBe('I ask the weather server.\n\nSunny it is.')
  })

  it('says what is happening while it happens', () => {
    const lines: string[] = []
    framesOf('messages_4_sequence').reduce((run, frame) => {
      const next = reduceRun(run, frame)
      if (next.status?.message !== run.status?.message) lines.push(next.status?.message ?? '')
      return next
    }, emptyRun)
    expect(lines).toEqual(['Thinking...', '', 'Running weather__today...', '', 'Thinking...', ''])
  })

  it('has a block for a call of a server beside other calls', () => {
    const run = replay(framesOf('messages_4_mixed'))
    expect(run.refused).toBe(0)
    expect(run.blocks.map((b) => `${b.thread} ${b.type}`.trim())).toEqual(['llm', 'tool', 'T1 mcp', 'T3 mcp', 'llm', 'mcp', 'llm'])
    expect(sectionsOf(run).flatMap((s) => s.parts).map((p) => (p.kind === 'tool' ? `${p.tool.name} ${p.tool.output}` : p.kind))).toEqual([
      'weather__today Sunny.', 'count Counted to 1.', 'weather__today Sunny.', 'weather__today Sunny.', 'weather__today Sunny.', 'text',
    ])
  })

  it('of a specification’s sample is folded as it is written there', () => {
    const chunk = (n: number, message: string, block: string, type: string, props: object) => ({ chunk_id: `C${n}`, message_id: message, block_id: block, type, props }) as unknown as MessageFrame
    const run = replay([
      chunk(1, 'M1', 'B1', 'text', { content: 'I ask' }), chunk(2, 'M1', 'B1', 'text', { content: ' it.' }),
      chunk(3, 'M2', 'B2', 'loading', { message: 'Calling' }), chunk(4, 'M3', 'B2', 'text', { content: 'Sunny' }),
      chunk(5, 'M4', 'B3', 'text', { content: 'It is' }), chunk(6, 'M4', 'B3', 'text', { content: ' sunny.' }),
    ])
    expect(sectionsOf(run).map((s) => [s.key, s.parts.map((p) => p.kind === 'text' && p.text)])).toEqual([['B1', ['I ask it.']], ['B2', ['Sunny']], ['B3', ['It is sunny.']]])
  })
})
