import { screen } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { de } from '../src/labels/de'
import { defaultLabels as en } from '../src'
import { createDocumentApi } from '../src/api/documents'
import { fakeApi, json } from './fakes'
import { input, show } from './shown'

/** Answers of proxies: none is a problem of the service. */
const answers = [
  { status: 500, body: '<html><h1>Internal Server Error</h1></html>', words: 'unavailable' },
  { status: 429, body: 'Too Many Requests', words: 'refused' },
  { status: 413, body: '<html><h1>413 Request Entity Too Large</h1></html>', words: 'refused' },
  { status: 403, body: '{"detail":"Forbidden by rule 942100","errors":"none"}', words: 'refused' },
  { status: 401, body: '"no session"', words: 'signedOut' },
  { status: 400, body: 'null', words: 'refused' },
  { status: 200, body: '<!doctype html><h1>Error: no session</h1>', type: 'text/html; charset=utf-8', words: 'refused' },
  { status: 200, body: '<!doctype html><h1>Error: no session</h1>', type: 'text/html', redirected: true, words: 'signedOut', as: 401 },
] as const

interface Foreign {
  status: number
  body: string
  type?: string
  redirected?: boolean
  words: 'unavailable' | 'refused' | 'signedOut'
  as?: number
}
const raw = /Error|Too|Forbidden|session|null|HTTP/

const respond = ({ status, body, type = 'text/plain', redirected = false }: Foreign) => () => Object.defineProperty(new Response(body, { status, statusText: 'Error of a proxy', headers: { 'Content-Type': type } }), 'redirected', { value: redirected })

describe.each<Foreign>(answers)('an answer of a proxy with status $status', (answer) => {
  const { words, as = answer.status } = answer

  it.each([{ labels: en }, { labels: de }])('is a sentence of ours where a question is sent ($labels.send)', async ({ labels }) => {
    const { user } = show(respond(answer), { labels })
    await user.type(screen.getByLabelText(labels.composer), 'one{Enter}')
    const { textContent } = await screen.findByRole('alert')
    expect(textContent).toContain(labels[words])
    expect(textContent).not.toMatch(raw)
  })

  it('is a sentence of ours where a chat is opened', async () => {
    localStorage.setItem('chattray:k:conversation', '7')
    show(respond(answer), {}, 'k')
    expect((await screen.findByRole('alert')).textContent).toContain(en[words])
  })

  it('is a sentence of ours where the chats are listed', async () => {
    const { user } = show(respond(answer))
    await user.click(screen.getByRole('button', { name: 'Chats' }))
    expect((await screen.findByRole('alert')).textContent).toContain(en[words])
  })

  it('is an ApiError with its status for a page without a tray', async () => {
    const { api } = fakeApi(respond(answer))
    const documents = createDocumentApi(api)
    for (const call of [api.getRun('r'), api.deleteChat(7), api.exportChat(7, 'json'), documents.remove('d'), documents.exportMarkdown('d'), api.streamMessage({ message: 'm' }, new AbortController().signal).next()]) {
      const error = await call.catch((e: unknown) => e)
      expect(error).toMatchObject({ status: as, message: en[words], problem: undefined })
    }
  })
})

it('a problem of the service keeps its own text', async () => {
  const { user } = show(() => new Response('{"code":"too_many_runs","detail":"too many runs at once"}', { status: 429 }))
  await user.type(input(), 'one{Enter}')
  expect((await screen.findByRole('alert')).textContent).toContain('too many runs at once')
})

it('an answer whose connection is lost before its end counts as none', async () => {
  const { api } = fakeApi(() => Object.assign(json({}), { json: () => Promise.reject(new TypeError('network error')) }))
  await expect(api.cancelRun('r')).rejects.toMatchObject({ status: 0, code: 'network' })
})

it('an answer without JSON is not the service’s', async () => {
  const { api } = fakeApi(() => new Response('Welcome to the free network', { headers: { 'Content-Type': 'text/plain' } }))
  await expect(api.getMe()).rejects.toMatchObject({ status: 200, code: 'refused', message: en.refused })
})
