import { render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { ChatProvider, ChatTray, type ChatTrayProps } from '../src'
import { fakeApi, json, type Call } from './fakes'

export type Answer = (call: Call) => Response | Promise<Response> | undefined

export function show(answer: Answer, props: Partial<ChatTrayProps> = {}, storageKey = '') {
  const { api, calls } = fakeApi(answer)
  const shown = render(<ChatProvider api={api} storageKey={storageKey}><ChatTray layout="sidebar" {...props} /></ChatProvider>)
  return { calls, user: userEvent.setup(), ...shown }
}

export const input = () => screen.getByLabelText<HTMLTextAreaElement>('Message')
export const posts = (calls: Call[]) => calls.filter((c) => c.method === 'POST' && c.path.startsWith('/api/chat/stream')).map((c) => c.body)
export const settled = () => screen.findByRole('button', { name: 'Send' })
export const message = (id: string, role: string, content: string, more: object = {}) => ({ id, conversation_id: 7, role, type: 'md', content, status: 'complete', created_at: '2026-01-01T00:00:00Z', ...more })
export const chat = (messages: object[], more: object = {}) => json({ conversation_id: 7, chat_id: 'c', title: 't', created_at: '', updated_at: '', messages, ...more })
export const busy = () => json({ detail: 'this chat is being answered', code: 'busy', status: 409 }, 409)

/** A response that continues when the test releases it. */
export function slow() {
  let go: (response: Response) => void = () => undefined
  const response = new Promise<Response>((resolve) => {
    go = resolve
  })
  return { response, go }
}

/** A gate: callers wait until it is opened. */
export function gateway() {
  let open = () => undefined as void
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open: () => open() }
}

/** A stream whose frames the test sends. */
export function live(runId: string) {
  let send: (frames: unknown[], end?: boolean) => void = () => undefined
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      send = (frames, end = false) => {
        frames.forEach((f) => controller.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(f)}\n\n`)))
        if (end) controller.close()
      }
    },
  })
  return { response: new Response(body, { headers: { 'X-Run-Id': runId } }), send: (frames: unknown[], end?: boolean) => send(frames, end) }
}
