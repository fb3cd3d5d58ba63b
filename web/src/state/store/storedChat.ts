import type { Feedback } from '../../api/types'
import { CUT_ID, type ChatEvent, type ChatState, type SendOptions } from '../values/state'
import { STORE_LIMITS } from './limits'
import type { StateHolder } from './stateHolder'
import type { Tabs } from './tabs'

type Chosen = Pick<ChatState, 'conversationId'>

export type StoredChat = ReturnType<typeof createStoredChat>

/** Stored chats: older messages, versions, and changes of feedback, decisions about payloads and titles. */
export function createStoredChat(chat: StateHolder, tabs: Tabs) {
  const { api } = chat

  /** Changes a chat where it is open, here and in the other tabs. */
  function share(conversationId: number, event: ChatEvent): void {
    if (conversationId === chat.state.conversationId) chat.dispatch(event)
    tabs.tell({ kind: 'event', conversationId, event })
  }

  async function selectVersion(messageId: string): Promise<void> {
    if (chat.state.isLoading) return
    try {
      const opened = await chat.about(async (conversationId) => {
        const now = await api.selectVersion(conversationId, messageId)
        tabs.tell({ kind: 'changed', conversationId })
        return now
      })
      if (opened && !chat.state.isLoading) chat.dispatch({ type: 'opened', chat: opened })
    } catch (error) {
      chat.note(error)
    }
  }

  /** Asks which versions a message has, once another one took its place. */
  async function learnVersion(conversationId: number, messageId: string): Promise<void> {
    const { items } = await api.listVersions(conversationId, messageId)
    const at = items.findIndex((v) => v.message_id === messageId)
    const version = items.length < 2 || at < 0 ? undefined : { number: at + 1, count: items.length, previous_id: items[at - 1]?.message_id, next_id: items[at + 1]?.message_id }
    chat.dispatch({ type: 'message', messageId, set: { version } })
  }

  return {
    /** What the store offers of it. */
    offers: {
      selectVersion,

      async feedback(messageId: string, judgement: Feedback | null, { conversationId }: Chosen = chat.state): Promise<void> {
        if (conversationId === null) return
        const given = () => chat.state.messages.find((m) => m.id === messageId)?.feedback
        const before = given()
        const feedback = judgement ?? undefined
        const event: ChatEvent = { type: 'message', messageId, set: { feedback } }
        chat.dispatch(event)
        try {
          await (judgement ? api.postFeedback(conversationId, messageId, judgement) : api.deleteFeedback(conversationId, messageId))
          share(conversationId, event)
        } catch (error) {
          // Another one may have been given meanwhile.
          if (given() === feedback) chat.dispatch({ type: 'message', messageId, set: { feedback: before } })
          chat.note(error)
          throw error
        }
      },

      async loadOlder(): Promise<void> {
        const { olderCursor: cursor } = chat.state
        if (!cursor) return
        try {
          const older = await chat.about((id) => api.getChat(id, { limit: STORE_LIMITS.pageSize, cursor }))
          if (older && chat.state.olderCursor === cursor) chat.set({ messages: [...(older.messages ?? []), ...chat.state.messages], olderCursor: older.next_cursor ?? null })
        } catch (error) {
          chat.note(error)
        }
      },

      async resolve(payloadId: string, outcome: 'accepted' | 'rejected', { conversationId }: Chosen = chat.state): Promise<void> {
        if (conversationId === null) return
        await api.resolvePayload(conversationId, payloadId, outcome)
        share(conversationId, { type: 'resolved', payloadId, outcome })
      },

      async rename(conversationId: number, title: string): Promise<void> {
        await api.patchChat(conversationId, { title })
        share(conversationId, { type: 'set', set: { title } })
      },
    },

    /** Shows as stored what was read of answers before reading them failed. Until the chat can be read they stay as they are. */
    async readCut(): Promise<void> {
      if (!chat.state.messages.some((m) => m.id.startsWith(CUT_ID))) return
      const read = await chat.about((id) => api.getChat(id, { limit: STORE_LIMITS.pageSize })).catch(() => null)
      if (read) chat.set({ messages: chat.state.messages.map((m) => (m.id.startsWith(CUT_ID) && read.messages?.find(({ run_id: run }) => run === m.run_id)) || m) })
    },

    /** After another version was requested: loads the list of versions; if there was no answer, the previous version is shown again. */
    async answeredAgain({ editMessageId, regenerateMessageId }: SendOptions): Promise<void> {
      const { conversationId, isLoading, messages } = chat.state
      if (!(editMessageId || regenerateMessageId) || conversationId === null || isLoading) return
      const last = messages.at(-1)
      if (regenerateMessageId && last?.role === 'user') return selectVersion(regenerateMessageId)
      const replaced = regenerateMessageId ? last : messages.findLast((m) => m.role === 'user')
      if (replaced && !/^(answer|local):/.test(replaced.id)) await learnVersion(conversationId, replaced.id).catch(() => undefined)
    },
  }
}
