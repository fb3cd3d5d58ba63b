import { jsonOf, newKey } from '../../api/client'
import type { ChatRequest, Run, RunList } from '../../api/types'
import { keepList, keptList } from '../kept'
import { LOCAL_ID, type Failure, type Queued, type SendOptions, type Unsent } from '../values/state'
import type { Drafts } from './drafts'
import type { StateHolder } from './stateHolder'

/** Messages that wait in a chat, at most. */
const MAX_QUEUED = 10

/** A message that was sent, and whether it became a run. It is sent again as the same request. */
export interface Pending {
  message: string
  options: SendOptions
  request: ChatRequest
  key: string
  accepted: boolean
}

export type Outbox = ReturnType<typeof createOutbox>

/**
 * The messages that the service does not have yet: those that wait for the end of the current answer, and the one on its way. One
 * that does not become a run goes back to the composer. The tab stores those that wait by chat, under `key`, so that a reload does
 * not lose them; without one nothing is stored. `send` sends one that waited.
 */
export function createOutbox(chat: StateHolder, drafts: Drafts, key: string, send: (message: Queued) => Promise<void>) {
  /** The last message that was sent. */
  let pending: Pending | null = null
  /** The last message that waited and was sent. It is stored with those that wait until it has arrived. */
  let leaving: Queued | null = null
  /** The last message that was sent, if it has not become a run. */
  const unaccepted = () => (pending?.accepted ? null : pending)

  /** Removes a message that never became a run from the conversation. The next change shows it. */
  function takeBack(): Unsent | null {
    const back = unaccepted()
    if (!back) return null
    pending = null
    chat.state = { ...chat.state, messages: chat.state.messages.filter((m) => !m.id.startsWith(LOCAL_ID)) }
    return back.options.action || back.message === '' ? null : { message: back.message, attachments: back.options.attachments ?? [], key: back.key }
  }

  function giveBack(unsent: Unsent | null, error: Failure | null = null): void {
    chat.set({ error, unsent })
  }

  /** Gives back one message more. */
  const giveMore = (unsent: Unsent) => giveBack(joined([chat.state.unsent, unsent]), chat.state.error)

  /** The service, or the user, has the message with this key. */
  function forget(sent = ''): void {
    drafts.arrived(sent)
    if (leaving?.id !== sent) return
    leaving = null
    setQueue(chat.state.queue)
  }

  const place = (conversationId: number) => key && `${key}:${conversationId}`

  function setQueue(queue: readonly Queued[]): void {
    chat.set({ queue })
    const { conversationId } = chat.state
    if (conversationId !== null) keepList('sessionStorage', place(conversationId), [...(leaving ? [leaving] : []), ...queue])
  }

  function unqueue(id: string): Queued | undefined {
    const { queue } = chat.state
    setQueue(queue.filter((m) => m.id !== id))
    return queue.find((m) => m.id === id)
  }

  async function sendQueued(anyway = false): Promise<void> {
    const { queue, isLoading, isOpening, error, messages } = chat.state
    const [first] = queue
    const last = messages.at(-1)
    const held = error !== null || last?.status === 'cancelled' || last?.status === 'error' || last?.role === 'user'
    if (!first || isLoading || isOpening || (held && !anyway)) return
    leaving = first
    unqueue(first.id)
    await send(first)
  }

  function enqueue(message: string, attachments: Unsent['attachments'] = [], interactionType?: Queued['interactionType']): boolean {
    const { queue } = chat.state
    if (queue.length >= MAX_QUEUED) return false
    setQueue([...queue, { id: newKey(), message, attachments, interactionType }])
    void sendQueued()
    return true
  }

  const runOf = (key: string): Promise<Run | undefined> =>
    jsonOf(chat.api.send)<RunList>('GET', `/api/chat/runs?idempotency_key=${encodeURIComponent(key)}`).then((list) => list.items[0])

  return {
    /** What the store offers of it. */
    offers: {
      runOf, enqueue, unqueue, sendQueued,
      isPending: (sent: string): boolean => pending?.key === sent,

      takeUnsent(): Unsent | null {
        const { unsent } = chat.state
        if (unsent) chat.set({ unsent: null })
        forget(unsent?.key)
        return unsent
      },
    },

    unaccepted, takeBack, giveBack, forget,

    /** A message is sent, also again. It returns another one that never became a run. */
    put(sent: Pending): Unsent | null {
      const again = pending === sent
      const left = takeBack()
      pending = sent
      return again ? null : left
    },

    /** Ends a request that never became a run; its message goes back to the composer. */
    giveUp(failure?: Failure): void {
      const unsent = takeBack()
      chat.dispatch({ type: 'settled' })
      giveBack(unsent, failure)
    },

    /** Another chat is opened. A message of the page that is on its way goes to the composer unless it has arrived; others have their own place, and a key. Those that wait stay stored. */
    async leave(): Promise<void> {
      const own = pending?.options.key
      const unsent = takeBack()
      pending = leaving = null
      if (!unsent || own || (await runOf(unsent.key!).catch(() => null))) return
      if (chat.state.isOpening) await chat.opened()
      giveMore(unsent)
    },

    /** Takes all that wait in the open chat. */
    takeAll(): readonly Queued[] {
      const { queue } = chat.state
      setQueue([])
      return queue
    },

    /** Reads the messages that wait in a chat. The first was sent already if the page was left before it was known to have arrived. */
    async readQueue(conversationId: number): Promise<void> {
      const queue = keptList('sessionStorage', place(conversationId)).filter(isQueued).slice(0, MAX_QUEUED + 1)
      chat.set({ queue })
      const [first] = queue
      if (first && (await chat.about(() => runOf(first.id)).catch(() => null))) unqueue(first.id)
    },

    /** A message waits for the end of the current answer. If too many wait, or another chat than the message's was opened, it goes to the composer. An action, and what changes an earlier message, cannot wait and is not sent. */
    wait(message: string, { action, editMessageId, regenerateMessageId, attachments = [], interactionType, key = '' }: SendOptions, moved: boolean): void {
      drafts.arrived(key)
      if (!action && !editMessageId && !regenerateMessageId && (moved || !enqueue(message, attachments, interactionType))) giveMore({ message, attachments })
    },

    /** The service has the last message that was sent. */
    arrived(): void {
      if (!pending) return
      pending.accepted = true
      forget(pending.key)
    },
  }
}

/** Messages as one. */
export function joined(all: readonly (Unsent | null)[]): Unsent | null {
  const some = all.filter((m) => m !== null)
  return some[0] ? { key: some[0].key, message: some.map((m) => m.message).join('\n'), attachments: some.flatMap((m) => m.attachments) } : null
}

function isQueued(value: unknown): value is Queued {
  const queued = value as Partial<Queued> | null
  return typeof queued?.id === 'string' && typeof queued.message === 'string' && Array.isArray(queued.attachments)
}
