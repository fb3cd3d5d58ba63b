import { expect } from 'vitest'
import { createChatApi, type ChatApi, type MessageFrame } from '../src'

/** A response of the service as events. */
export function sse(frames: unknown[], from = 1): Response {
  const text = frames.map((frame, i) => `id: ${from + i}\ndata: ${JSON.stringify(frame)}\n\n`).join('')
  return new Response(text, { headers: { 'Content-Type': 'text/event-stream', 'X-Run-Id': 'run-1' } })
}

export const json = (body: unknown, status = 200): Response => new Response(JSON.stringify(body), { status, headers: { 'Content-Type': 'application/json' } })

/** A file that begins as PNG images do. */
export const png = (name: string, more = 0): File => new File([new Uint8Array([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10]), new Uint8Array(more)], name, { type: 'image/png' })

export interface Call {
  method: string
  path: string
  headers: Record<string, string>
  body: any
}

/** A client whose service is a function; every call is recorded. A response that another call has is an error of the test: it cannot be read again. */
export function fakeApi(answer: (call: Call, signal?: AbortSignal | null) => Response | Promise<Response> | undefined): { api: ChatApi; calls: Call[] } {
  const calls: Call[] = []
  const api = createChatApi({
    fetch: async (url, init) => {
      const call = { method: init?.method ?? 'GET', path: String(url), headers: init?.headers as Record<string, string>, body: init?.body ? JSON.parse(String(init.body)) : undefined }
      calls.push(call)
      const given = await answer(call, init?.signal)
      if (given?.bodyUsed || given?.body?.locked) queueMicrotask(() => expect.unreachable(`${call.method} ${call.path} has the response of another call`))
      if (!given && call.path === '/api/me') return json({ user_id: 'u', name: 'u', roles: [] })
      if (!given && call.method === 'GET' && /^\/api\/chats\/\d+\/payloads\/[^/]+$/.test(call.path)) return json({})
      return given ?? json({ detail: 'there is nothing here', code: 'not_found', status: 404 }, 404)
    },
  })
  return { api, calls }
}

let sequence = 0
export const frame = (type: string, props: object, more: object = {}): MessageFrame => {
  sequence++
  return { type, props: props as MessageFrame['props'], chunk_id: `C${sequence}`, metadata: { timestamp: 0, sequence }, ...more }
}
export const event = (name: string, data: object, more: object = {}): MessageFrame => frame('event', { event: name, data }, more)

/** The frames of a call that runs, and of its end: the end of its message, and its result. */
export const runs = (id: string, name: string, input: object, more: object = {}, ids: object = {}): MessageFrame =>
  frame('tool_call', { id, name, arguments: JSON.stringify(input), index: 0, progress: 0, ...more }, { message_id: `run:${id}`, ...ids })
export const gave = (id: string, content: string, more: object = {}, ids: object = {}): MessageFrame[] => [
  event('message_end', { message_id: `run:${id}`, status: 'is_error' in more ? 'error' : 'completed' }, ids),
  frame('text', { content, tool_use_id: id, is_error: false, ...more }, { message_id: `gave:${id}`, ...ids }),
]

let answered = 0

/** The frames of a plain answer. */
export function answerFrames(text: string, payload: object = {}): MessageFrame[] {
  return [
    event('stream_start', { run_id: `run-${answered + 1}`, conversation_id: 7, chat_id: 'c', user_message_id: `q${++answered}` }),
    event('block_start', { block_id: 'B1', type: 'llm' }),
    frame('text', { content: text }, { message_id: 'M1', block_id: 'B1', delta: true }),
    event('message_end', { message_id: 'M1', status: 'completed' }),
    event('block_end', { block_id: 'B1', status: 'completed' }),
    event('stream_end', {
      status: 'completed', payload: { message: text, conversation_id: 7, message_id: `a${answered}`, run_id: `run-${answered}`, stop_reason: 'end_turn', usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 }, ...payload },
    }),
  ]
}
