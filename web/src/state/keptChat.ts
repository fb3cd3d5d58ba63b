import type { ChatApi } from '../api/client'
import { ApiError } from '../api/errors'
import type { Feedback } from '../api/types'
import { CUT_ID, type ChatEvent, type ChatState, type Failure } from './state'
import type { TabMessage } from './tabs'

/** Limits of a store. */
export const STORE_LIMITS = {
  /** Messages fetched at a time. */
  pageSize: 50,
  /** How long the stream may be silent, in milliseconds, after the service has done something to its run; then it gets a new connection. */
  news: 3_000,
  /** How long the service takes to delete a chat after the end of its run, in milliseconds. */
  deletion: 1_000,
}

/** Statuses of requests that the service would refuse again: malformed, not found, too large, not allowed. */
export const REFUSED_FOR_GOOD = new Set([400, 404, 413, 422])

/** Stored chats: older messages, and changes of feedback, decisions about payloads and titles. */
export abstract class KeptChat {
  abstract readonly api: ChatApi
  protected abstract state: ChatState
  abstract dispatch(event: ChatEvent): void
  abstract newChat(): void
  protected abstract tell(message: TabMessage): void

  protected set(set: Partial<ChatState>): void {
    this.dispatch({ type: 'set', set })
  }

  /** Asks about the open chat. There is no answer, and no error, if no chat is open, or another one when it comes. */
  protected async about<T>(ask: (conversationId: number) => Promise<T>): Promise<T | undefined> {
    const { conversationId } = this.state
    if (conversationId === null) return
    const isOpen = () => this.state.conversationId === conversationId
    try {
      const answer = await ask(conversationId)
      if (isOpen()) return answer
    } catch (error) {
      if (isOpen()) throw error
    }
  }

  /** Stores the user's rating of an answer of a chat, by default the open one, instead of an earlier one; null removes it. */
  async feedback(messageId: string, judgement: Feedback | null, { conversationId } = this.state as Pick<ChatState, 'conversationId'>): Promise<void> {
    if (conversationId === null) return
    const given = () => this.state.messages.find((m) => m.id === messageId)?.feedback
    const [before, feedback] = [given(), judgement ?? undefined]
    const event: ChatEvent = { type: 'message', messageId, set: { feedback } }
    this.dispatch(event)
    try {
      await (judgement ? this.api.postFeedback(conversationId, messageId, judgement) : this.api.deleteFeedback(conversationId, messageId))
      this.share(conversationId, event)
    } catch (error) {
      // Another one may have been given meanwhile.
      if (given() === feedback) this.dispatch({ type: 'message', messageId, set: { feedback: before } })
      this.note(error)
      throw error
    }
  }

  async loadOlder(): Promise<void> {
    const { olderCursor: cursor } = this.state
    if (!cursor) return
    try {
      const chat = await this.about((id) => this.api.getChat(id, { limit: STORE_LIMITS.pageSize, cursor }))
      if (chat && this.state.olderCursor === cursor) this.set({ messages: [...(chat.messages ?? []), ...this.state.messages], olderCursor: chat.next_cursor ?? null })
    } catch (error) {
      this.note(error)
    }
  }

  /** Shows as stored what was read of answers before reading them failed. Until the chat can be read they stay as they are. */
  protected async readCut(): Promise<void> {
    if (!this.state.messages.some((m) => m.id.startsWith(CUT_ID))) return
    const chat = await this.about((id) => this.api.getChat(id, { limit: STORE_LIMITS.pageSize })).catch(() => null)
    const stored = (id: string, run?: string) => (id.startsWith(CUT_ID) ? chat?.messages?.find((m) => m.run_id === run) : undefined)
    if (chat) this.set({ messages: this.state.messages.map((m) => stored(m.id, m.run_id) ?? m) })
  }

  /** Stores the decision about a payload of a chat, by default the open one. */
  async resolve(payloadId: string, outcome: 'accepted' | 'rejected', { conversationId } = this.state as Pick<ChatState, 'conversationId'>): Promise<void> {
    if (conversationId === null) return
    await this.api.resolvePayload(conversationId, payloadId, outcome)
    this.share(conversationId, { type: 'resolved', payloadId, outcome })
  }

  /** Marks a payload as being decided: meanwhile its actions are disabled. */
  deciding(payloadId: string, on: boolean): void {
    this.set({ deciding: this.state.deciding.filter((id) => id !== payloadId).concat(on ? payloadId : []) })
  }

  async rename(conversationId: number, title: string): Promise<void> {
    await this.api.patchChat(conversationId, { title })
    this.share(conversationId, { type: 'set', set: { title } })
  }

  /** Changes a chat where it is open, here and in the other tabs. */
  private share(conversationId: number, event: ChatEvent): void {
    if (conversationId === this.state.conversationId) this.dispatch(event)
    this.tell({ kind: 'event', conversationId, event })
  }

  /** Goes back to a version of a message; the next question continues from it. */
  async selectVersion(messageId: string): Promise<void> {
    if (this.state.isLoading) return
    try {
      const chat = await this.about(async (conversationId) => {
        const now = await this.api.selectVersion(conversationId, messageId)
        this.tell({ kind: 'changed', conversationId })
        return now
      })
      if (chat && !this.state.isLoading) this.dispatch({ type: 'opened', chat })
    } catch (error) {
      this.note(error)
    }
  }

  /** Asks which versions a message has, once another one took its place. */
  protected async learnVersion(conversationId: number, messageId: string): Promise<void> {
    const { items } = await this.api.listVersions(conversationId, messageId)
    const at = items.findIndex((v) => v.message_id === messageId)
    const version = items.length < 2 || at < 0 ? undefined : { number: at + 1, count: items.length, previous_id: items[at - 1]?.message_id, next_id: items[at + 1]?.message_id }
    this.dispatch({ type: 'message', messageId, set: { version } })
  }

  async remove(conversationId: number): Promise<void> {
    await this.api.deleteChat(conversationId).catch((error: unknown) => {
      if (!(error instanceof ApiError && error.status === 404)) throw error
    })
    if (conversationId === this.state.conversationId) this.newChat()
    this.tell({ kind: 'changed', conversationId })
  }

  /** Shows an error that does not belong to the last question. */
  note(error: unknown): void {
    this.set({ error: { ...failureOf(error), unrelated: true } })
  }
}

/** An error as the state has it. */
export function failureOf(error: unknown): Failure {
  const { message, code, retryable } = error instanceof ApiError ? error : new ApiError('Something went wrong in the page.', 0, 'page')
  return { message, code, retryable }
}
