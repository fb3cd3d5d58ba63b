import { screen, waitFor } from '@testing-library/react'
import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { payloadHandler, registerPayloadHandler, useClientTool, type OutputOf } from '../src'
import { answerFrames, event, frame, json, sse } from './fakes'
import { input, live, settled, show } from './shown'

const zodRows = z.object({ rows: z.array(z.string()), limit: z.coerce.number().default(3) })
const valibotRows = v.object({ rows: v.array(v.string()), limit: v.optional(v.pipe(v.string(), v.transform(Number)), '3') })

/** Compiles only if two types are equal. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const proof = <T extends true>(value: T) => value
proof<Same<OutputOf<typeof zodRows>, { rows: string[]; limit: number }>>(true)
proof<Same<OutputOf<typeof valibotRows>, { rows: string[]; limit: number }>>(true)

/** Only compiled, never run: the types come from the schemas of both libraries, and code that does not fit them is refused. */
export function Types() {
  useClientTool({ name: 'a', description: 'a', schema: zodRows, handler: ({ rows, limit }) => rows.slice(0, limit).map((row) => row.trim()) })
  useClientTool({ name: 'a', description: 'a', schema: valibotRows, input_schema: {}, handler: ({ rows, limit }) => rows.slice(0, limit.valueOf()) })
  // @ts-expect-error the schema of zod has no such key
  useClientTool({ name: 'a', description: 'a', schema: zodRows, handler: ({ nope }) => nope })
  // @ts-expect-error the schema of valibot has no such key
  useClientTool({ name: 'a', description: 'a', schema: valibotRows, handler: ({ nope }) => nope })
  registerPayloadHandler('a', { schema: zodRows, inline: (data) => data.rows.join(), onAccept: (data) => void data.limit.toFixed() })
  registerPayloadHandler('a', { schema: valibotRows, inline: (data) => data.rows.join(), onAccept: (data) => void data.limit.toFixed() })
  // @ts-expect-error the limit is a number once it is checked
  registerPayloadHandler('a', { schema: zodRows, inline: (data) => data.limit.trim() })
  // @ts-expect-error the limit is a number once it is checked
  return payloadHandler({ schema: valibotRows, render: (data) => data.limit.trim() })
}

describe.each([['zod', zodRows], ['valibot', valibotRows]] as const)('a schema of %s', (name, schema) => {
  it('checks what a payload brings, and gives the handler what comes out', async () => {
    const handlers = { rows: payloadHandler({ schema: schema as typeof zodRows, inline: (data) => <p>{data.rows.slice(0, data.limit).join(' and ')}</p> }) }
    const of = (id: string, data: unknown) => ({ type: 'rows', payload_id: id, source: 'tool', summary: id, data })
    show(({ method }) => (method === 'POST' ? sse(answerFrames('Here.', { payloads: [of('good', { rows: ['one', 'two', 'three'], limit: '2' }), of('bad', { rows: [1] })] })) : undefined), { payloadHandlers: handlers })
      .user.type(input(), 'x{Enter}')
    await screen.findByText('one and two')
    await settled()
    expect(screen.getByText(/"rows"/).textContent).toContain('1')
  })

  it('checks the arguments of a tool of the page, and tells the service their JSON Schema where it can', async () => {
    const given: unknown[] = []
    const Header = () => {
      useClientTool({ name: 'rows', description: 'Rows.', schema: schema as typeof zodRows, handler: (args) => given.push(args) })
      return null
    }
    const { response, send } = live('r')
    const { user, calls } = show(({ method, path }) => {
      if (path === '/api/chat/runs/r') return json({ run_id: 'r', state: 'waiting' })
      if (path.endsWith('/tool_results')) return json({ run_id: 'r' })
      return method === 'POST' ? response : undefined
    }, { components: { Header } })
    await user.type(input(), 'x{Enter}')
    send([event('stream_start', { run_id: 'r', conversation_id: 7 }), frame('client_tool_call', { id: 't1', name: 'rows', input: { rows: ['a'], limit: '5' } }, { message_id: 'M1' })])
    await waitFor(() => expect(calls.some((c) => c.path.endsWith('/tool_results'))).toBe(true))
    send(answerFrames('Done.').slice(1), true)
    await screen.findByText('Done.')
    expect(given).toEqual([{ rows: ['a'], limit: 5 }])
    expect(calls.find((c) => c.path.startsWith('/api/chat/stream'))!.body.client_tools[0].input_schema).toMatchObject(name === 'zod' ? { type: 'object', required: ['rows'] } : { type: 'object' })
  })
})
