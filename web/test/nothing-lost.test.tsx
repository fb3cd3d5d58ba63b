import { act, fireEvent, screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { useState } from 'react'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { STORE_LIMITS } from '../src/state/store/limits'
import { answerFrames, event, frame, json, png, sse } from './fakes'
import { type Answer, show, input, posts, settled, message, chat, busy, slow, live } from './shown'

describe('what is typed', () => {
  it('stays when the new chat gets its name', async () => {
    const { response, go } = slow()
    const { user } = show(({ method }) => (method === 'POST' ? response : undefined))
    await user.type(input(), 'one{Enter}')
    await user.type(input(), 'half a thought')
    go(sse(answerFrames('The answer.')))
    await settled()
    expect(input().value).toBe('half a thought')
    await user.click(screen.getByRole('button', { name: 'New chat' }))
    expect(input().value).toBe('')
  })

  it('continues when a panel opens by itself', async () => {
    const { response, send } = live('r')
    const payload = { payload_id: 'p1', data: {}, summary: 'A thing', source: 'tool' }
    const { user } = show(({ method }) => (method === 'POST' ? response : undefined), { openPayloads: 'all', payloadHandlers: { thing: { render: () => <p>card</p>, renderOptions: { headerTitle: 'Mine' } } } })
    await user.type(input(), 'one{Enter}')
    send([event('stream_start', { run_id: 'r', conversation_id: 7 }), frame('thing', payload, { message_id: 'M1' })])
    await screen.findByText('card')
    expect(document.activeElement).toBe(input())
    expect(screen.getAllByRole('status')[0]!.textContent).toBe('Mine opened beside the chat.')
    send(answerFrames('x').slice(-1), true)
    await settled()
    await user.keyboard('{Escape}')
    expect(screen.queryByText('card')).toBeNull()
  })

  it('comes back when the chat is answered elsewhere, and that answer is followed', async () => {
    let asked = 0
    const { response, send } = live('other')
    const { user, calls } = show(({ method, path }) => {
      if (path.startsWith('/api/chats/7')) return chat([message('q1', 'user', 'one'), message('a1', 'assistant', 'First.'), message('q2', 'user', 'theirs')], { active_run_id: 'other' })
      if (path.includes('/runs/other/stream')) return response
      return method === 'POST' ? (++asked === 1 ? sse(answerFrames('First.')) : busy()) : undefined
    })
    await user.type(input(), 'one{Enter}')
    await screen.findByText('First.')
    await settled()
    await user.type(input(), 'mine{Enter}')
    await screen.findByText('theirs')
    await waitFor(() => expect(input().value).toBe('mine'))
    expect((await screen.findByRole('alert')).textContent).toContain('this chat is being answered')
    expect(within(screen.getByRole('alert')).queryByRole('button', { name: 'Try again' })).toBeNull()
    send([...answerFrames('Theirs.')].map((f) => ({ ...f, chunk_id: undefined })), true)
    await screen.findByText('Theirs.')
    await settled()
    expect(posts(calls)).toHaveLength(2)
  })

  it('is not sent while the chat is still being fetched', async () => {
    localStorage.setItem('chattray:k:conversation', '7')
    const { response, go } = slow()
    const { user, calls } = show(({ method, path }) => (path.startsWith('/api/chats/7') ? response : method === 'POST' ? sse(answerFrames('Second.')) : undefined), {}, 'k')
    await user.type(input(), 'two{Enter}')
    expect(input().value).toBe('two')
    go(chat([message('q1', 'user', 'one'), message('a1', 'assistant', 'First.')]))
    await screen.findByText('First.')
    await user.type(input(), '{Enter}')
    await screen.findByText('Second.')
    expect(screen.getByText('First.')).toBeTruthy()
    expect(posts(calls)).toMatchObject([{ message: 'two', conversation_id: 7 }])
  })

  it('is not sent in the middle of a word that is being composed', async () => {
    const { user, calls } = show(() => undefined)
    await user.type(input(), 'ni')
    const key = new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true })
    Object.defineProperty(key, 'keyCode', { value: 229 })
    act(() => void input().dispatchEvent(key))
    expect(input().value).toBe('ni')
    expect(posts(calls)).toEqual([])
  })
})

