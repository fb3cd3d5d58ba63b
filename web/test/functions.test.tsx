import { act, render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it, vi } from 'vitest'
import { ChatProvider, ChatTray, type ChatProviderProps, type ChatTrayProps } from '../src'
import { answerFrames, json, sse } from './fakes'
import { input } from './shown'

describe('a function that changes with a render', () => {
  type Props = { provider?: Partial<ChatProviderProps>; tray?: Partial<ChatTrayProps> }
  const service = async (_: unknown, init?: RequestInit) => (init?.method === 'POST' ? sse(answerFrames('Hello.', { suggested_actions: [{ action: 'go', label: 'Go', handler: 'client' }] })) : json({ detail: '', code: 'not_found', status: 404 }, 404))
  const given: [string, (call: () => void) => Props, string?][] = [
    ['getToken', (call) => ({ provider: { getToken: () => (call(), 'token') } })],
    ['headers', (call) => ({ provider: { headers: () => (call(), {}) } })],
    ['fetch', (call) => ({ provider: { fetch: ((url, init) => (call(), service(url, init))) as typeof fetch } })],
    ['onComplete', (call) => ({ tray: { onComplete: call } })],
    ['onClientAction', (call) => ({ tray: { onClientAction: call } }), 'Go'],
    ['onApplyToDocument', (call) => ({ tray: { onApplyToDocument: async () => call() } }), 'Add to document'],
    ['commands', (call) => ({ tray: { commands: [{ name: 'mine', title: 'Mine', run: call }] } }), '/'],
  ]
  it.each(given)('%s is the latest one', async (_, make, then) => {
    const [first, second] = [vi.fn(), vi.fn()]
    const tree = ({ provider, tray }: Props) => <ChatProvider storageKey="" fetch={service as typeof fetch} {...provider}><ChatTray layout="sidebar" {...tray} /></ChatProvider>
    const { rerender } = render(tree(make(first)))
    rerender(tree(make(second)))
    await act(async () => undefined)
    first.mockClear()
    const user = userEvent.setup()
    await user.type(input(), 'one{Enter}')
    await screen.findByText('Hello.')
    if (then === '/') await user.type(input(), '/mine{Enter}')
    else if (then) await user.click(await screen.findByRole('button', { name: then }))
    await vi.waitFor(() => expect(second).toHaveBeenCalled(), { timeout: 60_000 })
    expect(first).not.toHaveBeenCalled()
  })
})

it('onThemeChange is called when the theme changes, not when the function does', async () => {
  const themes: string[] = []
  const tree = (theme: 'light' | 'dark', name: string) => <ChatProvider storageKey="" fetch={(async () => json({}, 404)) as typeof fetch}><ChatTray theme={theme} onThemeChange={(to) => void themes.push(`${name} ${to}`)} /></ChatProvider>
  const { rerender } = render(tree('light', 'first'))
  rerender(tree('light', 'second'))
  rerender(tree('dark', 'third'))
  await act(async () => undefined)
  expect(themes).toEqual(['first light', 'third dark'])
})

it.each([
  ['with a promise', async () => undefined, 'Added to the document'],
  ['at once', () => undefined, 'Added to the document'],
  ['not at all', () => { throw new Error('no') }, 'Add to document'],
])('onApplyToDocument does it %s', async (_, apply, shown) => {
  const fetch = async (_: unknown, init?: RequestInit) => (init?.method === 'POST' ? sse(answerFrames('Hello.', {})) : json({}, 404))
  render(<ChatProvider storageKey="" fetch={fetch as typeof globalThis.fetch}><ChatTray layout="sidebar" onApplyToDocument={apply} /></ChatProvider>)
  const user = userEvent.setup()
  await user.type(input(), 'one{Enter}')
  await user.click(await screen.findByRole('button', { name: 'Add to document' }))
  await act(async () => undefined)
  expect(screen.queryByRole('button', { name: shown })).not.toBeNull()
})
