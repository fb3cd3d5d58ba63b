import { expect, it, onTestFinished, vi } from 'vitest'
import { ChatStore } from '../src'
import { fakeApi, json } from './fakes'
import { chat, message } from './shown'

/** Two tabs that show the same chat. */
async function tabs() {
  sessionStorage.setItem('chattray:two:conversation', '7')
  const { api } = fakeApi(({ method, path }) => (method === 'GET' && path.startsWith('/api/chats/7') ? chat([message('q1', 'user', 'one'), message('a1', 'assistant', 'First.')]) : json({})))
  const all = [0, 1].map(() => new ChatStore({ api, storageKey: 'two' })) as [ChatStore, ChatStore]
  for (const store of all) {
    onTestFinished(store.connect())
    await store.restore()
  }
  return all
}

it('a rating and a title that one tab gives are in the other one too', async () => {
  const [one, other] = await tabs()
  const rated = () => other.getSnapshot().messages.find(({ id }) => id === 'a1')?.feedback
  await one.feedback('a1', { rating: 'down', comment: 'No.' })
  await vi.waitFor(() => expect(rated()).toEqual({ rating: 'down', comment: 'No.' }))
  await one.feedback('a1', null)
  await vi.waitFor(() => expect(rated()).toBeUndefined())
  await one.rename(7, 'Gold')
  await vi.waitFor(() => expect(other.getSnapshot().title).toBe('Gold'))
})

it('a tab whose browser refuses the channel with the storage shows its chat', async () => {
  vi.stubGlobal('BroadcastChannel', class {
    constructor() {
      throw new DOMException('The operation is insecure.', 'SecurityError')
    }
  })
  onTestFinished(() => void vi.unstubAllGlobals())
  const [one] = await tabs()
  expect(one.getSnapshot().messages.map(({ content }) => content)).toEqual(['one', 'First.'])
})

it('what a tab with another version of the tray tells, and this one does not know, changes nothing', async () => {
  const [one, other] = await tabs()
  const foreign = new BroadcastChannel('chattray:two')
  onTestFinished(() => foreign.close())
  foreign.postMessage({ kind: 'event', conversationId: 7, event: { type: 'starred', messageId: 'a1' } })
  await one.rename(7, 'Gold')
  await vi.waitFor(() => expect(other.getSnapshot().title).toBe('Gold'))
  expect(other.getSnapshot().messages.map(({ content }) => content)).toEqual(['one', 'First.'])
})