describe('what is attached', () => {
  const choose = (user: ReturnType<typeof userEvent.setup>, ...names: string[]) =>
    user.upload(document.querySelector<HTMLInputElement>('input[type=file]')!, names.map((name) => png(name, 4 * 1024 * 1024)))

  it('is no more than a request may be', async () => {
    const { user } = show(() => undefined)
    await choose(user, 'a.png', 'b.png')
    expect((await screen.findByRole('alert')).textContent).toBe('b.png is too large.')
    await user.click(await screen.findByLabelText('Remove: a.png'))
    await choose(user, 'c.png')
    await screen.findByText('c.png')
  })

  it('is no more text than the service takes, of a file and of all', async () => {
    const { user } = show(() => undefined)
    const give = (name: string, kilobytes: number) => user.upload(document.querySelector<HTMLInputElement>('input[type=file]')!, new File(['x'.repeat(kilobytes * 1024)], name, { type: 'text/plain' }))
    await give('a.txt', 257)
    expect((await screen.findByRole('alert')).textContent).toBe('a.txt is too large.')
    for (const name of ['b.txt', 'c.txt']) {
      await give(name, 256)
      await screen.findByText(name)
    }
    await give('d.txt', 1)
    expect((await screen.findByRole('alert')).textContent).toBe('d.txt is too large.')
  })

  it('is with its message after sending, and what was wrong with an earlier file is gone', async () => {
    const { user, container } = show(({ method }) => (method === 'POST' ? sse(answerFrames('Read.')) : undefined))
    const name = `${'long-'.repeat(20)}name.md`
    const chips = (part: string) => [...container.querySelectorAll(`${part} .ct-attachment bdi`)].map((e) => e.textContent)
    const field = () => document.querySelector<HTMLInputElement>('input[type=file]')!
    await user.upload(field(), new File(['# Notes'], name, { type: 'text/markdown' }))
    await user.upload(field(), new File(['x'.repeat(257 * 1024)], 'large.txt', { type: 'text/plain' }))
    expect((await screen.findByRole('alert')).textContent).toBe('large.txt is too large.')
    expect(chips('.ct-composer')).toEqual([name])
    await user.type(input(), 'Read it{Enter}')
    await screen.findByText('Read.')
    await settled()
    expect(chips('.ct-composer')).toEqual([])
    expect(chips('.ct-message[data-role=user]')).toEqual([name])
    expect(container.querySelector('.ct-message .ct-attachment')!.querySelector('button')).toBeNull()
    expect(screen.queryByRole('alert')).toBeNull()
  })

  it('is a picture that is pasted, but not the picture of a text', async () => {
    show(() => undefined)
    const paste = (types: string[]) => fireEvent.paste(input(), { clipboardData: { files: [png('x.png')], types } })
    expect(paste(['text/plain', 'Files'])).toBe(true)
    expect(screen.queryByText('x.png')).toBeNull()
    expect(paste(['Files'])).toBe(false)
    await screen.findByText('x.png')
  })
})

