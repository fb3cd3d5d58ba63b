import { screen, waitFor } from '@testing-library/react'
import type { ReactNode } from 'react'
import { describe, expect, it, vi } from 'vitest'
import { payloadHandler, registerPayloadHandler, useChatState, useClientTool, type ChatTrayProps, type ClientTool, type PayloadHandlers, type StandardSchema, type TrayComponents } from '../src'
import { answerFrames, event, frame, json } from './fakes'
import { input, live, settled, show } from './shown'

interface Order {
  id: number
}

/** A schema like zod's, which turns its input into a number and has a JSON schema. */
const order: StandardSchema<{ id: string }, Order> = {
  '~standard': {
    version: 1, vendor: 'test', types: { input: { id: '' }, output: { id: 0 } },
    validate: (value) => (typeof (value as { id?: unknown }).id === 'string' ? { value: { id: Number((value as { id: string }).id) } } : { issues: [{ message: 'no text', path: [{ key: 'id' }] }] }),
    jsonSchema: { input: () => ({ type: 'object', properties: { id: { type: 'string' } } }) },
  },
}

/** The parts that a page may replace, each by its name. */
type Part = 'Message' | 'Answer' | 'UserMessage' | 'Composer' | 'Header' | 'Empty' | 'ToolCall' | 'Code' | 'Link' | 'Image' | 'Suggestions' | 'Actions' | 'Approval'
const same: [Part, keyof TrayComponents] extends [keyof TrayComponents, Part] ? true : false = true

/** Only compiled, never run: the compiler must accept this code, and refuse the lines marked with @ts-expect-error. */
export function Types() {
  useClientTool({ name: 'a', description: 'a', schema: order, handler: ({ id }) => id.toFixed() })
  useClientTool<Order>({ name: 'a', description: 'a', input_schema: {}, handler: ({ id }) => id.toFixed() })
  // @ts-expect-error the input is unknown
  useClientTool({ name: 'a', description: 'a', input_schema: {}, handler: (given) => given.nope.deeper })
  // @ts-expect-error the schema has no such key
  useClientTool({ name: 'a', description: 'a', schema: order, handler: ({ nope }) => nope })
  registerPayloadHandler('a', { schema: order, inline: (data) => data.id.toFixed(), onAccept: (data) => void data.id.toFixed() })
  registerPayloadHandler<Order>('a', { render: (data) => data.id.toFixed() })
  registerPayloadHandler<Order>('a', { render: () => null, onAccept: (data) => fetch(`/orders/${data.id}`), onReject: async () => 'any value' })
  // @ts-expect-error the data is unknown
  registerPayloadHandler('a', { inline: (data) => data.nope.deeper })
  // @ts-expect-error the schema has no such key
  payloadHandler({ schema: order, inline: (data) => data.nope })
  const handlers: PayloadHandlers = { typed: payloadHandler({ schema: order, inline: (data) => data.id }), said: { render: (data: Order) => data.id } }
  const components: TrayComponents = {
    Answer: ({ message, busy, children }: { message: { content: string }; busy: boolean; children: ReactNode }) => <>{message.content}{busy}{children}</>, ToolCall: ({ tool, children }) => <>{tool.name}{children}</>, Approval: ({ approval, children }) => <>{approval.tool}{children}</>,
    Code: ({ language, children }) => <>{language}{children}</>, Header: ({ onNew, children }) => <><button onClick={onNew} />{children}</>,
    // @ts-expect-error there is no such part
    Nothing: () => null,
  }
  const busy: boolean = useChatState((state) => state.isLoading)
  // @ts-expect-error a title is no number
  const title: number = useChatState((state) => state.title)
  const tray: ChatTrayProps = { onApplyToDocument: (message) => fetch('/document', { method: 'POST', body: message.content }) }
  return <>{[handlers, components, busy, title, same, tray].length}</>
}

describe('a tool of the page with a schema', () => {
  const call = async (given: unknown, tool: ClientTool) => {
    const { response, send } = live('r')
    const { user, calls } = show(({ method, path }) => {
      if (path === '/api/chat/runs/r') return json({ run_id: 'r', state: 'waiting' })
      if (path.endsWith('/tool_results')) return json({ run_id: 'r' })
      return method === 'POST' ? response : undefined
    }, { components: { Header: () => <Offer tool={tool} /> } })
    await user.type(input(), 'x{Enter}')
    send([event('stream_start', { run_id: 'r', conversation_id: 7 }), frame('client_tool_call', { id: 't1', name: 'pick', input: given }, { message_id: 'M1' })])
    await waitFor(() => expect(calls.some((c) => c.path.endsWith('/tool_results'))).toBe(true))
    send(answerFrames('Done.').slice(1), true)
    await screen.findByText('Done.')
    await settled()
    return { spec: calls.find((c) => c.path.startsWith('/api/chat/stream'))!.body.client_tools, result: calls.find((c) => c.path.endsWith('/tool_results'))!.body }
  }
  function Offer({ tool }: { tool: ClientTool }) {
    useClientTool(tool)
    return null
  }

  it('says its JSON schema itself, and gets what comes out of the schema', async () => {
    const handler = vi.fn(({ id }: Order) => id + 1)
    const { spec, result } = await call({ id: '4' }, { name: 'pick', description: 'Picks.', schema: order, handler } as ClientTool)
    expect(spec).toEqual([{ name: 'pick', description: 'Picks.', input_schema: { type: 'object', properties: { id: { type: 'string' } } } }])
    expect(handler).toHaveBeenCalledWith({ id: 4 }, expect.anything())
    expect(result).toMatchObject({ tool_use_id: 't1', output: 5 })
  })

  it('is not called with what does not fit; the model reads where', async () => {
    const handler = vi.fn()
    const { result } = await call({ id: true }, { name: 'pick', description: 'Picks.', schema: order, handler } as ClientTool)
    expect(handler).not.toHaveBeenCalled()
    expect(result).toEqual({ tool_use_id: 't1', output: 'The arguments do not fit: id: no text', is_error: true })
  })
})
