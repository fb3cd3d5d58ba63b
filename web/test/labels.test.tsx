import { render, screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { readdirSync, readFileSync } from 'node:fs'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import { ChatProvider, ChatTray, payloadHandlerFor, type ChatTrayProps, type Labels } from '../src'
import { DocumentPane, useDocument, type Block } from '../src/documents'
import { registerBundledPayloads } from '../src/research'
import { en as defaultLabels } from '../src/labels/en'
import { statusWords } from '../src/labels/tray'
import { answerFrames, event, fakeApi, frame, json, runs, sse, type Call } from './fakes'

/** Every label is a number, so that each Latin letter that is shown is a word of the package without a label. */
const numbers = new Map(Object.keys(defaultLabels).map((key, i) => [key, i]))
const labels = Object.fromEntries(
  Object.entries(defaultLabels).map(([key, value]) => [key, typeof value === 'string' ? `⟦${numbers.get(key)}⟧` : (...given: unknown[]) => `⟦${numbers.get(key)}:${given.join(',')}⟧`]),
) as unknown as Labels
const of = (key: keyof Labels) => `⟦${numbers.get(key)}⟧`

const attributes = ['aria-label', 'title', 'placeholder', 'alt', 'aria-description', 'aria-valuetext']

/** The visible and announced texts of an element, without labels, units of data, dates and texts of the fixtures. */
function english(root: Element): string[] {
  const said: string[] = []
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT)
  while (walker.nextNode()) {
    if (!walker.currentNode.parentElement?.closest('time, style, pre')) said.push(walker.currentNode.textContent ?? '')
  }
  for (const element of root.querySelectorAll('*')) for (const name of attributes) said.push(element.getAttribute(name) ?? '')
  return said.map((s) => s.replace(/⟦[^⟧]*⟧/g, '').replace(/\b\d+ \p{L}+ \d{4}\b|\b\p{L}+ \d+, \d{4}\b/gu, '')).filter((s) => /[A-Za-z]{2,}/.test(s))
}

const show = (answer: (call: Call) => Response | Promise<Response> | undefined, props: Partial<ChatTrayProps> = {}, inside?: React.ReactNode) => {
  const { api } = fakeApi(answer)
  const { container } = render(<ChatProvider api={api} storageKey="" labels={labels}>{inside ?? <ChatTray layout="sidebar" {...props} />}</ChatProvider>)
  return { container, user: userEvent.setup() }
}

const none = (container: Element) => expect(english(container)).toEqual([])
const settled = () => screen.findByRole('button', { name: of('send') })
const ask = async (user: ReturnType<typeof userEvent.setup>) => user.type(screen.getByLabelText(of('composer')), 'ψ{Enter}')

const trace = {
  model: 'μ', tools: ['τ'], max_tokens: 1, max_iterations: 2, temperature: 0, system_prompt: 'σ', messages: [{ role: 'ρ', content: 'κ' }], context: {}, raw_llm_response: 'ω',
  iterations: [{ stop_reason: 'ε', duration_ms: 3, usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 }, reply: 'β', tool_calls: [{ tool_name: 'τ', duration_ms: 4, is_error: true }] }, {}],
}

