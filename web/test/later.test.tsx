import { act, render, screen } from '@testing-library/react'
import { renderToString } from 'react-dom/server'
import { describe, expect, it, vi } from 'vitest'
import { CodeBlock, MarkdownPartsProvider } from '../src'
import { later } from '../src/components/later'
import { ToolCallCard } from '../src/components/ToolCallCard'
import type { ToolView } from '../src/state/values/view'
import { json } from './fakes'
import { show } from './shown'

describe('a part that is loaded later', () => {
  const Part = ({ words }: { words: string }) => <p>{words}</p>

  it('has something in its place until it comes, and is tried again when the browser is online again', async () => {
    const load = vi.fn<() => Promise<{ default: typeof Part }>>().mockRejectedValueOnce(new Error('offline')).mockResolvedValue({ default: Part })
    const Shown = later(load, () => <p>still to come</p>)
    render(<Shown words="here" />)
    expect(screen.getByText('still to come')).toBeTruthy()
    await vi.waitFor(() => expect(load).toHaveBeenCalledTimes(1))
    await act(async () => undefined)
    act(() => void dispatchEvent(new Event('online')))
    await screen.findByText('here')
    expect(load).toHaveBeenCalledTimes(2)
  })

  it('is tried again by itself while it is shown, and not after that', async () => {
    vi.useFakeTimers()
    try {
      const load = vi.fn<() => Promise<{ default: typeof Part }>>().mockRejectedValue(new Error('gone'))
      const Shown = later(load)
      const { unmount } = render(<Shown words="here" />)
      await act(() => vi.advanceTimersByTimeAsync(10_000))
      const tries = load.mock.calls.length
      expect(tries).toBeGreaterThan(1)
      unmount()
      await vi.advanceTimersByTimeAsync(60_000)
      expect(load).toHaveBeenCalledTimes(tries)
    } finally {
      vi.useRealTimers()
    }
  })

  it('is there when the connection is lost after it was loaded ahead', async () => {
    const load = vi.fn<() => Promise<{ default: typeof Part }>>().mockResolvedValueOnce({ default: Part }).mockRejectedValue(new Error('offline'))
    const Shown = later(load)
    await Shown.load()
    render(<Shown words="here" />)
    expect(screen.getByText('here')).toBeTruthy()
  })

  it('is hydrated without a difference where it was loaded by then, as is a diagram', async () => {
    const Shown = later(() => Promise.resolve({ default: Part }), () => <p>still to come</p>)
    const diagram = () => Promise.resolve(() => new Promise<string>(() => undefined))
    const code = <MarkdownPartsProvider plugins={{ diagram }}><CodeBlock language="mermaid" code="graph TD" /></MarkdownPartsProvider>
    const page = <><Shown words="here" />{code}</>
    const container = document.body.appendChild(document.createElement('div'))
    container.innerHTML = renderToString(page)
    expect(container.textContent).toContain('still to come')
    const { unmount } = render(page)
    await screen.findByText('here')
    await screen.findByRole('button', { name: 'Diagram' })
    unmount()
    const onRecoverableError = vi.fn()
    render(page, { container, hydrate: true, onRecoverableError })
    await screen.findByText('here')
    await screen.findByRole('button', { name: 'Diagram' })
    expect(onRecoverableError).not.toHaveBeenCalled()
  })
})

it('a list of chats that cannot be read says so, and is read again', async () => {
  let fails = true
  const { user } = show(({ path }) => {
    if (!path.startsWith('/api/chats?')) return undefined
    if (fails) throw new TypeError('offline')
    return json({ items: [{ conversation_id: 3, chat_id: 'c', title: 'Gold', created_at: '2026-01-01T00:00:00Z', updated_at: '2026-01-01T00:00:00Z' }] })
  })
  await user.click(screen.getByRole('button', { name: 'Chats' }))
  expect((await screen.findByRole('alert')).textContent).toContain('The chats could not be read.')
  fails = false
  await user.click(screen.getByRole('button', { name: 'Try again' }))
  await screen.findByText('Gold')
  expect(screen.queryByRole('alert')).toBeNull()
})

it.each([
  [{ query: 'gold', limit: 5 }, 'gold'], [{ stream_id: 2 }, '2'], [{ block_id: '685b07ae7afb5382d15576ba', content: 'Shorter.' }, 'Shorter.'],
  [{ block_id: '685b07ae7afb5382d15576ba', revision: 3 }, ''], [{ name: 'internationalization' }, 'internationalization'], [{ id: '018f3c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f' }, ''], ['text', ''],
])('the line of a call names what it is about, and no id: %j', (given, hint) => {
  const tool = { key: 'k', id: 'k', name: 'edit_block', title: 'Change a block', done: 'Changed a block', status: 'completed', input: given, output: '' } as unknown as ToolView
  const { container } = render(<ToolCallCard tool={tool} runId="r" />)
  expect(container.querySelector('.ct-tool-note')!.textContent).toBe(hint)
})
