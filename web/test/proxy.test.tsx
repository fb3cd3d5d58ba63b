import { screen } from '@testing-library/react'
import { beforeEach, describe, expect, it } from 'vitest'
import { de } from '../src/labels/de'
import { defaultLabels as en } from '../src'
import { fakeApi } from './fakes'
import { input, show } from './shown'

/** Answers of proxies: none is a problem of the service. */
const answers = [
  { status: 500, body: '<html><h1>Internal Server Error</h1></html>', words: 'unavailable' },
  { status: 429, body: 'Too Many Requests', words: 'refused' },
  { status: 413, body: '<html><h1>413 Request Entity Too Large</h1></html>', words: 'refused' },
  { status: 403, body: '{"detail":"Forbidden by rule 942100","errors":"none"}', words: 'refused' },
  { status: 401, body: '"no session"', words: 'signedOut' },
  { status: 400, body: 'null', words: 'refused' },
] as const
const raw = /Error|Too|Forbidden|session|null|HTTP/

const respond = (status: number, body: string) => () => new Response(body, { status, statusText: 'Error of a proxy' })

beforeEach(() => localStorage.clear())

describe.each(answers)('an answer of a proxy with status $status', ({ status, body, words }) => {
  it.each([{ labels: en }, { labels: de }])('is a sentence of ours where a question is sent ($labels.send)', async ({ labels }) => {
    const { user } = show(respond(status, body), { labels })
    await user.type(screen.getByLabelText(labels.composer), 'one{Enter}')
    const { textContent } = await screen.findByRole('alert')
    expect(textContent).toContain(labels[words])
    expect(textContent).not.toMatch(raw)
  })

  it('is a sentence of ours where a chat is opened', async () => {
    localStorage.setItem('chattray:k:conversation', '7')
    show(respond(status, body), {}, 'k')
    expect((await screen.findByRole('alert')).textContent).toContain(en[words])
  })

  it('is a sentence of ours where the chats are listed', async () => {
    const { user } = show(respond(status, body))
    await user.click(screen.getByRole('button', { name: 'Chats' }))
    expect((await screen.findByRole('alert')).textContent).toContain(en[words])
  })

  it('is an ApiError with its status for a page without a tray', async () => {
    const { api } = fakeApi(respond(status, body))
    const error = await api.getRun('r').catch((e: unknown) => e)
    expect(error).toMatchObject({ status, message: en[words], problem: undefined })
  })
})

it('a problem of the service keeps its own text', async () => {
  const { user } = show(() => new Response('{"code":"too_many_runs","detail":"too many runs at once"}', { status: 429 }))
  await user.type(input(), 'one{Enter}')
  expect((await screen.findByRole('alert')).textContent).toContain('too many runs at once')
})