describe('what failed', () => {
  it.each([null, 7])('comes back to be changed when the service would refuse it again, in chat %s', async (id) => {
    if (id) localStorage.setItem('chattray:k:conversation', String(id))
    const { user, calls } = show(({ method, path }) => {
      if (path.startsWith('/api/chats/7')) return chat([message('q1', 'user', 'one'), message('a1', 'assistant', 'First.')])
      return method === 'POST' ? json({ detail: 'the body is larger than 8 MiB', code: 'too_large' }, 413) : undefined
    }, {}, 'k')
    if (id) await screen.findByText('First.')
    await user.type(input(), 'too much')
    await user.upload(document.querySelector<HTMLInputElement>('input[type=file]')!, new File(['# Notes'], 'notes.md', { type: 'text/markdown' }))
    await screen.findByText('notes.md')
    await user.type(input(), '{Enter}')
    expect((await screen.findByRole('alert')).textContent).toContain('the body is larger')
    expect(within(screen.getByRole('alert')).queryByRole('button', { name: 'Try again' })).toBeNull()
    await waitFor(() => expect(input().value).toBe('too much'))
    await screen.findByLabelText('Remove: notes.md')
    expect(screen.queryAllByLabelText('You')).toHaveLength(id ? 1 : 0)
    expect(posts(calls)).toHaveLength(1)
  })

  it('is edited, not added, when an edit that was refused is tried again', async () => {
    let asked = 0
    const { user, calls } = show(({ method }) => (method !== 'POST' ? undefined : ++asked === 2 ? json({ detail: 'too many', code: 'too_many_requests' }, 429) : sse(answerFrames(`Answer ${asked}.`))))
    await user.type(input(), 'one{Enter}')
    await settled()
    const id = screen.getAllByLabelText('You')[0]
    await user.click(within(id!).getByRole('button', { name: 'Edit' }))
    await user.type(await screen.findByRole('textbox', { name: 'Edit message' }), ' more{Enter}')
    await user.click(await screen.findByRole('button', { name: 'Try again' }))
    await screen.findByText('Answer 3.')
    const [, first, second] = posts(calls)
    expect(first.edit_message_id).toMatch(/^q/)
    expect(second).toEqual(first)
    expect(screen.getAllByLabelText('You')).toHaveLength(1)
  })

  it('can be fetched again when the chat could not be opened', async () => {
    localStorage.setItem('chattray:k:conversation', '7')
    let asked = 0
    const { user } = show(({ path }) => (path.startsWith('/api/chats/7') ? (++asked === 1 ? json({ detail: 'the database is away', code: 'unavailable' }, 503) : chat([message('a1', 'assistant', 'First.')])) : undefined), {}, 'k')
    await user.click(await screen.findByRole('button', { name: 'Try again' }))
    await screen.findByText('First.')
    expect(screen.queryByRole('alert')).toBeNull()
  })

  it('is not taken for stopped when reading an answer fails before its first word', async () => {
    const { response, send } = live('r')
    let isOver = false
    const { user } = show(({ method, path }) => {
      if (method === 'POST') return response
      if (path.startsWith('/api/chats/7?')) return chat([message('q1', 'user', 'one'), message('a1', 'assistant', 'The answer.')])
      return path.includes('/runs/r/stream') && !isOver ? json({ detail: 'the bearer token has expired', code: 'unauthorized' }, 401) : undefined
    })
    await user.type(input(), 'one{Enter}')
    send([event('stream_start', { run_id: 'r', conversation_id: 7, user_message_id: 'q1' })], true)
    await screen.findByText(/the bearer token has expired/)
    expect(screen.queryByRole('button', { name: 'Dismiss' })).toBeNull()
    expect(screen.queryByText('You stopped this answer.')).toBeNull()
    isOver = true
    await user.click(screen.getByRole('button', { name: 'Try again' }))
    await screen.findByText('The answer.')
    expect(screen.queryByText(/the bearer token has expired/)).toBeNull()
  })

  it('stays in sight as far as it was read when reading it fails, and is read on', async () => {
    const { response, send } = live('r')
    const rest = live('r')
    let isOver = false
    const { user } = show(({ method, path }) => {
      if (method === 'POST') return response
      if (path.startsWith('/api/chats/7?')) return chat([message('q1', 'user', 'one')], { active_run_id: 'r' })
      if (path.includes('/runs/r/stream')) return isOver ? rest.response : json({ detail: 'the bearer token has expired', code: 'unauthorized' }, 401)
      return undefined
    })
    await user.type(input(), 'one{Enter}')
    send([event('stream_start', { run_id: 'r', conversation_id: 7 }), frame('text', { content: 'The beginning' }, { message_id: 'M1', delta: true })])
    await screen.findByText('The beginning')
    send([], true)
    const again = await screen.findByRole('button', { name: 'Try again' })
    expect(screen.getByText('The beginning')).toBeTruthy()
    expect(screen.getByText(/the bearer token has expired/)).toBeTruthy()
    isOver = true
    await user.click(again)
    rest.send(answerFrames('The beginning and the end.'), true)
    await screen.findByText('The beginning and the end.')
    expect(screen.queryByText(/the bearer token has expired/)).toBeNull()
    expect(screen.getAllByLabelText('You')).toHaveLength(1)
  })

  it('says so when earlier messages cannot be read', async () => {
    localStorage.setItem('chattray:k:conversation', '7')
    let asked = 0
    const { user } = show(({ path }) => {
      if (!path.startsWith('/api/chats/7')) return undefined
      if (!path.includes('cursor')) return chat([message('q2', 'user', 'two')], { next_cursor: 'before' })
      return ++asked === 1 ? json({ detail: 'the database is away', code: 'unavailable' }, 503) : chat([message('q1', 'user', 'one')])
    }, {}, 'k')
    await user.click(await screen.findByRole('button', { name: 'Earlier messages' }))
    expect((await screen.findByRole('alert')).textContent).toContain('the database is away')
    await user.click(screen.getByRole('button', { name: 'Earlier messages' }))
    await screen.findByText('one')
  })

  it('comes back in a new chat when the chat was deleted elsewhere', async () => {
    localStorage.setItem('chattray:k:conversation', '7')
    let asked = 0
    const { user } = show(({ method, path }) => (method === 'POST' || !path.startsWith('/api/chats/7') || ++asked > 1 ? undefined : chat([message('a1', 'assistant', 'First.')])), {}, 'k')
    await screen.findByText('First.')
    await user.type(input(), 'and then?{Enter}')
    await screen.findByText('How can I help?')
    await waitFor(() => expect(input().value).toBe('and then?'))
    expect((await screen.findByRole('alert')).textContent).toContain('It is no longer there')
  })
})

