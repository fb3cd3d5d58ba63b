import { render, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { ChatProvider, ChatTray, CLIENT_TOOL_LIMITS, useClientTool, type ClientTool } from '../src'
import { ClientTools } from '../src/state/store/clientTools'
import { answerFrames, event, fakeApi, frame, gave, json, runs, sse, type Call } from './fakes'

const spec = { name: 'pick', description: 'Picks.', input_schema: { type: 'object' } }
const asked = { id: 't1', name: 'pick', input: { n: 2 } }
const run = (state: string) => json({ run_id: 'r', state })
const nothing = () => undefined

/** Tools of a service that waits for results, and the results that it got. */
function world(answer: (call: Call, told: Call[]) => Response | undefined = nothing, name = '') {
  const { api, calls } = fakeApi((call) => answer(call, told()) ?? (call.path.endsWith('/tool_results') ? run('running') : call.path === '/api/chat/runs/r' ? run('waiting') : undefined))
  const told = () => calls.filter((c) => c.path.endsWith('/tool_results'))
  return { tools: new ClientTools(api, name), api, told, calls }
}

afterEach(() => {
  vi.useRealTimers()
})

describe('a tool of the page', () => {
  it.each<[string, (input: any) => unknown, object]>([
    ['gives text', () => 'two rows', { output: 'two rows' }],
    ['gives JSON, of its input', async (input) => ({ twice: input.n * 2 }), { output: { twice: 4 } }],
    ['gives nothing', () => undefined, { output: null }],
    ['throws', () => { throw new Error('nothing is selected') }, { output: 'nothing is selected', is_error: true }],
    ['rejects at length', () => Promise.reject(new Error('x'.repeat(9_000))), { output: 'x'.repeat(CLIENT_TOOL_LIMITS.error), is_error: true }],
    ['returns what is not JSON', () => { const a: any = {}; a.a = a; return a }, expect.objectContaining({ is_error: true }) as object],
    ['gives a function', () => () => 1, { output: 'The tool pick returned a value that is not JSON.', is_error: true }],
  ])('that %s tells the model', async (_, handler, want) => {
    const { tools, told } = world()
    tools.register({ ...spec, handler })
    tools.take('r', asked)
    await waitFor(() => expect(told()).toHaveLength(1))
    expect(told()[0]!.path).toBe('/api/chat/runs/r/tool_results')
    expect(told()[0]!.body).toEqual(want instanceof Object && 'output' in want ? { tool_use_id: 't1', ...want } : want)
  })

  it('that has no JSON schema is refused where it is offered, and keeps no message from being sent', () => {
    const { tools } = world()
    const input_schema: Record<string, unknown> = { type: 'object' }
    input_schema.properties = { again: input_schema }
    expect(() => tools.register({ ...spec, input_schema, handler: nothing })).toThrow(TypeError)
    tools.register({ ...spec, handler: nothing })
    expect(tools.specs()).toEqual([spec])
  })

  it('runs in a frame whose browser gives it no locks', async () => {
    vi.stubGlobal('navigator', { ...navigator, locks: { request: () => Promise.reject(new DOMException('Access to the Locks API is denied in this context.', 'SecurityError')) } })
    onTestFinished(() => void vi.unstubAllGlobals())
    const { tools, told } = world()
    tools.register({ ...spec, handler: () => 'picked' })
    tools.take('r', asked)
    await waitFor(() => expect(told()).toMatchObject([{ body: { output: 'picked' } }]))
  })

  it('whose handler does not end leaves its call to the next page', async () => {
    const held = new Map<string, Promise<unknown>>()
    vi.stubGlobal('navigator', { ...navigator, locks: { request: (name: string, _: object, act: () => Promise<void>) => {
      const mine = (held.get(name) ?? Promise.resolve()).then(act)
      held.set(name, mine)
      return mine
    } } })
    onTestFinished(() => void vi.unstubAllGlobals())
    const { tools, told } = world()
    const begun = vi.fn(() => new Promise(() => undefined))
    tools.register({ ...spec, handler: begun })
    tools.take('r', asked)
    await waitFor(() => expect(begun).toHaveBeenCalled())
    tools.leave()
    tools.register({ ...spec, handler: () => 'picked' })
    tools.take('r', asked)
    await waitFor(() => expect(told()).toMatchObject([{ body: { output: 'picked' } }]))
  })

  it('is run once for a call that is shown again', async () => {
    const { tools, told } = world()
    const handler = vi.fn(() => 1)
    tools.register({ ...spec, handler })
    tools.take('r', asked)
    tools.take('r', asked)
    await waitFor(() => expect(told()).toHaveLength(1))
    tools.take('r', asked)
    await new Promise((resolve) => setTimeout(resolve))
    expect(handler).toHaveBeenCalledTimes(1)
  })

  it.each(['running', 'completed', 'cancelled'])('is not run when the run is %s', async (state) => {
    const { tools, told, calls } = world(({ path }) => (path === '/api/chat/runs/r' ? run(state) : undefined))
    const handler = vi.fn()
    tools.register({ ...spec, handler })
    tools.take('r', asked)
    await waitFor(() => expect(calls.map((c) => c.path)).toEqual(['/api/chat/runs/r']))
    await new Promise((resolve) => setTimeout(resolve))
    expect([handler.mock.calls.length, told().length]).toEqual([0, 0])
  })

  it('has a time limit, after which the model reads that it is missing', async () => {
    vi.useFakeTimers()
    const { tools, told } = world()
    tools.take('r', asked)
    await vi.advanceTimersByTimeAsync(CLIENT_TOOL_LIMITS.absent - 1)
    expect(told()).toHaveLength(0)
    await vi.advanceTimersByTimeAsync(1)
    expect(told().map((c) => c.body)).toEqual([{ tool_use_id: 't1', output: 'The page that is open has no tool pick.', is_error: true }])
  })

  it('may be registered a moment after its call', async () => {
    vi.useFakeTimers()
    const { tools, told } = world()
    tools.take('r', asked)
    await vi.advanceTimersByTimeAsync(100)
    tools.register({ ...spec, handler: () => 'here' })
    await vi.advanceTimersByTimeAsync(0)
    expect(told().map((c) => c.body.output)).toEqual(['here'])
  })

  it('is the last one of its name, and the one before when that is gone', async () => {
    const { tools, told } = world()
    tools.register({ ...spec, handler: () => 'the list' })
    const leave = tools.register({ ...spec, description: 'Picks here.', handler: () => 'the record' })
    expect(tools.specs()).toEqual([{ ...spec, description: 'Picks here.' }])
    leave()
    expect(tools.specs()).toEqual([spec])
    tools.take('r', asked)
    await waitFor(() => expect(told()).toHaveLength(1))
    expect(told()[0]!.body.output).toBe('the list')
  })

  it('sends its outcome until the service is back', async () => {
    vi.useFakeTimers()
    const { tools, told } = world(({ path }, before) => (path.endsWith('/tool_results') && before.length < 3 ? json({ detail: 'away', code: 'unavailable' }, 503) : undefined))
    tools.register({ ...spec, handler: () => 'kept' })
    tools.take('r', asked)
    await vi.advanceTimersByTimeAsync(5_000)
    expect(told().map((c) => c.body.output)).toEqual(['kept', 'kept', 'kept'])
  })

  it('tells the model when the service refuses the outcome', async () => {
    const { tools, told } = world(({ path, body }) => (path.endsWith('/tool_results') && !body.is_error ? json({ detail: 'the body is too large', code: 'too_large' }, 413) : undefined))
    tools.register({ ...spec, handler: () => 'much' })
    tools.take('r', asked)
    await waitFor(() => expect(told()).toHaveLength(2))
    expect(told()[1]!.body).toEqual({ tool_use_id: 't1', output: 'The result could not be sent: the body is too large', is_error: true })
  })

  it('is told when nobody waits any more, and its outcome is not sent', async () => {
    const { tools, told } = world()
    let stopped = false
    const handler = vi.fn((_: unknown, { signal }: { signal: AbortSignal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve((stopped = true)))))
    tools.register({ ...spec, handler })
    tools.take('r', asked)
    await waitFor(() => expect(handler).toHaveBeenCalled())
    tools.leave()
    await waitFor(() => expect(stopped).toBe(true))
    expect(told()).toHaveLength(0)
  })

  it('is not run again in this browser once it was answered, though the run still waits for another', async () => {
    const one = world(nothing, 'x')
    one.tools.register({ ...spec, handler: () => 1 })
    one.tools.take('r', asked)
    await waitFor(() => expect(localStorage.getItem('chattray:x:answered')).toBe('["r:t1"]'))
    const two = world(nothing, 'x')
    two.tools.register({ ...spec, handler: () => 1 })
    two.tools.take('r', asked)
    two.tools.take('r', { ...asked, id: 't2' })
    await waitFor(() => expect(two.told().map((c) => c.body.tool_use_id)).toEqual(['t2']))
  })

  it('waits for its turn while another tab runs it', async () => {
    const held: (() => void)[] = []
    const request = vi.fn((_: string, __: object, act: () => Promise<void>) => new Promise<void>((resolve) => held.push(() => resolve(act()))))
    vi.stubGlobal('navigator', { ...navigator, locks: { request } })
    const { tools, told, calls } = world()
    tools.register({ ...spec, handler: () => 1 })
    tools.take('r', asked)
    await waitFor(() => expect(request).toHaveBeenCalledWith('chattray:tool:r:t1', expect.anything(), expect.anything()))
    expect(calls).toHaveLength(0)
    held[0]!()
    await waitFor(() => expect(told()).toHaveLength(1))
    vi.unstubAllGlobals()
  })
})

function show(tool: ClientTool | null, provided: ClientTool[] = []) {
  let end: (frames: unknown[]) => void = () => undefined
  const begin = [
    event('stream_start', { run_id: 'r', conversation_id: 7 }), event('block_start', { block_id: 'B1', type: 'llm' }),
    frame('tool_call', { id: 't1', name: 'pick', arguments: '{"n":2}' }, { message_id: 'M0', block_id: 'B1' }), frame('client_tool_call', asked, { message_id: 'M2', block_id: 'B1' }),
  ]
  const { api, calls } = fakeApi(({ path, method }) => {
    if (path === '/api/chat/runs/r') return run('waiting')
    if (path.endsWith('/tool_results')) {
      end([runs('t1', 'pick', { n: 2 }), ...gave('t1', 'two'), ...answerFrames('Done.').slice(2)])
      return run('running')
    }
    if (method !== 'POST') return undefined
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        end = (frames) => frames.forEach((f) => controller.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(f)}\n\n`)))
        end(begin)
      },
    })
    return new Response(body, { headers: { 'X-Run-Id': 'r' } })
  })
  function Own() {
    useClientTool(tool!)
    return null
  }
  render(<ChatProvider api={api} storageKey="" clientTools={provided}>{tool && <Own />}<ChatTray layout="sidebar" /></ChatProvider>)
  return { calls, user: userEvent.setup() }
}

describe('in the tray', () => {
  it('tools are offered without their handlers, called, and shown like others', async () => {
    const handler = vi.fn((input: { n: number }) => (input.n === 2 ? 'two' : ''))
    const { calls, user } = show({ ...spec, handler }, [{ ...spec, name: 'other', handler: () => 1 }])
    await user.type(screen.getByLabelText('Message'), 'x{Enter}')
    await screen.findByText('Done.')
    expect(handler.mock.calls.map(([input]) => input)).toEqual([{ n: 2 }])
    expect(calls.find((c) => c.path.startsWith('/api/chat/stream'))!.body.client_tools.map((t: object) => Object.keys(t))).toEqual([['name', 'description', 'input_schema'], ['name', 'description', 'input_schema']])
    expect(calls.find((c) => c.path.endsWith('/tool_results'))!.body).toEqual({ tool_use_id: 't1', output: 'two' })
    expect(screen.getByRole('button', { name: /^Pick/ })).toBeTruthy()
  })

  it('a request of a page without tools says nothing of them', async () => {
    const { api, calls } = fakeApi(({ method }) => (method === 'POST' ? sse(answerFrames('x')) : undefined))
    render(<ChatProvider api={api} storageKey=""><ChatTray layout="sidebar" /></ChatProvider>)
    await userEvent.setup().type(screen.getByLabelText('Message'), 'x{Enter}')
    await screen.findByText('x', { selector: 'p' })
    expect(calls.find((c) => c.method === 'POST')!.body).not.toHaveProperty('client_tools')
  })
})
