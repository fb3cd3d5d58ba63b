import { jsonOf, newKey } from '../api/client'
import type { ChatRequest, Run, RunList } from '../api/types'
import type { Drafts } from './drafts'
import { keepText, keptText } from './kept'
import { KeptChat } from './keptChat'
import { MAX_QUEUED, QueueMemory } from './queue'
import type { SendOptions } from './request'
import { LOCAL_ID, type Failure, type Queued, type Unsent } from './state'

/** A message that was sent, and whether it became a run. It is sent again as the same request. */
export interface Pending {
  message: string
  options: SendOptions
  request: ChatRequest
  key: string
  accepted: boolean
}

/** The parts around sending messages: those that go back to the composer, waiting messages, versions, the model, the title. */
export abstract class WaitingChat extends KeptChat {
  abstract sendMessage(message: string, options?: SendOptions): Promise<void>
  abstract keyOf(part?: string): string
  abstract readonly drafts: Drafts
  private readonly queues: QueueMemory
  private titleTimer: ReturnType<typeof setTimeout> | undefined
  /** The last message that was sent. */
  protected pending: Pending | null = null
  /** The last message that waited and was sent. It is kept among those that wait until it has arrived. */
  protected leaving: Queued | null = null
  /** The chat of the last visit, if it no longer exists. */
  protected gone: number | null = null

  constructor(name: string) {
    super()
    this.queues = new QueueMemory(name)
  }

  abstract subscribe(listener: () => void): () => void

  /** Waits until the chat is open. */
  protected opened(): Promise<void> {
    return new Promise((resolve) => {
      const leave = this.subscribe(() => {
        if (this.state.isOpening) return
        leave()
        resolve()
      })
    })
  }

  /** Hides the error. A message that was not sent goes back to the composer. */
  dismissError(): void {
    this.set({ error: null })
    const unsent = this.state.isLoading ? null : this.takeBack()
    if (unsent) this.giveBack(unsent)
  }

  /** Removes a message that never became a run from the conversation. */
  protected takeBack(): Unsent | null {
    const { pending } = this
    if (!pending || pending.accepted) return null
    this.pending = null
    this.state = { ...this.state, messages: this.state.messages.filter((m) => !m.id.startsWith(LOCAL_ID)) }
    return pending.options.action || pending.message === '' ? null : { message: pending.message, attachments: pending.options.attachments ?? [], key: pending.key }
  }

  /** Another chat is opened. A message of the page that is on its way goes to the composer unless it has arrived; others have their own place, and a key. */
  protected async leaveSent(): Promise<void> {
    const own = this.pending?.options.key
    const unsent = this.takeBack()
    this.pending = null
    if (!unsent || own || (await this.runOf(unsent.key!).catch(() => null))) return
    if (this.state.isOpening) await this.opened()
    this.giveBack(joined([this.state.unsent, unsent]), this.state.error)
  }

  /** The service has the last message that was sent. */
  protected arrived(): void {
    if (!this.pending) return
    this.pending.accepted = true
    this.forgetSent(this.pending.key)
  }

  protected forgetSent(key = ''): void {
    this.drafts.arrived(key)
    if (this.leaving?.id !== key) return
    this.leaving = null
    this.setQueue(this.state.queue)
  }

  /** The run that was started by the request with this key; undefined if there is none. */
  runOf(key: string): Promise<Run | undefined> {
    return jsonOf(this.api.send)<RunList>('GET', `/api/chat/runs?idempotency_key=${encodeURIComponent(key)}`).then((list) => list.items[0])
  }

  /** Whether a message is on its way, or can be tried again. */
  isPending(key: string): boolean {
    return this.pending?.key === key
  }

  protected giveBack(unsent: Unsent | null, failure: Failure | null = null): void {
    this.set({ error: failure, unsent })
  }

  /** Ends a request that never became a run; its message goes back to the composer. */
  protected giveUp(failure: Failure | null = null): void {
    const unsent = this.takeBack()
    this.dispatch({ type: 'settled' })
    this.giveBack(unsent, failure)
  }

  /** Leaves the open chat, which was deleted elsewhere. Its messages that wait go back to the composer, after `unsent`. */
  protected leaveDeleted(unsent: Unsent | null, failure: Failure | null): void {
    const all = joined([unsent, ...this.state.queue])
    if (!failure) this.gone = this.state.conversationId
    this.setQueue([])
    this.newChat()
    this.giveBack(all, failure)
  }

  /** Returns a message that could not be sent to the composer, once. */
  takeUnsent(): Unsent | null {
    const { unsent } = this.state
    if (unsent) this.set({ unsent: null })
    this.forgetSent(unsent?.key)
    return unsent
  }

