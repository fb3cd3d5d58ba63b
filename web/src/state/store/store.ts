import { newKey, type ChatApi } from '../../api/client'
import type { Feedback, PageContext, Run } from '../../api/types'
import { keepText, keptText } from '../kept'
import { text } from '../values/run'
import { CUT_ID, emptied, emptyState, LOCAL_ID, type ChatEvent, type ChatState, type Failure, type GeneralChatMessage, type Queued, type SendOptions, type Unsent } from '../values/state'
import { Approvals } from './approvals'
import { ClientTools } from './clientTools'
import { ConversationStorage } from './conversationStorage'
import { Drafts } from './drafts'
import { STORE_LIMITS } from './limits'
import { createOutbox, joined, type Pending } from './outbox'
import { PageContextStore } from './pageContextStore'
import { questionOf, requestOf } from './request'
import { createRunReader } from './runReader'
import { RunReplays } from './runReplays'
import { failureOf, StateHolder, statusOf, unrelated } from './stateHolder'
import { createStoredChat } from './storedChat'
import { Tabs } from './tabs'
import { createTitles } from './titles'

export interface StoreOptions {
  api: ChatApi
  /** The name under which this tab stores the open conversation; not stored when empty. */
  storageKey?: string | undefined
  /** Added to every request. */
  model?: (() => string | undefined) | undefined
}

/** Holds the conversation of one provider, and changes it. */
export interface ChatStore {
  /** Tells stores apart: another user has another one. */
  readonly id: string
  readonly api: ChatApi
  /** The tools that the page runs for the model. */
  readonly clientTools: ClientTools
  /** Answers calls that wait for the user. */
  readonly approvals: Approvals
  /** The texts that are typed but not sent. */
  readonly drafts: Drafts
  /** The beginning of the keys in the browser's storage for this store, or for one tray or one thing of it; empty when nothing is stored. */
  keyOf(part?: string): string

  /** The state as it was last shown; the same value until listeners are called. */
  getSnapshot(): ChatState
  /** Calls a listener when another state is shown, until the returned function is called. */
  subscribe(listener: () => void): () => void
  dispatch(event: ChatEvent): void
  /** Shows an error that does not belong to the last question. */
  note(error: unknown): void

  /** Follows changes of other tabs, until the returned function is called. */
  connect(): () => void
  /** Stops reading the stream; the run continues in the service. */
  disconnect(): void
  /** Continues what disconnect stopped; else opens the chat that this tab had open, or in a new tab the last one. */
  restore(): Promise<void>
  /** Checks whether the chat has a new run of another tab, or is deleted. */
  refresh(): Promise<void>
  /** Ends the wait for a lost connection and connects at once. */
  reconnect(): void

  /** Adds keys to the context; an undefined value removes an added key. */
  updateContext(change: PageContext): void
  /** Sets the page's own context. Added keys stay, except those whose own value has changed. */
  setContext(context: PageContext): void
  getContext(): PageContext
  /** The model that the page wants to use. */
  pageModel(): string | undefined
  /** Uses another model from the next message on; empty means the page's model, or the service's default. */
  chooseModel(model: string): void

  /** Sends a message and follows the answer to its end; while another answer is written it waits. It never throws: errors are in the state. */
  sendMessage(message: string, options?: SendOptions): Promise<void>
  /**
   * Cancels the current run; the partial answer is kept. A run without an id yet is cancelled as soon as it has one, and
   * one whose service cannot be reached as soon as it can.
   */
  stop(): Promise<void>
  /** Retries: repeats a request that never became a run, or answers the last question again. */
  retry(): Promise<void>
  /** Hides the error. A message that was not sent goes back to the composer. */
  dismissError(): void
  /** Returns a message that could not be sent to the composer, once. */
  takeUnsent(): Unsent | null
  /** Whether a message is on its way, or can be tried again. */
  isPending(key: string): boolean
  /** The run that was started by the request with this key; undefined if there is none. */
  runOf(key: string): Promise<Run | undefined>
  /** Queues a message until the current answer has ended; false if too many wait. */
  enqueue(message: string, attachments?: Unsent['attachments'], interactionType?: Queued['interactionType']): boolean
  /** Takes a message out of the queue and returns it. */
  unqueue(id: string): Queued | undefined
  /** Sends the next message that waits, after a complete answer, or when the user wants it. */
  sendQueued(anyway?: boolean): Promise<void>

  /** Opens a chat and follows its running answer, if there is one. An unsent message goes back to the composer. */
  open(conversationId: number, failure?: Failure | null): Promise<void>
  newChat(): void
  /** Follows a run of the open chat from its beginning. */
  attach(runId: string): Promise<void>
  loadOlder(): Promise<void>
  /** Replays the run of a loaded answer, so that its reasoning and threads are shown. */
  recall(message: GeneralChatMessage): void
  /** Goes back to a version of a message; the next question continues from it. */
  selectVersion(messageId: string): Promise<void>
  rename(conversationId: number, title: string): Promise<void>
  remove(conversationId: number): Promise<void>
  /** Stores the user's rating of an answer of a chat, by default the open one, instead of an earlier one; null removes it. */
  feedback(messageId: string, judgement: Feedback | null, chat?: Pick<ChatState, 'conversationId'>): Promise<void>
  /** Stores the decision about a payload of a chat, by default the open one. */
  resolve(payloadId: string, outcome: 'accepted' | 'rejected', chat?: Pick<ChatState, 'conversationId'>): Promise<void>
  /** Marks a payload as being decided: meanwhile its actions are disabled. */
  deciding(payloadId: string, on: boolean): void
}

