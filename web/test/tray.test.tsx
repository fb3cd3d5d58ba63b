import { act, fireEvent, render, screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { version } from 'react'
import { describe, expect, it, vi } from 'vitest'
import { ChatProvider, ChatTray, registerPayloadHandler, useChatContext, useGeneralChat, type ChatTrayProps } from '../src'
import { answerFrames, event, fakeApi, frame, json, sse, type Call } from './fakes'
import { live } from './shown'

function show(answer: (call: Call) => Response | Promise<Response> | undefined, props: Partial<ChatTrayProps> = {}, inside?: React.ReactNode) {
  const { api, calls } = fakeApi(answer)
  render(<ChatProvider api={api} storageKey=""><ChatTray layout="sidebar" {...props} />{inside}</ChatProvider>)
  return { calls, user: userEvent.setup() }
}

const ask = async (user: ReturnType<typeof userEvent.setup>, text: string) => {
  await user.type(screen.getByLabelText('Message'), `${text}{Enter}`)
}
const settled = () => screen.findByRole('button', { name: 'Send' })
const answers = (payload: object, text = 'The answer.') => ({ path }: Call) => (path.startsWith('/api/chat/stream') ? sse(answerFrames(text, payload)) : undefined)

it('runs on the React that is meant', () => {
  expect(version.split('.')[0]).toBe(process.env.REACT_MAJOR ?? '19')
})

describe('ChatTray', () => {
  it('begins with a welcome and starters, in the words it is given', async () => {
    const { user, calls } = show(answers({}), { starters: [{ label: 'Begin', message: 'begin here' }], labels: { welcomeTitle: 'Willkommen', send: 'Senden' } })
    expect(screen.getByText('Willkommen')).toBeTruthy()
    await user.click(screen.getByText('Begin'))
    await screen.findByText('The answer.')
    expect(calls.find((c) => c.method === 'POST')?.body).toMatchObject({ message: 'begin here', interaction_type: 'text_input' })
    await screen.findByRole('button', { name: 'Senden' })
  })

  it('takes words that use other words', async () => {
    const { user } = show(answers({}), { labels: { historySearch: 'Find', paletteFound() { return `${this.historySearch} more.` } } })
    await user.type(screen.getByLabelText('Message'), '/nothing')
    expect(await screen.findByText('Find more.')).toBeTruthy()
  })

  it('sends what the page tells, and continues in the same chat', async () => {
    const { user, calls } = show(answers({}), {}, <Teller />)
    await ask(user, 'one')
    await settled()
    await ask(user, 'two')
    await waitFor(() => expect(calls.filter((c) => c.method === 'POST')).toHaveLength(2))
    expect(calls.filter((c) => c.method === 'POST').map((c) => [c.body.context, c.body.conversation_id])).toEqual([[{ current_page: 'x', report_id: 3 }, undefined], [{ current_page: 'x', report_id: 3 }, 7]])
  })

  it('breaks lines with Shift+Enter and sends nothing empty', async () => {
    const { user, calls } = show(answers({}))
    for (const nothing of ['   ', '\u200b\n\u2060']) {
      fireEvent.change(screen.getByLabelText('Message'), { target: { value: nothing } })
      await user.type(screen.getByLabelText('Message'), '{Enter}')
    }
    await user.clear(screen.getByLabelText('Message'))
    await user.type(screen.getByLabelText('Message'), 'a{Shift>}{Enter}{/Shift}b{Enter}')
    await settled()
    expect(calls.filter((c) => c.method === 'POST').map((c) => c.body.message)).toEqual(['a\nb'])
  })

  it('asks the page’s payload handler first, then the registered one, then shows JSON', async () => {
    const take = registerPayloadHandler('thing', { render: () => <p>registered</p> })
    const payloads = [{ payload_id: 'p1', type: 'thing', data: { a: 1 }, summary: 'A thing' }, { payload_id: 'p2', type: 'other', data: { b: 'plain' }, summary: 'Another' }]
    const accepted = vi.fn()
    const { user, calls } = show(({ path, method }) => {
      if (path.includes('/resolve')) return json({ ...payloads[0], outcome: 'accepted' })
      return method === 'POST' ? sse(answerFrames('x', { payloads, custom_payload: payloads[0] })) : undefined
    }, { payloadHandlers: { thing: { render: (d: { a: number }) => <p>page {d.a}</p>, renderOptions: { headerTitle: 'Mine' }, onAccept: accepted } } })
    await ask(user, 'x')
    expect(await screen.findByText('page 1')).toBeTruthy()
    await user.click(screen.getByRole('button', { name: 'Accept' }))
    await screen.findByText('Accepted', { selector: 'em' })
    expect(accepted).toHaveBeenCalledWith({ a: 1 }, expect.objectContaining({ payload_id: 'p1' }))
    expect(calls.at(-1)).toMatchObject({ path: '/api/chats/7/payloads/p1/resolve', body: { outcome: 'accepted' } })
    expect(screen.queryByText('page 1')).toBeNull()
    await user.click(screen.getByText('Another'))
    expect(screen.getByText(/"b": "plain"/)).toBeTruthy()
    take()
  })

  it('keeps what failed on accept in the panel', async () => {
    const payload = { payload_id: 'p1', type: 'thing', data: {} }
    const { user } = show(answers({ payloads: [payload], custom_payload: payload }), { payloadHandlers: { thing: { render: () => <p>card</p>, onAccept: () => Promise.reject(new Error('the form is locked')) } } })
    await ask(user, 'x')
    await user.click(await screen.findByRole('button', { name: 'Accept' }))
    expect((await screen.findByRole('alert')).textContent).toContain('the form is locked')
    expect(screen.getByText('card')).toBeTruthy()
  })

  it('does client actions by the page and server actions by the service', async () => {
    const onClientAction = vi.fn((a: { action: string }) => a.action === 'go')
    const suggested_actions = [
      { label: 'Go', action: 'go', handler: 'client', data: { to: 1 } }, { label: 'Fly', action: 'fly', handler: 'client' }, { label: 'Apply', action: 'apply_schema', handler: 'server', data: { stream_id: 1 }, style: 'primary' },
    ]
    const { user, calls } = show(answers({ suggested_actions }), { onClientAction })
    await ask(user, 'x')
    await user.click(await screen.findByRole('button', { name: 'Go' }))
    expect(onClientAction).toHaveBeenCalledWith(expect.objectContaining({ data: { to: 1 } }))
    await user.click(screen.getByRole('button', { name: 'Fly' }))
    expect(screen.getByRole('alert').textContent).toContain('fly')
    await user.click(screen.getByRole('button', { name: 'Apply' }))
    await waitFor(() => expect(calls.filter((c) => c.method === 'POST')).toHaveLength(2))
    expect(calls.findLast((c) => c.method === 'POST')!.body).toMatchObject({
      message: 'Apply', interaction_type: 'action_executed', action_metadata: { action_identifier: 'apply_schema', action_data: { stream_id: 1 } },
    })
  })

  it('says what the service refused, and sends it again', async () => {
    let tries = 0
    const { user } = show(({ method }) => (method !== 'POST' ? undefined : ++tries === 1 ? json({ detail: 'too many requests in a minute', code: 'too_many_requests' }, 429) : sse(answerFrames('Now.'))))
    await ask(user, 'x')
    expect((await screen.findByRole('alert')).textContent).toContain('too many requests in a minute')
    await user.click(screen.getByRole('button', { name: 'Try again' }))
    await screen.findByText('Now.')
    expect(screen.getAllByLabelText('You')).toHaveLength(1)
  })

  it('says on its launcher, while it is closed, that it works and how many answers are new', async () => {
    const { response, send } = live('run-1')
    const { user } = show(({ method }) => (method === 'POST' ? response : undefined), { layout: 'tray', defaultOpen: true })
    await ask(user, 'x')
    await user.click(screen.getByRole('button', { name: 'Close the chat' }))
    const launcher = await screen.findByRole('button', { name: 'Open the chat. The assistant is working.' })
    expect(launcher.getAttribute('data-state')).toBe('working')
    act(() => send(answerFrames('Now.'), true))
    await user.click(await screen.findByRole('button', { name: 'Open the chat. 1 new answer.' }))
    await user.click(screen.getByRole('button', { name: 'Close the chat' }))
    expect(screen.getByRole('button', { name: 'Open the chat' }).getAttribute('data-state')).toBe('idle')
  })

  it('has a log and says to screen readers what begins and ends, not every word', async () => {
    const { user } = show(answers({}))
    expect(screen.getByRole('log').getAttribute('aria-live')).toBe('off')
    await ask(user, 'x')
    await waitFor(() => expect(screen.getAllByRole('status')[0]!.textContent).toBe('The answer is complete.'))
  })

  it('puts parallel work into tabs, or in order', async () => {
    const frames = [
      event('stream_start', { run_id: 'run-1', conversation_id: 7 }), event('block_start', { block_id: 'B1', type: 'tool' }),
      event('thread_start', { thread_id: 'T1', label: 'Weather' }, { block_id: 'B1', thread_id: 'T1' }), event('thread_start', { thread_id: 'T2', label: 'News' }, { block_id: 'B1', thread_id: 'T2' }),
      frame('text', { content: 'Sunny' }, { message_id: 'M1', block_id: 'B1', thread_id: 'T1', delta: true }), frame('text', { content: 'Nothing new' }, { message_id: 'M2', block_id: 'B1', thread_id: 'T2', delta: true }),
      ...answerFrames('x').slice(-1),
    ]
    const { user } = show(({ method }) => (method === 'POST' ? sse(frames) : undefined))
    await ask(user, 'x')
    await settled()
    const group = screen.getByRole('group', { name: 'Parallel work' })
    expect(within(group).getAllByRole('tab').map((t) => `${t.textContent} ${t.getAttribute('aria-selected')}`)).toEqual(['Weather true', 'News false'])
    expect(within(group).getByRole('tabpanel', { name: 'Weather' }).textContent).toBe('Sunny')
    await user.click(within(group).getByRole('tab', { name: 'Weather' }))
    await user.keyboard('{ArrowRight}')
    expect(within(group).getByRole('tabpanel', { name: 'News' }).textContent).toBe('Nothing new')
    await user.click(within(group).getByRole('button', { name: 'In order of arrival' }))
    expect(group.textContent).toContain('WeatherSunnyNewsNothing new')
  })
})

describe('an approval', () => {
  it('is asked for, and answered once', async () => {
    let send: (frames: unknown[]) => void = () => undefined
    const begin = [
      event('stream_start', { run_id: 'run-9', conversation_id: 7 }), event('block_start', { block_id: 'B1', type: 'tool' }),
      frame('approval', { approval_id: 'ap1', name: 'delete_all', id: 't1', input: { really: true }, message: 'This cannot be undone.', expires_at: '2027-01-01T00:00:00Z', reason: 'unseen_url' }, { message_id: 'M9', block_id: 'B1' }),
    ]
    const { user, calls } = show(({ path, method }) => {
      if (path.includes('/approvals/')) {
        send([frame('approval', { approved: true }, { message_id: 'M9', block_id: 'B1', delta: true, delta_action: 'merge' }), ...answerFrames('Done.').slice(2)])
        return json({ run_id: 'run-9' })
      }
      if (method !== 'POST') return undefined
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          send = (frames) => frames.forEach((f) => controller.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(f)}\n\n`)))
          send(begin)
        },
      })
      return new Response(body, { headers: { 'X-Run-Id': 'run-9' } })
    })
    await ask(user, 'x')
    const group = await screen.findByRole('group', { name: 'May I do this?' })
    expect(group.textContent).toContain('Delete all')
    expect(group.textContent).toContain('it may carry data out')
    expect(screen.getAllByRole('status')[0]!.textContent).toBe('Waiting for your approval: Delete all…')
    await user.click(within(group).getByRole('button', { name: 'Approve' }))
    await screen.findByText('Done.')
    expect(calls.find((c) => c.path.includes('approvals'))).toMatchObject({ path: '/api/chat/runs/run-9/approvals/ap1', body: { approved: true } })
    expect(screen.getByRole('button', { name: /^Delete all/ })).toBeTruthy()
    expect(screen.queryByRole('button', { name: 'Approve' })).toBeNull()
  })
})

function Teller() {
  const { updateContext } = useChatContext()
  const chat = useGeneralChat()
  if (chat.messages.length === 0) updateContext({ current_page: 'x', report_id: 3 })
  return null
}

describe('useGeneralChat', () => {
  it('has the state of the specs', async () => {
    const seen: string[] = []
    function Watch() {
      const { streamingText, statusText, activeToolProgress, isLoading, messages } = useGeneralChat()
      seen.push([isLoading, statusText, activeToolProgress?.toolName, streamingText, messages.length].join('|'))
      return null
    }
    const { user } = show(answers({}), {}, <Watch />)
    await ask(user, 'x')
    await screen.findByText('The answer.')
    await settled()
    expect(seen[0]).toBe('false||||0')
    expect(seen).toContain('true|Thinking...|||1')
    expect(seen.at(-1)).toBe('false||||2')
  })
})