  protected keptModel(): string {
    return keptText('localStorage', this.keyOf('model')) ?? ''
  }

  /** Queues a message until the current answer has ended; false if too many wait. */
  enqueue(message: string, attachments: Unsent['attachments'] = [], interactionType?: Queued['interactionType']): boolean {
    const { queue } = this.state
    if (queue.length >= MAX_QUEUED) return false
    this.setQueue([...queue, { id: newKey(), message, attachments, interactionType }])
    void this.sendQueued()
    return true
  }

  /** Queues a message. If too many wait, or another chat than the message's was opened, it goes to the composer. An action, and what changes an earlier message, cannot wait and is not sent. */
  protected wait(message: string, { action, editMessageId, regenerateMessageId, attachments = [], interactionType, key = '' }: SendOptions, moved: boolean): void {
    this.drafts.arrived(key)
    if (!action && !editMessageId && !regenerateMessageId && (moved || !this.enqueue(message, attachments, interactionType))) this.giveBack(joined([this.state.unsent, { message, attachments }]), this.state.error)
  }

  /** Takes a message out of the queue and returns it. */
  unqueue(id: string): Queued | undefined {
    const taken = this.state.queue.find((m) => m.id === id)
    this.setQueue(this.state.queue.filter((m) => m.id !== id))
    return taken
  }

  private setQueue(queue: readonly Queued[]): void {
    this.set({ queue })
    this.queues.keep(this.state.conversationId, [...(this.leaving ? [this.leaving] : []), ...queue])
  }

  /** Sends the next message that waits, after a complete answer, or when the user wants it. */
  async sendQueued(anyway = false): Promise<void> {
    const { queue, isLoading, isOpening, error, messages } = this.state
    const [next] = queue
    const last = messages.at(-1)
    const held = error !== null || last?.status === 'cancelled' || last?.status === 'error' || last?.role === 'user'
    if (!next || isLoading || isOpening || (held && !anyway)) return
    this.leaving = next
    this.unqueue(next.id)
    await this.sendMessage(next.message, { attachments: next.attachments, interactionType: next.interactionType, key: next.id, waits: true })
  }

  /** Reads the messages that wait in a chat. The first was sent already if the page was left before it was known to have arrived. */
  protected async readQueue(conversationId: number): Promise<void> {
    this.leaving = null
    const queue = this.queues.read(conversationId)
    this.set({ queue })
    const [first] = queue
    if (first && (await this.about(() => this.runOf(first.id)).catch(() => null))) this.unqueue(first.id)
  }

  /** Uses another model from the next message on; empty means the page's model, or the service's default. */
  chooseModel(model: string): void {
    this.set({ model })
    keepText('localStorage', this.keyOf('model'), model)
  }

  /** The service may give a new chat a title some time after its first answer. */
  protected lookForTitle(after = TITLE_AFTER): void {
    clearTimeout(this.titleTimer)
    this.titleTimer = setTimeout(() => void this.readTitle(after), after)
  }

  /** Shows the title that was read of the open chat, unless it had another one before by then. */
  protected titled(before: string, read = before): void {
    if (this.state.title === before && read !== before) this.set({ title: read })
  }

  private async readTitle(after: number): Promise<void> {
    const { title } = this.state
    const chat = await this.about((id) => this.api.getChat(id, { limit: 1 }).catch(() => null))
    if (chat === undefined) return
    this.titled(title, chat?.title)
    if (this.state.title === title && after === TITLE_AFTER) this.lookForTitle(4 * after)
  }

  /** After another version was requested: loads the list of versions; if there was no answer, the previous version is shown again. */
  protected async answeredAgain({ editMessageId, regenerateMessageId }: SendOptions): Promise<void> {
    const { conversationId, isLoading, messages } = this.state
    if (!(editMessageId || regenerateMessageId) || conversationId === null || isLoading) return
    const last = messages.at(-1)
    if (regenerateMessageId && last?.role === 'user') return this.selectVersion(regenerateMessageId)
    const replaced = regenerateMessageId ? last : messages.findLast((m) => m.role === 'user')
    if (replaced && !/^(answer|local):/.test(replaced.id)) await this.learnVersion(conversationId, replaced.id).catch(() => undefined)
  }

  /** Cancels all timers. */
  protected forget(): void {
    clearTimeout(this.titleTimer)
  }
}

/** Messages as one. */
function joined(all: readonly (Unsent | null)[]): Unsent | null {
  const some = all.filter((m) => m !== null)
  return some[0] ? { key: some[0].key, message: some.map((m) => m.message).join('\n'), attachments: some.flatMap((m) => m.attachments) } : null
}

/** Milliseconds after a first answer at which the title is asked for; it is asked for once more after four times as many. */
const TITLE_AFTER = 2_500
