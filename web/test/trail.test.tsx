import { act, screen, waitFor } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { defaultLabels, doneWords, nameWords, piecesOf, titleOf, trailWords, type Part, type ToolView } from '../src'
import { answerFrames, event, frame, gave, runs, sse } from './fakes'
import { chat, input, live, message, settled, show } from './shown'

const call = (name: string, more: Partial<ToolView> = {}): ToolView => ({ key: name, index: 0, name, title: '', done: '', input: {}, output: '', isError: false, status: 'completed', progress: 1, stage: '', message: '', ...more })
const tool = (name: string, more: Partial<ToolView> = {}): Part => ({ kind: 'tool', key: `tool:${name}${more.key ?? ''}`, tool: call(name, more) })
const report = { title: 'Read a report', done: 'Read a report|Read {n} reports' }

describe('the words of a trail', () => {
  it.each([['find_orders', 'Find orders'], ['findOrders', 'Find orders'], ['shop__find-orders', 'Find orders'], ['x', 'X'], ['__', '__']])('makes words of the name %s', (name, words) => {
    expect(nameWords(name)).toBe(words)
    expect(titleOf({ name, title: '' })).toBe(words)
  })

  it('counts calls of one tool, in its own words where it has some', () => {
    expect(doneWords(call('a', report), 1)).toBe('Read a report')
    expect(doneWords(call('a', report), 3)).toBe('Read 3 reports')
    expect(doneWords(call('a', { title: 'Look', done: 'Looked' }), 3)).toBe('Looked × 3')
    expect(doneWords(call('look_up'), 2)).toBe('Look up × 2')
  })

  it('says in one line what was done, and what failed', () => {
    const words = (tools: ToolView[]) => trailWords(tools, defaultLabels)
    expect(words([call('get_report', report), call('get_report', report), call('write_block', { done: 'Wrote a block|Wrote {n} blocks' })])).toBe('Read 2 reports, wrote a block')
    expect(words([call('get_report', report), call('drop', { status: 'error' }), call('buy', { title: 'Buy', status: 'denied' }), call('wait', { status: 'cancelled' })])).toBe('Read a report, drop (failed), buy (not allowed), wait (stopped)')
    expect(words([call('get_report', report), call('search_articles', { title: 'Search PubMed', status: 'running' })])).toBe('Search PubMed…')
  })
})

describe('runs of calls', () => {
  const thinking: Part = { kind: 'thinking', key: 'th', text: 'hm', open: false }
  const text: Part = { kind: 'text', key: 'te', text: 'So.', open: false }
  const shape = (parts: Part[], apart?: (name: string) => boolean) => piecesOf(parts, apart).map((p) => (p.kind === 'trail' ? p.tools.map((t) => t.name).join('+') : p.part.kind))

  it('are put together, with the reasoning between them', () => {
    expect(shape([text, tool('a'), tool('b'), text])).toEqual(['text', 'a+b', 'text'])
    expect(shape([thinking, tool('a'), thinking, tool('b'), thinking])).toEqual(['thinking', 'a+b', 'thinking'])
    expect(shape([tool('a'), text, tool('b')])).toEqual(['a', 'text', 'b'])
  })

  it('leave out calls that the page shows itself', () => {
    expect(shape([tool('a'), tool('own'), tool('b')], (name) => name === 'own')).toEqual(['a', 'tool', 'b'])
  })

  const calls = () => ['t1', 't2', 't3'].map((id, i) => runs(id, 'get_report', { report_id: i }, { title: report.title, index: i }, { block_id: 'B1' }))
  const ends = () => ['t1', 't2', 't3'].flatMap((id, i) => gave(id, `report ${i}`, { done: report.done }, { block_id: 'B1' }))
  const history = [0, 1, 2].map((i) => ({ tool_name: 'get_report', input: { report_id: i }, output: `report ${i}`, is_error: false, tool_use_id: `t${i + 1}`, duration_ms: 1000, ...report }))

  it('are one line that says what goes on, then what was done and how long it took, and opens to the calls', async () => {
    const { response, send } = live('r')
    const { user, container } = show(({ method }) => (method === 'POST' ? response : undefined))
    await user.type(input(), 'x{Enter}')
    act(() => send([event('stream_start', { run_id: 'r', conversation_id: 7 }), event('block_start', { block_id: 'B1', type: 'tool' }), ...calls()]))
    await screen.findByRole('button', { name: /Read a report…/ })
    expect(container.querySelectorAll('.ct-tool')).toHaveLength(0)
    act(() => send([...ends(), ...answerFrames('Three.', { tool_history: history }).slice(1)], true))
    await settled()
    const line = screen.getByRole('button', { name: /^Read 3 reports/ })
    expect(line.textContent).toContain('3 s')
    await user.click(line)
    expect(container.querySelectorAll('.ct-tool[data-tool=get_report][data-status=completed]')).toHaveLength(3)
    await user.click(container.querySelector('.ct-tool-head')!)
    expect(await screen.findByText('report 0')).toBeTruthy()
  })

  it('are the same line after a reload', async () => {
    sessionStorage.setItem('chattray:tr:conversation', '7')
    show(({ path }) => (path.startsWith('/api/chats/7') ? chat([message('q', 'user', 'x'), message('a', 'assistant', '[[tool:0]]\n\n[[tool:1]]\n\n[[tool:2]]\n\nThree.', { tool_history: history })]) : undefined), {}, 'tr')
    await screen.findByRole('button', { name: /^Read 3 reports/ })
  })

  it('shows a call that was not allowed as such, and not as a failure', async () => {
    const asked = { approval_id: 'ap', name: 'drop', title: 'Drop it', id: 't1', input: {}, message: '', expires_at: '2027-01-01T00:00:00Z' }
    const { user, container } = show(({ method }) => (method === 'POST' ? sse([
      event('stream_start', { run_id: 'run-1', conversation_id: 7 }), event('block_start', { block_id: 'B1', type: 'tool' }), frame('approval', asked, { message_id: 'MA', block_id: 'B1' }),
      frame('approval', { approved: false }, { message_id: 'MA', block_id: 'B1', delta: true, delta_action: 'merge' }),
      runs('t1', 'drop', {}, { denied: true }, { block_id: 'B1' }), ...gave('t1', 'denied', { is_error: true }, { block_id: 'B1' }),
      ...answerFrames('Well.', { tool_history: [{ tool_name: 'drop', input: {}, output: 'denied', is_error: true, tool_use_id: 't1', duration_ms: 1 }] }).slice(1),
    ]) : undefined))
    await user.type(input(), 'x{Enter}')
    await settled()
    await waitFor(() => expect(container.querySelector('.ct-tool')?.getAttribute('data-status')).toBe('denied'))
    expect(screen.getByText('Not allowed')).toBeTruthy()
    expect(screen.queryByText('Failed')).toBeNull()
  })
})
