import { screen, waitFor } from '@testing-library/react'
import { expect, it } from 'vitest'
import { answerFrames, json } from './fakes'
import { chat, input, live, message, settled, show } from './shown'

const asked = (n: number) => message(`q${n}`, 'user', `Question ${n}.`, { run_id: `run ${n}` })
const answered = (n: number) => message(`a${n}`, 'assistant', `Answer ${n}.`, { run_id: `run ${n}` })
/** The frames of a run that answers a question. */
function frames(n: number, question = n, payload: object = {}) {
  const list = answerFrames(`Answer ${n}.`, { message_id: `a${n}`, run_id: `run ${n}`, ...payload })
  Object.assign(list[0]!.props!.data as object, { run_id: `run ${n}`, user_message_id: `q${question}` })
  return list
}
const order = () => screen.getByRole('log').textContent!.match(/(Question|Answer) \d/g)

it('answers follow their questions while others wait in the service, and are followed one after the other', async () => {
  localStorage.setItem('chattray:order:conversation', '7')
  let stored = [asked(1), asked(2), asked(3)]
  let active: number | undefined = 1
  const streams = [1, 2, 3].map((n) => live(`run ${n}`))
  const { calls, user } = show(({ path }) => {
    if (path.startsWith('/api/chats/7?')) return chat(stored, { active_run_id: active && `run ${active}` })
    return streams[Number(/run%20(\d)\/stream/.exec(path)?.[1]) - 1]?.response
  }, {}, 'order')
  const [one, two] = [frames(1), frames(2)]
  await screen.findByText('Question 3.')
  streams[0]!.send(one.slice(0, 3))
  await waitFor(() => expect(order()).toEqual(['Question 1', 'Answer 1', 'Question 2', 'Question 3']))

  stored = [asked(1), answered(1), asked(2), asked(3)]
  active = 2
  streams[0]!.send(one.slice(3), true)
  await waitFor(() => expect(calls.some((c) => c.path.includes('run%202/stream'))).toBe(true))
  expect(order()).toEqual(['Question 1', 'Answer 1', 'Question 2', 'Question 3'])
  streams[1]!.send(two.slice(0, 3))
  await waitFor(() => expect(order()).toEqual(['Question 1', 'Answer 1', 'Question 2', 'Answer 2', 'Question 3']))
  expect(screen.queryByText('You stopped this answer.')).toBeNull()
  await user.type(input(), '{ArrowUp}')
  expect(input().value).toBe('Question 3.')

  stored = [asked(1), answered(1), asked(2), answered(2), asked(3)] // the last one was cancelled in the queue
  active = undefined
  streams[1]!.send(two.slice(3), true)
  await screen.findByText('You stopped this answer.')
  await settled()
  expect(order()).toEqual(['Question 1', 'Answer 1', 'Question 2', 'Answer 2', 'Question 3'])
})

it('an answer that is generated again comes after its question while others wait in the service', async () => {
  localStorage.setItem('chattray:order:conversation', '7')
  let stored = [asked(1), asked(2)]
  let active: string | undefined = 'run 5'
  const stream = live('run 5')
  show(({ path }) => {
    if (path.startsWith('/api/chats/7?')) return chat(stored, { active_run_id: active })
    return path.includes('run%205/stream') ? stream.response : undefined
  }, {}, 'order')
  const again = frames(5, 1)
  await screen.findByText('Question 2.')
  stream.send(again.slice(0, 3))
  await waitFor(() => expect(order()).toEqual(['Question 1', 'Answer 5', 'Question 2']))

  stored = [asked(1), message('a5', 'assistant', 'Answer 5.', { run_id: 'run 5' }), asked(2), answered(2)]
  active = undefined
  stream.send(again.slice(3), true)
  await waitFor(() => expect(order()).toEqual(['Question 1', 'Answer 5', 'Question 2', 'Answer 2']))
  await settled()
})

it('a panel stays open when a question that waits in the service has its turn', async () => {
  localStorage.setItem('chattray:order:conversation', '7')
  const payload = { type: 'note', payload_id: 'p', data: {}, summary: 'Two orders', source: 'tool' }
  let stored: object[] = [asked(1), asked(2)]
  let active = 1
  const streams = [1, 2].map((n) => live(`run ${n}`))
  show(({ path }) => {
    if (path.startsWith('/api/chats/7?')) return chat(stored, { active_run_id: `run ${active}` })
    return streams[Number(/run%20(\d)\/stream/.exec(path)?.[1]) - 1]?.response
  }, { payloadHandlers: { note: { render: () => <p>card</p>, onAccept: () => undefined } } }, 'order')
  await screen.findByText('Question 2.')
  const [one, two] = [frames(1, 1, { payloads: [payload], custom_payload: payload }), frames(2)]
  stored = [asked(1), { ...answered(1), payloads: [payload], custom_payload: payload }, asked(2)]
  active = 2
  streams[0]!.send(one, true)
  streams[1]!.send(two.slice(0, 3))
  await waitFor(() => expect(order()).toEqual(['Question 1', 'Answer 1', 'Question 2', 'Answer 2']))
  screen.getByText('card')
})

it('a chat that cannot be read at the end of an answer says so, and can be tried again', async () => {
  localStorage.setItem('chattray:order:conversation', '7')
  const streams = [1, 2].map((n) => live(`run ${n}`))
  let stored = [asked(1), asked(2)]
  let active = 1
  let away = false
  const { user } = show(({ path }) => {
    if (path.startsWith('/api/chats/7?')) return away ? json({ detail: 'away', code: 'unavailable', status: 503 }, 503) : chat(stored, { active_run_id: `run ${active}` })
    return streams[Number(/run%20(\d)\/stream/.exec(path)?.[1]) - 1]?.response
  }, {}, 'order')
  await screen.findByText('Question 2.')
  const [one, two] = [frames(1), frames(2)]
  stored = [asked(1), answered(1), asked(2)]
  active = 2
  away = true
  streams[0]!.send(one, true)
  const again = await screen.findByRole('button', { name: 'Try again' })
  expect(order()).toEqual(['Question 1', 'Answer 1', 'Question 2'])
  away = false
  await user.click(again)
  streams[1]!.send(two, true)
  await waitFor(() => expect(order()).toEqual(['Question 1', 'Answer 1', 'Question 2', 'Answer 2']))
  await settled()
})
