import { screen, waitFor } from '@testing-library/react'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { useLayoutEffect } from 'react'
import { useChatStore, type ChatTrayProps, type TrayComponents } from '../src'
import { answerFrames, event, gave, json, runs, sse } from './fakes'
import { input, live, settled, show } from './shown'

/** What a page gives the tray may throw: the tray and the page stay, and the error is logged. */
const fails = () => {
  throw new Error('the page fails')
}

beforeEach(() => {
  vi.spyOn(console, 'error').mockImplementation(() => undefined)
})
afterEach(() => {
  // React 18 logs where an error was, and leaves the error itself to the browser.
  expect(vi.mocked(console.error).mock.calls.flat().map(String).join('\n')).toMatch(/the page fails|The above error occurred in the <(fails|Answer|find_orders)> component/)
  vi.restoreAllMocks()
})

const text = 'Read [this](https://example.com/a).\n\n```js\nconst one = 1\n```\n\n![An image](https://example.com/i.png)'
const more = { suggested_values: [{ label: 'Go on', value: 'go on' }] }
const answers = (payload: object = {}) => ({ method }: { method: string }) => (method === 'POST' ? sse(answerFrames(text, { ...more, ...payload })) : undefined)

describe('a part of the page that throws', () => {
  it.each(['Message', 'Answer', 'UserMessage', 'Composer', 'Header', 'Code', 'Link', 'Image', 'Suggestions', 'Actions'] satisfies (keyof TrayComponents)[])('is the usual part: %s', async (name) => {
    const { user } = show(answers(), { components: { [name]: fails } })
    await user.type(input(), 'one{Enter}')
    await settled()
    expect(await screen.findByRole('link', { name: 'this' })).toBeTruthy()
    expect(document.querySelector('.ct-code code')?.textContent).toBe('const one = 1')
    expect(screen.getByText(/An image/)).toBeTruthy()
    for (const usual of ['Go on', 'Good answer', 'New chat', 'Edit']) expect(screen.getByRole('button', { name: usual })).toBeTruthy()
    expect(document.querySelector('.ct-plain')).toBe(null)
  })

  it('is the usual welcome of an empty chat', async () => {
    show(() => undefined, { components: { Empty: fails } })
    expect(screen.getByText('How can I help?')).toBeTruthy()
  })

  it('is tried again when its call or its message has ended', async () => {
    const { response, send } = live('r')
    const { user } = show(({ method }) => (method === 'POST' ? response : undefined), {
      toolRenderers: { find_orders: ({ tool }) => <b>{tool.output === '' ? fails() : `Found ${tool.output}`}</b> },
      components: { Answer: ({ message, children }) => message.content === '' ? fails() : <section aria-label="own">{children}</section> },
    })
    await user.type(input(), 'one{Enter}')
    send([event('stream_start', { run_id: 'r', conversation_id: 7, user_message_id: 'q' }), runs('c1', 'find_orders', { q: 'open' })])
    await waitFor(() => expect(document.querySelector('[data-tool=find_orders] .ct-tool-head')).toBeTruthy())
    send(gave('c1', '3 orders'))
    expect(await screen.findByText('Found 3 orders')).toBeTruthy()
    expect(screen.queryByRole('region', { name: 'own' })).toBe(null)
    send([event('stream_end', { status: 'completed', payload: { message: '[[tool:0]]\nDone.', conversation_id: 7, message_id: 'a', run_id: 'r', stop_reason: 'end_turn' } })], true)
    expect(await screen.findByRole('region', { name: 'own' })).toBeTruthy()
  })

  it('is JSON where it is the schema of a payload', async () => {
    const schema = { '~standard': { version: 1 as const, vendor: 'page', validate: fails } }
    const { user } = show(answers({ payloads: [{ type: 'orders', payload_id: 'p', data: { n: 5 }, source: 'tool' }] }), { payloadHandlers: { orders: { schema, inline: () => <p>never</p> } } })
    await user.type(input(), 'one{Enter}')
    expect(await screen.findByText(/"n": 5/)).toBeTruthy()
  })
})

it.each(['onComplete', 'onThemeChange'] satisfies (keyof ChatTrayProps)[])('a function of the page that throws leaves the tray: %s', async (name) => {
  const { user } = show(({ method }) => (method === 'POST' ? sse(answerFrames('One.')) : json({}, 404)), { [name]: fails })
  await user.type(input(), 'one{Enter}')
  await settled()
  expect(await screen.findByText('One.')).toBeTruthy()
})

it('words of the page that throw are those of the package', async () => {
  const { user } = show(answers(), { labels: { imageShow: fails, announceTool: fails, historySearch: 'Find', paletteFound: fails } })
  await user.type(input(), 'one{Enter}')
  await settled()
  expect(screen.getByRole('button', { name: /Show image from example.com/ })).toBeTruthy()
  await user.type(input(), '/nothing')
  expect(await screen.findByText('Nothing found.')).toBeTruthy()
})

it('an action of the page that throws is one that the page cannot do, and the tray does its own', async () => {
  const suggested_actions = ['close_chat', 'open_article'].map((action) => ({ action, label: action, handler: 'client' }))
  const { user } = show(answers({ suggested_actions }), { onClientAction: fails })
  await user.type(input(), 'one{Enter}')
  await settled()
  await user.click(screen.getByRole('button', { name: 'open_article' }))
  expect((await screen.findByRole('alert')).textContent).toBe('This page cannot do “open_article”.')
  await user.click(screen.getByRole('button', { name: 'close_chat' }))
  expect(await screen.findByRole('button', { name: 'Open the chat' })).toBeTruthy()
})

it('an answer that the page cannot put into its document says so, and can be put there again', async () => {
  const { user } = show(answers(), { onApplyToDocument: fails })
  await user.type(input(), 'one{Enter}')
  await settled()
  await user.click(screen.getByRole('button', { name: 'Add to document' }))
  expect((await screen.findByRole('alert')).textContent).toBe('Something went wrong')
  expect(screen.getByRole('button', { name: 'Add to document' })).toBeTruthy()
})

it('a listener of the page that throws keeps no question, and nothing of the tray, from its end', async () => {
  function Held() {
    const store = useChatStore()
    useLayoutEffect(() => store.subscribe(fails), [store])
    return null
  }
  const { user } = show(answers(), { components: { Header: Held } })
  await user.type(input(), 'one{Enter}')
  await settled()
  expect(await screen.findByRole('link', { name: 'this' })).toBeTruthy()
})

it('a command of the page that throws is gone from the input', async () => {
  const { user } = show(() => undefined, { commands: [{ name: 'broken', title: 'Broken', run: fails }] })
  await user.type(input(), '/broken')
  await screen.findByRole('option')
  await user.keyboard('{Enter}')
  await waitFor(() => expect(input().value).toBe(''))
})