describe('with every label replaced', () => {
  it('an empty tray, its menu and its history have no word of English', async () => {
    const chats = [{ conversation_id: 7, chat_id: 'c', title: 'χ', created_at: '2026-01-01T00:00:00Z', updated_at: '2026-01-01T00:00:00Z' }]
    const { container, user } = show(({ path }) => (path.startsWith('/api/chats?') ? json({ items: chats, next_cursor: 'n' }) : undefined))
    none(container)
    await user.click(await screen.findByLabelText(of('more')))
    none(container)
    await user.keyboard('{Escape}')
    await user.click(screen.getByLabelText(of('history')))
    await screen.findByText('χ')
    none(container)
    await user.click(screen.getByLabelText(`${of('remove')}: χ`))
    none(container)
    await user.click(screen.getByRole('button', { name: of('cancel') }))
    await user.click(screen.getByLabelText(`${of('rename')}: χ`))
    none(container)
  })

  it('an answer with everything has none', async () => {
    const text = 'α ![ι](https://1.2/3.png)\n\n```\nγ\n```\n\n| δ |\n|---|\n| 1 |\n\nφ[^1]\n\n[^1]: ζ'
    const payload = {
      message: `[[tool:0]]\n\n${text}`, warnings: ['ν'], stop_reason: 'max_tokens', usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
      tool_history: [{ tool_name: 'τ', input: { a: 'ξ' }, output: '', tool_use_id: 't', duration_ms: 4 }],
      payloads: [{ payload_id: 'p', type: 'π', data: {}, summary: 'π', outcome: 'accepted' }],
    }
    const { container, user } = show(({ path, method }) => {
      if (path === '/api/me') return json({ user_id: 'u', name: 'υ', roles: [], may: { diagnostics: true } })
      if (path.includes('/diagnostics')) return json(trace)
      return method === 'POST' ? sse(answerFrames(text, payload)) : undefined
    }, { onApplyToDocument: async () => undefined })
    await ask(user)
    await settled()
    await screen.findByLabelText(of('diagnostics'))
    await user.click(screen.getByLabelText(of('badAnswer')))
    for (const head of container.querySelectorAll('.ct-tool-head')) await user.click(head)
    none(container)
    await user.click(screen.getByLabelText(of('edit')))
    await user.click(screen.getByLabelText(of('diagnostics')))
    await screen.findByText(of('traceModel'))
    for (const details of container.querySelectorAll('details')) details.open = true
    none(container)
  })

  it('reasoning, threads, approvals, a failed part and the live status have none', async () => {
    const frames = [
      event('stream_start', { run_id: 'run-1', conversation_id: 7 }), event('block_start', { block_id: 'B1', type: 'tool' }),
      frame('thinking', { content: 'θ' }, { message_id: 'M0', block_id: 'B1', delta: true }),
      event('thread_start', { thread_id: 'T1', label: 'λ' }, { block_id: 'B1', thread_id: 'T1' }),
      frame('text', { content: 'σ' }, { message_id: 'M1', block_id: 'B1', thread_id: 'T1', delta: true }),
      frame('approval', { approval_id: 'a1', name: 'τ', id: 't1', input: {}, message: 'η', expires_at: '2027-01-01T00:00:00Z' }, { message_id: 'M9', block_id: 'B1' }),
      runs('t2', 'τ', {}, { progress: 0.5 }, { block_id: 'B1' }),
      frame('image', { url: 'https://1.2/3' }, { message_id: 'M5', block_id: 'B1' }),
      frame('error', { message: 'The service’s words', code: 'upstream_error' }, { message_id: 'M4', block_id: 'B1' }),
      frame('loading', { message: 'Running τ...', code: 'running_tool', values: { tool: 'τ' } }, { message_id: 'M6', block_id: 'B1', delta: true, delta_action: 'replace' }),
    ]
    const { container, user } = show(({ method }) => (method === 'POST'
      ? new Response(new ReadableStream({ start: (c) => frames.forEach((f) => c.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(f)}\n\n`))) }), { headers: { 'X-Run-Id': 'run-1' } })
      : undefined))
    await ask(user)
    await screen.findByText('σ')
    await screen.findByText(`⟦${numbers.get('runningTool')}:τ⟧`)
    await user.click(container.querySelector('.ct-tool-head')!)
    none(container)
  })

  it.each([['a refusal', () => json({ detail: 'The service’s words', code: 'invalid' }, 422)], ['an answer that failed', () => sse([
    ...answerFrames('α').slice(0, -1), event('stream_end', { status: 'error', code: 'upstream_error', message: 'The service’s words', retryable: true }),
  ])]])('%s has none', async (_, answer) => {
    const { container, user } = show(({ method }) => (method === 'POST' ? answer() : undefined))
    await ask(user)
    await screen.findAllByText(/The service’s words/)
    none(container)
  })

  it('the cards of the bundled payloads have none', async () => {
    registerBundledPayloads()
    const report = { report_id: 1, stream_id: 1, title: 'ρ', summary: 'σ', published_at: '2026-01-01T00:00:00Z', article_count: 2, articles: [] }
    const article = { article_id: 1, title: 'α', authors: ['1', '2', '3', '4'], abstract: 'β' }
    const stream = { stream_id: 1, name: 'ν', purpose: 'π', schema: {} }
    const data: Record<string, unknown> = {
      pubmed_search_results: { query: 'κ', total: 9, articles: [article] }, article_search_results: { query: 'κ', total: 9, articles: [article] }, pubmed_article: { pmid: '1', title: 'α', authors: ['1'], url: 'https://1.2', abstract: [{ text: 'β' }] },
      web_search_results: { query: 'κ', results: [{ title: 'τ', url: 'h', snippet: 'σ' }] }, webpage_content: { url: 'h', content: 'σ', truncated: true }, report_list: { reports: [report] }, report_summary: { report },
      stream_list: { streams: [stream] }, stream_details: { stream, reports: [report] }, schema_proposal: { changes: { a: ['β'] }, rationale: 'ρ' }, query_suggestion: { query: 'κ', source: 'σ' },
      stream_suggestions: { suggestions: [{ name: 'ν', purpose: 'π' }] }, validation_results: { results: [{ item: 'ι', status: 'valid' }] }, presentation_categories: { categories: [{ name: 'ν', article_ids: [1] }] }, ai_column_suggestion: { name: 'ν', description: 'δ', type: 'τ', prompt: 'π' },
    }
    for (const [type, value] of Object.entries(data)) {
      const handler = payloadHandlerFor(type)!
      const payloads = [{ payload_id: 'p', type, data: value }]
      const { container, user } = show(({ method }) => (method === 'POST' ? sse(answerFrames('α', { payloads, custom_payload: payloads[0] })) : undefined), { openPayloads: 'all' })
      await ask(user)
      const title = (handler.renderOptions!.headerTitle as (l: Labels) => string)(labels)
      await screen.findByRole('heading', { name: title })
      expect(english(container).filter((s) => !/^ ?(?:· )?PMID 1$|· PMID 1/.test(s)), type).toEqual([])
      document.body.replaceChildren()
    }
  })

  it('a document has none', async () => {
    const block = (id: string, more: Partial<Block>): Block => ({ id, type: 'md', state: 'clean', position: id, revision: 1, ...more })
    const blocks = [
      block('1', { current: 'α' }), block('2', { current: 'β' }), block('3', { current: 'α', new: 'β', state: 'pending_edit' }), block('4', { new: 'γ', state: 'pending_new' }), block('5', { current: 'δ', state: 'pending_delete' }),
      block('6', { current: 'δ', state: 'pending_move' }), block('7', { type: 'csv', current: `α,β\n${'1,2\n'.repeat(600)}` }), block('8', { type: 'image/png', current: '!' }), block('9', { type: 'interactive_chart', current: 'α\n1', meta: { mark: 'bar' } }),
    ]
    let read = 0
    function Pane() {
      return <DocumentPane state={useDocument('d')} />
    }
    const { container, user } = show(({ path, method }) => {
      if (path.startsWith('/api/documents/d')) return json({ id: 'd', title: 'τ', revision: 1, blocks: read++ < 2 ? blocks : [] })
      return method === 'DELETE' ? json({ detail: 'The service’s words', code: 'conflict' }, 412) : undefined
    }, {}, <Pane />)
    await screen.findByText(`⟦${numbers.get('docPending')}:4⟧`)
    await user.click(screen.getAllByLabelText(of('blockEdit'))[0]!)
    none(container)
    await user.click(screen.getByLabelText(of('docRename')))
    none(container)
    await user.keyboard('{Escape}')
    await user.click(screen.getAllByLabelText(of('blockRemove'))[0]!)
    await user.click(within(screen.getByRole('group', { name: of('blockRemoveSure') })).getByText(of('remove')))
    await screen.findByText(of('docStale'))
    await user.click(screen.getByRole('button', { name: of('blockAdd') }))
    none(container)
    await waitFor(() => expect(read).toBeGreaterThan(1))
  })
})

describe('the source', () => {
  const files = (readdirSync('src', { recursive: true }) as string[]).map((f) => `src/${f}`).filter((f) => /\.tsx?$/.test(f) && !f.endsWith('openapi.ts'))

  it('has no words in its markup', () => {
    const found: string[] = []
    const word = /\p{L}{2,}/u
    for (const file of files.filter((f) => f.endsWith('.tsx'))) {
      const visit = (node: ts.Node): void => {
        if (ts.isJsxText(node) && word.test(node.text)) found.push(`${file}: ${node.text.trim()}`)
        if (ts.isJsxAttribute(node) && attributes.includes(node.name.getText()) && node.initializer && ts.isStringLiteral(node.initializer) && word.test(node.initializer.text)) found.push(`${file}: ${node.initializer.text}`)
        ts.forEachChild(node, visit)
      }
      visit(ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX))
    }
    expect(found).toEqual([])
  })

  it('uses every label', () => {
    const source = files.filter((f) => !f.includes('labels/')).map((f) => readFileSync(f, 'utf8')).join('') + statusWords.toString() + readFileSync('src/labels/tray.ts', 'utf8').split('export type Labels')[1]
    expect(Object.keys(defaultLabels).filter((key) => !new RegExp(`(?:\\b(?:l|labels|current)\\.|')${key}\\b`).test(source))).toEqual([])
  })
})

it.each([
  ['thinking', '', 'Thinking…'], ['resuming', '', 'Resuming…'], ['stopping', '', 'Stopping…'], ['running_tool', 'find_orders', 'Running find_orders…'],
  ['waiting_for_page', 'pick', 'Waiting for pick on the page…'], ['waiting_for_user', 'drop', 'Waiting for your approval: drop…'],
  ['compacting', '', 'Text of the service'], ['', '', 'Text of the service'],
])('the status %j with the tool %j is said as %j', (code, tool, want) => expect(statusWords(defaultLabels, { message: 'Text of the service', code, tool })).toBe(want))
