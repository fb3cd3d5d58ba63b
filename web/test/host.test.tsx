import { act, render, screen, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { ChatProvider, ChatTray, createChatApi } from '../src'
import { HOST_LIMIT } from '../src/api/client'
import { answerFrames, json, sse } from './fakes'
import { input } from './shown'

afterEach(() => vi.useRealTimers())

describe('a host that never gives a token', () => {
  it.each([
    ['getToken', { getToken: () => new Promise<string>(() => undefined) }],
    ['headers', { headers: () => new Promise<Record<string, string>>(() => undefined) }],
  ])('by %s holds neither a request nor a stream', async (_, options) => {
    vi.useFakeTimers()
    const fetch = vi.fn()
    const api = createChatApi({ ...options, fetch })
    const problems: unknown[] = []
    api.getMe().catch((error: unknown) => problems.push(error))
    api.streamMessage({ message: 'one' }, new AbortController().signal).next().catch((error: unknown) => problems.push(error))
    await vi.advanceTimersByTimeAsync(HOST_LIMIT)
    expect(problems).toMatchObject([{ code: 'token_timeout' }, { code: 'token_timeout' }])
    expect(fetch).not.toHaveBeenCalled()
    expect(vi.getTimerCount()).toBe(0)
  })

  it('does not hold a request that is no longer wanted', async () => {
    const request = new AbortController()
    const asked = createChatApi({ getToken: () => new Promise<string>(() => undefined) }).listChats({}, request.signal)
    request.abort()
    await expect(asked).rejects.toMatchObject({ name: 'AbortError' })
  })

  it('is said in the tray, where the question is sent again', async () => {
    vi.useFakeTimers({ shouldAdvanceTime: true })
    let given = false
    const fetch = async (_: unknown, init?: RequestInit) => (init?.method === 'POST' ? sse(answerFrames('Hello.')) : json({ detail: '', code: 'not_found', status: 404 }, 404))
    const api = createChatApi({ getToken: () => (given ? 'token' : new Promise<string>(() => undefined)), fetch: fetch as typeof globalThis.fetch })
    render(<ChatProvider api={api} storageKey=""><ChatTray layout="sidebar" /></ChatProvider>)
    const user = userEvent.setup({ advanceTimers: vi.advanceTimersByTime })
    await user.type(input(), 'one{Enter}')
    await act(() => vi.advanceTimersByTimeAsync(HOST_LIMIT))
    const alert = screen.getByRole('alert')
    expect(alert.textContent).toContain('The page takes too long to sign you in.')
    given = true
    await user.click(within(alert).getByRole('button', { name: 'Try again' }))
    expect(await screen.findByText('Hello.')).toBeTruthy()
  })
})

it('a context that is not JSON is no lost connection', async () => {
  const circle: Record<string, unknown> = {}
  circle.self = circle
  const fetch = vi.fn()
  for (const context of [circle, { size: 1n }]) await expect(createChatApi({ fetch }).sendMessage({ message: 'one', context })).rejects.toThrow(TypeError)
  expect(fetch).not.toHaveBeenCalled()
})
