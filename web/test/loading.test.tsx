import { act, screen } from '@testing-library/react'
import { lazy, type ReactNode } from 'react'
import { describe, expect, it } from 'vitest'
import type { TrayComponents } from '../src'
import { answerFrames, event, gave, runs, sse } from './fakes'
import { gateway, input, settled, show } from './shown'

/** A part of a page that is loaded with React's lazy once the gate is open. */
function loading() {
  const gate = gateway()
  const Part = lazy(() => gate.opened.then(() => ({ default: ({ children }: { children?: ReactNode }) => <span role="region" aria-label="own">{children}</span> })))
  return { Part, open: () => act(async () => gate.open()) }
}

const text = 'Read [this](https://example.com/a).\n\n```js\nconst one = 1\n```\n\n![An image](https://example.com/i.png)'
const answers = (payload: object = {}) => ({ method }: { method: string }) => (method === 'POST' ? sse(answerFrames(text, { suggested_values: [{ label: 'Go on', value: 'go on' }], ...payload })) : undefined)

describe('while a part of the page is loading', () => {
  it.each(['Message', 'Answer', 'UserMessage', 'Composer', 'Header', 'Code', 'Link', 'Image', 'Suggestions', 'Actions'] satisfies (keyof TrayComponents)[])('the tray shows its own: %s', async (name) => {
    const { Part, open } = loading()
    const { user } = show(answers(), { components: { [name]: Part } })
    await user.type(input(), 'one{Enter}')
    await settled()
    expect(await screen.findByRole('link', { name: 'this' })).toBeTruthy()
    for (const usual of ['Go on', 'Good answer', 'New chat', 'Edit']) expect(screen.getByRole('button', { name: usual })).toBeTruthy()
    expect(screen.queryByRole('region', { name: 'own' })).toBe(null)
    await user.type(input(), 'half a thought')
    await open()
    expect(screen.getAllByRole('region', { name: 'own' }).length).toBeGreaterThan(0)
    expect(input().value).toBe('half a thought')
  })

  it('a new chat has the usual welcome', async () => {
    const { Part, open } = loading()
    show(() => undefined, { components: { Empty: Part } })
    expect(screen.getByText('How can I help?')).toBeTruthy()
    await open()
    expect(screen.getByRole('region', { name: 'own' })).toBeTruthy()
  })

  it('a call is the usual line', async () => {
    const { Part, open } = loading()
    const { user } = show(({ method }) => (method === 'POST' ? sse([
      event('stream_start', { run_id: 'r', conversation_id: 7, user_message_id: 'q' }), runs('c1', 'find_orders', { q: 'open' }), ...gave('c1', '3 orders'),
      event('stream_end', { status: 'completed', payload: { message: '[[tool:0]]\nDone.', conversation_id: 7, message_id: 'a', run_id: 'r', stop_reason: 'end_turn' } }),
    ]) : undefined), { toolRenderers: { find_orders: () => <Part /> } })
    await user.type(input(), 'one{Enter}')
    await settled()
    expect(document.querySelector('[data-tool=find_orders] .ct-tool-head')).toBeTruthy()
    await open()
    expect(await screen.findByRole('region', { name: 'own' })).toBeTruthy()
  })

  it('a card has only its frame', async () => {
    const { Part, open } = loading()
    const { user } = show(answers({ payloads: [{ type: 'orders', payload_id: 'p', data: { n: 5 }, source: 'tool' }] }), { payloadHandlers: { orders: { inline: () => <Part>5 orders</Part> } } })
    await user.type(input(), 'one{Enter}')
    await settled()
    expect(screen.queryByText(/"n": 5/)).toBe(null)
    await open()
    expect(await screen.findByText('5 orders')).toBeTruthy()
  })

  it('a welcome of the page is awaited without the rest of the tray', async () => {
    const { Part, open } = loading()
    show(() => undefined, { welcome: <Part>Hello</Part> })
    expect(input()).toBeTruthy()
    await open()
    expect(screen.getByText('Hello')).toBeTruthy()
  })
})