export const ChatStore = class {
  constructor(options: StoreOptions) {
    Object.assign(this, createStore(options))
  }
} as new (options: StoreOptions) => ChatStore

/** Statuses of requests that the service would refuse again: malformed, not found, too large, not allowed. */
const REFUSED_FOR_GOOD = new Set<number | undefined>([400, 404, 413, 422])

/** Opens chats, sends messages, and follows their answers. */
function createStore({ api, storageKey: name = '', model: pageModel = () => undefined }: StoreOptions): ChatStore {
  const keyOf = (part = '') => (name ? `chattray:${name}${part && `:${part}`}` : '')
  const chat = new StateHolder(api, { ...emptyState, model: keptText('localStorage', keyOf('model')) ?? '' })
  const context = new PageContextStore()
  const storage = new ConversationStorage(name)
  const drafts = new Drafts(name)
  const tabs = new Tabs(keyOf())
  const clientTools = new ClientTools(api, name, () => runs.expectNews())
  const approvals = new Approvals(api, keyOf(), () => runs.expectNews())
  const titles = createTitles(chat)
  const replays = new RunReplays(api, (messageId, view) => chat.dispatch({ type: 'message', messageId, set: { view } }))
  const stored = createStoredChat(chat, tabs)
  const outbox = createOutbox(chat, drafts, keyOf('queue'), ({ message, attachments, interactionType, id }) => sendMessage(message, { attachments, interactionType, key: id, waits: true }))
  const runs = createRunReader(chat, approvals, clientTools, {
    begun(runId, conversationId) {
      outbox.arrived()
      tabs.tell({ kind: 'changed', conversationId, runId })
      void stored.readCut()
    },
    open, refused, giveUp: outbox.giveUp,
  })
  const { dispatch } = chat
  /** The chat of the last visit, if it no longer exists. */
  let gone: number | null = null
  // That no chat is open is stored by newChat: here it may be that restore has yet to open it.
  chat.subscribe(() => chat.state.conversationId === null || storage.keep(chat.state.conversationId))

  function disconnect(): void {
    runs.leave()
    replays.leave()
    titles.leave()
  }

  /** Stores which page is shown. The context may change during a render, when no listener may be called. */
  function turned(): void {
    queueMicrotask(() => {
      const page = text(context.get().current_page)
      if (page !== chat.state.page) chat.set({ page })
    })
  }

  async function sendMessage(message: string, options: SendOptions = {}): Promise<void> {
    const before = chat.state.conversationId
    if (chat.state.isOpening) await chat.opened()
    const { conversationId, isLoading, model } = chat.state
    const moved = conversationId !== before && before !== gone
    if (isLoading || moved) return outbox.wait(message, options, moved)
    const request = requestOf(message, options, { context: context.get(), conversationId, tools: clientTools.specs(), model: model || pageModel() })
    await ask({ message, options, request, key: options.key ?? newKey(), accepted: false })
  }

  /** Sends a message, also again: with the same key it starts no second run. Another one that was never sent is given back. */
  async function ask(pending: Pending): Promise<void> {
    const { message, options, request, key } = pending
    const left = outbox.put(pending)
    const { conversationId, messages } = chat.state
    dispatch({ type: 'send', message: options.regenerateMessageId ? null : questionOf(message, options, messages, key), replaces: options.editMessageId ?? options.regenerateMessageId })
    if (left) outbox.giveBack(left)
    await runs.ask(request, key)
    await stored.answeredAgain(options)
    if (conversationId === null) titles.expect()
    // After one that was stopped on its way, the others wait.
    if (pending.accepted) void outbox.offers.sendQueued()
  }

  async function refused(error: unknown): Promise<void> {
    const failure = failureOf(error)
    if (failure.code === 'page') console.error(error)
    const { conversationId, isOpening } = chat.state
    const changes = failure.code === 'busy' || REFUSED_FOR_GOOD.has(statusOf(error))
    if (!outbox.unaccepted() || isOpening || !changes) return dispatch({ type: 'failed', failure })
    // Another tab's answer is under way and is followed, or retrying cannot succeed: the user gets the message back.
    if (conversationId !== null) return open(conversationId, unrelated(failure))
    outbox.giveUp(unrelated(failure))
  }

  function open(conversationId: number, failure: Failure | null = null): Promise<void> {
    disconnect()
    return runs.begin(async (signal) => {
      const elsewhere = chat.state.conversationId !== conversationId
      if (elsewhere) {
        void outbox.leave()
        chat.state = { ...emptied(chat.state), conversationId }
      }
      // Until the chat is read, the message on its way can still be sent again.
      const key = outbox.unaccepted()?.key
      chat.set({ isOpening: true, error: null })
      const queue = elsewhere && outbox.readQueue(conversationId)
      try {
        const [found, arrived] = await Promise.all([api.getChat(conversationId, { limit: STORE_LIMITS.pageSize }, signal), key && outbox.offers.runOf(key).catch(() => null)])
        if (signal.aborted) return
        const unsent = outbox.takeBack()
        dispatch({ type: 'opened', chat: found })
        const following = found.active_run_id && runs.offers.attach(found.active_run_id)
        if (arrived) outbox.forget(unsent?.key)
        outbox.giveBack(arrived ? null : unsent, failure)
        await Promise.all([following, queue])
        void outbox.offers.sendQueued()
      } catch (error) {
        if (signal.aborted) return
        if (statusOf(error) !== 404) return await refused(error)
        // At the start of a page, a chat that is gone is no error.
        leaveDeleted(failure ?? (!elsewhere || chat.state.queue[0] ? unrelated(failureOf(error)) : null))
      }
    })
  }

  /** Leaves the open chat, which was deleted elsewhere. Its messages that wait go back to the composer, after one on its way. */
  function leaveDeleted(failure: Failure | null): void {
    if (!failure) gone = chat.state.conversationId
    const all = joined([outbox.takeBack(), ...outbox.takeAll()])
    newChat()
    outbox.giveBack(all, failure)
  }

  function newChat(): void {
    disconnect()
    void outbox.leave()
    dispatch({ type: 'reset' })
    storage.keep(null)
  }

  async function refresh(): Promise<void> {
    const { conversationId, isLoading, isOpening, title } = chat.state
    if (isLoading || isOpening) return
    const now = await chat.about((id) => api.getChat(id, { limit: 1 }).catch((error: unknown) => (statusOf(error) === 404 ? null : undefined)))
    const known = chat.state.messages.at(-1)?.id
    if (now === undefined || chat.state.isLoading || known?.startsWith(LOCAL_ID)) return
    titles.show(title, now?.title)
    if (!now || now.active_run_id || (now.messages?.at(-1)?.id ?? known) !== known) await open(conversationId!)
  }

  return {
    id: newKey(), api, clientTools, approvals, drafts, keyOf, pageModel, getContext: () => context.get(), recall: (message: GeneralChatMessage) => replays.recall(message),
    subscribe: chat.subscribe, getSnapshot: chat.getSnapshot, dispatch, note: chat.note, disconnect, refresh, sendMessage, open, newChat, ...runs.offers, ...outbox.offers, ...stored.offers,

    connect: () => tabs.join((message) => {
      const { conversationId, run } = chat.state
      if (message.conversationId !== conversationId) return
      if (message.kind === 'event') dispatch(message.event)
      else if (!message.runId || message.runId !== run?.runId) void open(message.conversationId)
    }, () => void refresh()),

    restore: () => runs.resume(() => {
      const { conversationId, isLoading, isOpening } = chat.state
      const unaccepted = outbox.unaccepted()
      const id = conversationId === null ? storage.read() : isLoading || isOpening ? conversationId : null
      return isLoading && unaccepted ? ask(unaccepted) : id !== null && open(id)
    }),

    updateContext(change: PageContext) {
      context.add(change)
      turned()
    },

    setContext(own: PageContext) {
      context.set(own)
      turned()
    },

    chooseModel(model: string) {
      chat.set({ model })
      keepText('localStorage', keyOf('model'), model)
    },

    async retry() {
      const unaccepted = outbox.unaccepted()
      if (unaccepted && chat.state.error) return ask(unaccepted)
      const { conversationId, messages } = chat.state
      let last = messages.at(-1)
      // Only an answer that is stored as failed is as the service has it.
      if (conversationId !== null && (last?.status !== 'error' || last.id.startsWith(CUT_ID))) {
        await open(conversationId)
        if (chat.state.error) return
        last = chat.state.messages.at(-1)
      }
      if (last?.role === 'user' && !chat.state.isLoading) return sendMessage(last.content, { editMessageId: last.id })
      if (last?.status === 'error') return sendMessage('', { regenerateMessageId: last.id })
    },

    dismissError() {
      chat.set({ error: null })
      const unsent = chat.state.isLoading ? null : outbox.takeBack()
      if (unsent) outbox.giveBack(unsent)
    },

    deciding(payloadId: string, on: boolean) {
      chat.set({ deciding: chat.state.deciding.filter((id) => id !== payloadId).concat(on ? payloadId : []) })
    },

    async remove(conversationId: number) {
      await api.deleteChat(conversationId).catch((error: unknown) => {
        if (statusOf(error) !== 404) throw error
      })
      if (conversationId === chat.state.conversationId) newChat()
      tabs.tell({ kind: 'changed', conversationId })
    },
  }
}