describe('stop', () => {
  it('cancels a run as soon as it has a name', async () => {
    const { response, go } = slow()
    const { user, calls } = show(({ method, path }) => {
      if (path.endsWith('/cancel')) return json({ run_id: 'r' })
      return method === 'POST' ? response : undefined
    })
    await user.type(input(), 'one{Enter}')
    await user.click(screen.getByRole('button', { name: 'Stop' }))
    await screen.findByText('Stopping…')
    go(sse([event('stream_start', { run_id: 'r', conversation_id: 7 }), event('stream_end', { status: 'cancelled', message_id: 'a' })]))
    await screen.findByText('You stopped this answer.')
    expect(calls.map((c) => c.path)).toContain('/api/chat/runs/r/cancel')
  })

  it('uses a new connection when the present one does not tell of it', async () => {
    const usual = STORE_LIMITS.news
    STORE_LIMITS.news = 10
    onTestFinished(() => void (STORE_LIMITS.news = usual))
    const { response, send } = live('r')
    const { user, calls } = show(({ method, path }) => {
      if (path.endsWith('/cancel')) return json({ run_id: 'r' })
      if (path.includes('/runs/r/stream')) return sse([event('stream_end', { status: 'cancelled', message_id: 'a' })], 3)
      return method === 'POST' ? response : undefined
    })
    await user.type(input(), 'one{Enter}')
    act(() => send([event('stream_start', { run_id: 'r', conversation_id: 7 }), frame('text', { content: 'Half' }, { message_id: 'M1' })]))
    await screen.findByText('Half')
    await user.click(screen.getByRole('button', { name: 'Stop' }))
    await screen.findByText('You stopped this answer.')
    expect(calls.filter((c) => c.path.includes('/stream?')).map((c) => c.method)).toEqual(['POST', 'GET'])
  })

  it('is asked for again once the service can be reached', async () => {
    const { response, send } = live('r')
    let away = true
    const { user, calls } = show(({ method, path }) => {
      if (path.endsWith('/cancel')) return away ? Promise.reject(new TypeError('offline')) : json({ run_id: 'r' })
      if (path.includes('/runs/r/stream')) {
        away = false
        return sse([frame('text', { content: ' more' }, { message_id: 'M1', delta: true }), event('stream_end', { status: 'cancelled', message_id: 'a' })], 3)
      }
      return method === 'POST' ? response : undefined
    })
    await user.type(input(), 'one{Enter}')
    act(() => send([event('stream_start', { run_id: 'r', conversation_id: 7 }), frame('text', { content: 'Half' }, { message_id: 'M1' })]))
    await screen.findByText('Half')
    await user.click(screen.getByRole('button', { name: 'Stop' }))
    await screen.findByText('You stopped this answer.')
    expect(calls.filter((c) => c.path.endsWith('/cancel'))).toHaveLength(2)
  })

  it('says so when the service refuses', async () => {
    const { response, send } = live('r')
    const { user } = show(({ method, path }) => (path.endsWith('/cancel') ? json({ detail: 'a fault', code: 'internal' }, 500) : method === 'POST' ? response : undefined))
    await user.type(input(), 'one{Enter}')
    act(() => send([event('stream_start', { run_id: 'r', conversation_id: 7 })]))
    await user.click(await screen.findByRole('button', { name: 'Stop' }))
    expect(within(await screen.findByRole('alert')).getByText('a fault')).toBeTruthy()
    act(() => send(answerFrames('Whole.').slice(-1), true))
    await screen.findByText('Whole.')
  })

  it('gives a message back that did not get through', async () => {
    const { user } = show(({ method }) => (method === 'POST' ? Promise.reject(new TypeError('offline')) : undefined))
    await user.type(input(), 'one{Enter}')
    await screen.findByText('Connection lost. Reconnecting…')
    await user.click(screen.getByRole('button', { name: 'Stop' }))
    await waitFor(() => expect(input().value).toBe('one'))
    expect(screen.queryByLabelText('You')).toBeNull()
  })
})

