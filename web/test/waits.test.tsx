import { act, fireEvent, screen, waitFor } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { useChatContext } from '../src'
import { answerFrames, event, sse } from './fakes'
import { chat, input, live, message, posts, show } from './shown'

const start = [event('stream_start', { run_id: 'run-1', conversation_id: 7, user_message_id: 'q0' })]

describe('what is sent while an answer is written', () => {
  /** A tray whose first answer is being written, and the function with which a card of the page sends. */
  async function answering(storageKey = '') {
    const { response, send } = live('run-1')
    let asked = 0
    let page: ReturnType<typeof useChatContext>['sendMessage'] = () => Promise.reject()
    function Page() {
      page = useChatContext().sendMessage
      return null
    }
    const shown = show(({ method, path }) => (method === 'POST' && path.startsWith('/api/chat/stream') ? (++asked === 1 ? response : sse(answerFrames(`Answer ${asked}.`))) : undefined), { components: { Header: () => <Page /> } }, storageKey)
    await shown.user.type(input(), 'one{Enter}')
    act(() => send(start))
    return { ...shown, page, end: () => act(() => send(answerFrames('Answer 1.').slice(-1), true)) }
  }

  it('waits if it is a message of the page', async () => {
    const { calls, page, end } = await answering()
    await act(() => page('two', { attachments: [{ name: 'a.txt', mime: 'text/plain', content: 'A' }] }))
    expect((await screen.findByRole('list', { name: 'Waiting messages' })).textContent).toBe('two')
    end()
    await screen.findByText('Answer 2.')
    expect(posts(calls)).toMatchObject([{ message: 'one' }, { message: 'two', attachments: [{ name: 'a.txt' }] }])
  })

  it.each(['', 'k'])('keeps how the page has sent it, in the storage %j', async (storageKey) => {
    const { calls, page, end } = await answering(storageKey)
    await act(() => page('Blue', { interactionType: 'value_selected' }))
    await act(() => page('why'))
    if (storageKey) expect(JSON.parse(sessionStorage.getItem('chattray:k:queue:7')!)).toMatchObject([{ message: 'Blue', interactionType: 'value_selected' }, { message: 'why' }])
    end()
    await screen.findByText('Answer 3.')
    expect(posts(calls)).toMatchObject([{ interaction_type: 'text_input' }, { message: 'Blue', interaction_type: 'value_selected' }, { message: 'why', interaction_type: 'text_input' }])
  })

  it('goes to the input if too many wait', async () => {
    const { page } = await answering()
    await act(async () => {
      for (let n = 1; n <= 11; n++) await page(`more ${n}`)
    })
    await waitFor(() => expect(input().value).toBe('more 11'))
    expect(await screen.findAllByRole('listitem')).toHaveLength(10)
  })
})

it('a question that is being changed while another one is answered keeps its text, and can be sent after', async () => {
  sessionStorage.setItem('chattray:k:conversation', '7')
  const { response, send } = live('run-1')
  let asked = 0
  const { user, calls } = show(({ method, path }) => {
    if (path.startsWith('/api/chats/7')) return chat([message('q', 'user', 'x'), message('a', 'assistant', 'First.')])
    return method === 'POST' ? (++asked === 1 ? response : sse(answerFrames('Changed.'))) : undefined
  }, {}, 'k')
  await user.click(await screen.findByRole('button', { name: 'Edit' }))
  const field = await screen.findByRole<HTMLTextAreaElement>('textbox', { name: 'Edit message' })
  await user.type(input(), 'two{Enter}')
  act(() => send(start))
  await user.type(field, ' more{Enter}')
  expect(field.isConnected && field.value).toBe('x more')
  expect(screen.getByRole<HTMLButtonElement>('button', { name: 'Send again' }).disabled).toBe(true)
  act(() => send(answerFrames('Second.').slice(-1), true))
  await screen.findByText('Second.')
  fireEvent.change(field, { target: { value: '\u200b' } })
  await user.type(field, '{Enter}')
  fireEvent.change(field, { target: { value: 'x more' } })
  await user.type(field, '{Enter}')
  await screen.findByText('Changed.')
  expect(posts(calls)).toMatchObject([{ message: 'two' }, { message: 'x more', edit_message_id: 'q' }])
})
