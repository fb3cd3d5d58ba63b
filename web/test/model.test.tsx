import { render, screen, waitFor } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { ChatProvider, ChatTray } from '../src'
import { answerFrames, fakeApi, json, sse, type Call } from './fakes'
import { input, posts, settled, show } from './shown'

const models = () => json({ items: [{ name: 'large', default: true, context_window: 1000, price: { input: 2, output: 8 } }, { name: 'small', default: false }] })

describe('the model', () => {
  it('is chosen with its price, kept for this browser and sent', async () => {
    const answer = ({ method, path }: Call) => (path === '/api/models' ? models() : method === 'POST' ? sse(answerFrames('Yes.', { usage: { input_tokens: 90, output_tokens: 10, total_tokens: 100, cost_usd: 0.004 } })) : undefined)
    const { user, calls, unmount } = show(answer, {}, 'k')
    const choice = await screen.findByRole<HTMLSelectElement>('combobox', { name: 'Model' })
    expect([...choice.options].map((o) => o.text)).toEqual(['large ($2 in, $8 out)', 'small'])
    await user.type(input(), 'x{Enter}')
    await settled()
    expect(posts(calls)[0].model).toBeUndefined()
    expect((await screen.findByLabelText('Used by this chat')).textContent).toBe('100 tokens · $0.004 · 10 % of the context')
    await user.selectOptions(choice, 'small')
    await user.type(input(), 'y{Enter}')
    await waitFor(() => expect(posts(calls)[1]?.model).toBe('small'))
    await settled()
    unmount()
    const again = show(answer, {}, 'k')
    expect((await screen.findByRole<HTMLSelectElement>('combobox', { name: 'Model' })).value).toBe('small')
    again.unmount()
  })

  it('of the page is shown, also once the page wants another one', async () => {
    const { api } = fakeApi(({ path }) => (path === '/api/models' ? models() : undefined))
    const page = (model: string) => <ChatProvider api={api} storageKey="" model={model}><ChatTray layout="sidebar" /></ChatProvider>
    const { rerender } = render(page('small'))
    const choice = await screen.findByRole<HTMLSelectElement>('combobox', { name: 'Model' })
    expect(choice.value).toBe('small')
    rerender(page('large'))
    expect(choice.value).toBe('large')
  })

  it('that is no longer offered is dropped; with one model there is nothing to choose', async () => {
    localStorage.setItem('chattray:k:model', 'gone')
    const { unmount } = show(({ path }) => (path === '/api/models' ? models() : undefined), {}, 'k')
    await screen.findByRole('combobox', { name: 'Model' })
    await waitFor(() => expect(localStorage.getItem('chattray:k:model')).toBe(''))
    unmount()
    show(({ path }) => (path === '/api/models' ? json({ items: [{ name: 'only', default: true }] }) : undefined))
    await screen.findByText('How can I help?')
    expect(screen.queryByRole('combobox')).toBeNull()
  })
})