describe('a proposal', () => {
  const payload = { payload_id: 'p1', type: 'thing', data: {} }
  const answer: Answer = ({ method, path }) => (method === 'POST' && path.startsWith('/api/chat/') ? sse(answerFrames('x', { payloads: [payload], custom_payload: payload })) : undefined)

  it('is accepted once, however often it is clicked', async () => {
    const { response, go } = slow()
    const onAccept = vi.fn()
    const { user } = show((call) => (call.path.includes('/resolve') ? response : answer(call)), { payloadHandlers: { thing: { render: () => <p>card</p>, onAccept } } })
    await user.type(input(), 'x{Enter}')
    await user.dblClick(await screen.findByRole('button', { name: 'Accept' }))
    go(json({ ...payload, outcome: 'accepted' }))
    await waitFor(() => expect(screen.queryByText('card')).toBeNull())
    expect(onAccept).toHaveBeenCalledTimes(1)
  })

  it('is shown as JSON when its card throws', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => undefined)
    const broken = () => {
      throw new Error('broken')
    }
    const { user } = show((call) => answer(call), { payloadHandlers: { thing: { render: broken, onAccept: () => undefined } } })
    await user.type(input(), 'x{Enter}')
    await screen.findByText('{}', { selector: '.ct-json' })
    expect(screen.getByRole('button', { name: 'Accept' })).toBeTruthy()
  })

  it('keeps the focus when its card takes away what had it', async () => {
    function Card() {
      const [done, setDone] = useState(false)
      return done ? <p>done</p> : <button onClick={() => setDone(true)}>do it</button>
    }
    const { user } = show((call) => answer(call), { openPayloads: 'all', payloadHandlers: { thing: { render: () => <Card />, renderOptions: { headerTitle: 'Mine' } } } })
    await user.type(input(), 'x{Enter}')
    await user.click(await screen.findByText('do it'))
    await screen.findByText('done')
    await waitFor(() => expect(document.activeElement?.getAttribute('aria-label')).toBe('Mine'))
  })

  it('is not accepted again by the page when only keeping the decision failed', async () => {
    let asked = 0
    const onAccept = vi.fn()
    const { user } = show((call) => (call.path.includes('/resolve') ? (++asked === 1 ? json({ detail: 'away', code: 'unavailable' }, 503) : json({ ...payload, outcome: 'accepted' })) : answer(call)), { payloadHandlers: { thing: { render: () => <p>card</p>, onAccept } } })
    await user.type(input(), 'x{Enter}')
    await user.click(await screen.findByRole('button', { name: 'Accept' }))
    expect((await screen.findByRole('alert')).textContent).toBe('away')
    await user.click(screen.getByRole('button', { name: 'Accept' }))
    await waitFor(() => expect(screen.queryByText('card')).toBeNull())
    expect(onAccept).toHaveBeenCalledTimes(1)
  })
})

it('of several files that cannot be attached, each is named', async () => {
  show(() => undefined)
  const bad = (name: string) => new File([new Uint8Array([0xff, 0])], name, { type: 'application/x' })
  const files = [bad('one.bin'), new File(['text'], 'good.txt', { type: 'text/plain' }), bad('two.bin')]
  fireEvent.drop(screen.getByRole('log'), { dataTransfer: { types: ['Files'], files } })
  await screen.findByLabelText('Remove: good.txt')
  await waitFor(() => expect(screen.getByRole('alert').textContent).toBe('one.bin is neither text, an image nor a PDF. two.bin is neither text, an image nor a PDF.'))
})
