import { render, screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { ChatProvider, ChatTray, createChatApi } from '../src'
import { STREAM_LIMITS } from '../src/api/stream'
import { de } from '../src/labels/de'
import { answerFrames, event, frame, json, sse } from './fakes'
import { chat, input, live, message, settled, show as showTray } from './shown'

const asked = 'You are not signed in. Sign in, then try again.'

/** A tray whose host has no token until the test signs in; the service would answer at once. */
function show({ getToken, labels }: { getToken: () => Promise<string>; labels?: typeof de }) {
  const fetch = vi.fn(async (url: unknown, init?: RequestInit) => {
    const path = String(url)
    if (init?.method === 'POST') return sse(answerFrames('Hello.'))
    if (path.startsWith('/api/chats/7')) return chat([message('q1', 'user', 'one'), message('a1', 'assistant', 'First.')])
    if (path.startsWith('/api/chats')) return json({ items: [{ conversation_id: 7, chat_id: 'c', title: 'My chat', updated_at: '2026-01-01T00:00:00Z' }] })
    return path === '/api/me' ? json({ user_id: 'u', name: 'u', roles: [] }) : json({ detail: 'nothing', code: 'not_found', status: 404 }, 404)
  })
  render(<ChatProvider api={createChatApi({ getToken, fetch: fetch as typeof globalThis.fetch })} storageKey="k" labels={labels}><ChatTray layout="sidebar" /></ChatProvider>)
  return { user: userEvent.setup(), fetch }
}

beforeEach(() => {
  vi.spyOn(console, 'error').mockImplementation(() => undefined)
})

describe.each([
  ['throws', () => { throw new Error('no session') }],
  ['rejects', () => Promise.reject(new Error('no session'))],
])('a host whose getToken %s', (_, refuse) => {
  let signed = false
  const getToken = () => (signed ? Promise.resolve('token') : refuse())
  beforeEach(() => void (signed = false))

  it('is told to sign in when a question is sent, which is sent again after that', async () => {
    const { user, fetch } = show({ getToken })
    await user.type(input(), 'one{Enter}')
    const alert = await screen.findByRole('alert')
    expect(alert.textContent).toContain(asked)
    expect(fetch).not.toHaveBeenCalled()
    signed = true
    await user.click(within(alert).getByRole('button', { name: 'Try again' }))
    await screen.findByText('Hello.')
    await settled()
    expect(screen.queryByRole('alert')).toBeNull()
    expect(screen.getAllByLabelText('You')).toHaveLength(1)
  })

  it('is told to sign in when a chat is opened, which is opened after that', async () => {
    localStorage.setItem('chattray:k:conversation', '7')
    const { user } = show({ getToken })
    const alert = await screen.findByRole('alert')
    expect(alert.textContent).toContain(asked)
    signed = true
    await user.click(within(alert).getByRole('button', { name: 'Try again' }))
    await screen.findByText('First.')
  })

  it('is told to sign in when the chats are listed, which are listed after that', async () => {
    const { user } = show({ getToken })
    await user.click(screen.getByRole('button', { name: 'Chats' }))
    const alert = await screen.findByRole('alert')
    expect(alert.textContent).toContain(`The chats could not be read.${asked}`)
    signed = true
    await user.click(within(alert).getByRole('button', { name: 'Try again' }))
    await screen.findByText('My chat')
    expect(screen.queryByRole('alert')).toBeNull()
  })
})

describe('a host without a sign-in', () => {
  it('is told so in its language', async () => {
    const { user } = show({ getToken: () => Promise.reject(new Error('no session')), labels: de })
    await user.type(screen.getByLabelText('Nachricht'), 'eins{Enter}')
    expect((await screen.findByRole('alert')).textContent).toContain(de.signedOut)
  })

  it('is not assumed where the token cannot be fetched: then the connection is lost', async () => {
    const usual = STREAM_LIMITS.firstWait
    STREAM_LIMITS.firstWait = 1
    onTestFinished(() => void (STREAM_LIMITS.firstWait = usual))
    let tries = 0
    const { user } = show({ getToken: () => (++tries < 6 ? Promise.reject(new TypeError('Failed to fetch')) : Promise.resolve('token')) })
    await user.type(input(), 'one{Enter}')
    await screen.findByText('Hello.')
    await waitFor(() => expect(screen.queryByText(asked)).toBeNull())
  })
})

describe('an answer that a sign-in cuts off when it expires', () => {
  const expired = () => json({ detail: 'the sign-in has expired; sign in again', code: 'unauthorized' }, 401)
  const half = [event('stream_start', { run_id: 'r', conversation_id: 7, user_message_id: 'q1' }), frame('text', { content: 'Half' }, { message_id: 'M1', delta: true })]
  const whole = [message('q1', 'user', 'one'), message('a1', 'assistant', 'Half and whole.', { run_id: 'r' })]
  const [first, second] = ['Half and whole.', 'Second.']

  it('is completed when the next question, which failed too, is tried again', async () => {
    const { response, send } = live('r')
    let signed = true
    const { user } = showTray(({ method, path }) => {
      if (method === 'POST' && signed) return document.body.textContent?.includes('Half') ? sse(answerFrames(second)) : response
      return signed && path.startsWith('/api/chats/7?') ? chat([...whole, message('q2', 'user', 'two')]) : signed ? undefined : expired()
    })
    await user.type(input(), 'one{Enter}')
    send(half)
    await screen.findByText('Half')
    signed = false
    send([], true)
    await screen.findByRole('button', { name: 'Try again' })
    await user.type(input(), 'two{Enter}')
    const again = within(await screen.findByRole('alert')).getByRole('button', { name: 'Try again' })
    signed = true
    await user.click(again)
    await screen.findByText(second)
    await screen.findByText(first)
    await settled()
    expect(document.querySelectorAll('[data-status=error]')).toHaveLength(0)
    expect(screen.getAllByLabelText('You')).toHaveLength(2)
    expect(screen.queryByRole('alert')).toBeNull()
  })

  it('is completed with the next question when it was resumed', async () => {
    localStorage.setItem('chattray:k:conversation', '7')
    const { response, send } = live('r')
    let opened = 0
    let streams = 0
    const { user } = showTray(({ method, path }) => {
      if (method === 'POST') return sse(answerFrames(second))
      if (path.includes('/runs/r/stream')) return ++streams === 1 ? response : expired()
      if (!path.startsWith('/api/chats/7?')) return undefined
      return ++opened === 1 ? chat([message('q1', 'user', 'one')], { active_run_id: 'r' }) : chat([...whole, message('q2', 'user', 'two')])
    }, {}, 'k')
    await screen.findByText('one')
    send(half)
    await screen.findByText('Half')
    send([], true)
    await screen.findByRole('button', { name: 'Try again' })
    await user.type(input(), 'two{Enter}')
    await screen.findByText(second)
    await screen.findByText(first)
    expect(screen.getAllByLabelText('You')).toHaveLength(2)
  })

  it('stays as it is while the chat cannot be read', async () => {
    const { response, send } = live('r')
    let asked = 0
    const { user } = showTray(({ method }) => (method !== 'POST' ? expired() : ++asked === 1 ? response : sse(answerFrames(second))))
    await user.type(input(), 'one{Enter}')
    send(half)
    await screen.findByText('Half')
    send([], true)
    await screen.findByRole('button', { name: 'Try again' })
    await user.type(input(), 'two{Enter}')
    await screen.findByText(second)
    await settled()
    expect(screen.getByText('Half')).toBeTruthy()
  })
})
