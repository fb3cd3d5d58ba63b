import { act, screen, waitFor } from '@testing-library/react'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ChatStore } from '../src'
import { STORE_LIMITS } from '../src/state/store/limits'
import { event, fakeApi, frame } from './fakes'
import { chat, input, live, message, posts, show } from './shown'

const gone = 'It is no longer there. It may have been deleted.'
const stopped = 'You stopped this answer.'
const begin = [event('stream_start', { run_id: 'r', conversation_id: 7, user_message_id: 'q1' }), frame('text', { content: 'Half' }, { message_id: 'M1', delta: true })]
const end = [event('stream_end', { status: 'cancelled', message_id: 'a1' })]
const file = new File(['notes'], 'notes.md', { type: 'text/markdown' })
const shownQueue = () => screen.queryAllByRole('listitem').map((item) => item.textContent).filter((words) => words === 'two' || words === 'three')

/** A tray whose answer is being written, with two messages that wait, one with a file. */
async function withQueue(stored: () => Response | undefined) {
  const { response, send } = live('r')
  const { user, calls } = show(({ method, path }) => (method === 'POST' ? response : path.startsWith('/api/chats/7?') ? stored() : undefined), {}, 'k')
  await user.type(input(), 'one{Enter}')
  act(() => send(begin))
  await screen.findByText('Half')
  await user.upload(document.querySelector<HTMLInputElement>('input[type=file]')!, file)
  await screen.findByLabelText('Remove: notes.md')
  await user.type(input(), 'two{Enter}')
  await user.type(input(), 'three{Enter}')
  await waitFor(() => expect(shownQueue()).toEqual(['two', 'three']))
  return { calls, send }
}

async function expectGivenBack() {
  await waitFor(() => expect(input().value).toBe('two\nthree'))
  await screen.findByText('How can I help?')
  await screen.findByLabelText('Remove: notes.md')
  expect(shownQueue()).toEqual([])
  expect((await screen.findByRole('alert')).textContent).toContain(gone)
  expect(Object.keys(sessionStorage).filter((key) => key.includes(':queue:'))).toEqual([])
}

describe('the messages that wait in a chat that is deleted elsewhere', () => {
  it('go back to the composer when its run ends, and nobody is told to have stopped it', async () => {
    const usual = STORE_LIMITS.deletion
    STORE_LIMITS.deletion = 20
    onTestFinished(() => void (STORE_LIMITS.deletion = usual))
    const { calls, send } = await withQueue(() => undefined)
    const seen: string[] = []
    const watch = new MutationObserver(() => seen.push(document.body.textContent ?? ''))
    watch.observe(document.body, { subtree: true, childList: true, characterData: true })
    act(() => send(end, true))
    await expectGivenBack()
    watch.disconnect()
    expect(seen.filter((words) => words.includes(stopped))).toEqual([])
    expect(posts(calls)).toHaveLength(1)
  })

  it('go back to the composer when another tab tells it', async () => {
    await withQueue(() => undefined)
    const other = new ChatStore({ api: fakeApi(({ method }) => (method === 'DELETE' ? new Response(null, { status: 204 }) : undefined)).api, storageKey: 'k' })
    onTestFinished(other.connect())
    await other.remove(7)
    await expectGivenBack()
  })

  it('go back to the composer when the page is seen again after the run has ended', async () => {
    let deleted = false
    const { send } = await withQueue(() => (deleted ? undefined : chat([message('q1', 'user', 'one'), message('a1', 'assistant', 'Half', { status: 'cancelled' })])))
    const usual = STORE_LIMITS.deletion
    STORE_LIMITS.deletion = 1
    onTestFinished(() => void (STORE_LIMITS.deletion = usual))
    act(() => send(end, true))
    await screen.findByText(stopped)
    expect(shownQueue()).toEqual(['two', 'three'])
    deleted = true
    act(() => void document.dispatchEvent(new Event('visibilitychange')))
    await expectGivenBack()
  })

  it('go back to the composer when the page is loaded again', async () => {
    sessionStorage.setItem('chattray:k:conversation', '7')
    sessionStorage.setItem('chattray:k:queue:7', JSON.stringify([{ id: '1', message: 'two', attachments: [{ name: 'notes.md', mime: 'text/markdown', content: 'notes' }] }, { id: '2', message: 'three', attachments: [] }]))
    show(() => undefined, {}, 'k')
    await expectGivenBack()
  })
})

it('a chat that is gone when the page is loaded, without messages that wait, is a new chat without an error', async () => {
  sessionStorage.setItem('chattray:k:conversation', '7')
  const { calls } = show(() => undefined, {}, 'k')
  await waitFor(() => expect(calls.map((c) => c.path)).toContain('/api/chats/7?limit=50'))
  await screen.findByText('How can I help?')
  expect(screen.queryByRole('alert')).toBeNull()
})

it('what is typed in a chat that is deleted elsewhere stays in the composer, with its files', async () => {
  sessionStorage.setItem('chattray:k:conversation', '7')
  let deleted = false
  const { user } = show(({ path }) => (path.startsWith('/api/chats/7?') && !deleted ? chat([message('q1', 'user', 'one'), message('a1', 'assistant', 'Done.')]) : undefined), {}, 'k')
  await screen.findByText('Done.')
  await user.type(input(), 'half a question')
  await user.upload(document.querySelector<HTMLInputElement>('input[type=file]')!, file)
  await screen.findByLabelText('Remove: notes.md')
  deleted = true
  act(() => void document.dispatchEvent(new Event('visibilitychange')))
  expect((await screen.findByRole('alert')).textContent).toContain(gone)
  expect(input().value).toBe('half a question')
  screen.getByLabelText('Remove: notes.md')
})
