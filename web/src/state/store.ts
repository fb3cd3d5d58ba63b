import { ApiError } from '../api/errors'
import { isStreamEnd, newKey, type ChatApi, type StreamOptions } from '../api/client'
import { pause } from '../api/stream'
import type { MessageFrame, PageContext } from '../api/types'
import { Approvals } from './approvals'
import { ClientTools } from './clientTools'
import { isObject } from './delta'
import { Drafts } from './drafts'
import { ConversationStorage } from './conversationStorage'
import { RenderThrottle } from './renderThrottle'
import { RunReplays } from './runReplays'
import { CUT_ID, emptied, emptyState, LOCAL_ID, reduce, type ChatEvent, type ChatState, type Failure, type GeneralChatMessage, type Unsent } from './state'
import { emptyRun, text } from './run'
import { questionOf, requestOf, type SendOptions } from './request'
import { failureOf, REFUSED_FOR_GOOD, STORE_LIMITS } from './keptChat'
import { PageContextStore } from './pageContextStore'
import { Tabs, type TabMessage } from './tabs'
import { WaitingChat, type Pending } from './waitingChat'

export interface StoreOptions {
  api: ChatApi
  /** The name under which this tab stores the open conversation; not stored when empty. */
  storageKey?: string
  /** Added to every request. */
  model?: () => string | undefined
}

/**
 * Holds the state of one tray and changes it. Frames of a stream are folded as they come; listeners are called at most
 * once for each frame of the screen.
 */
export class ChatStore extends WaitingChat {
  /** Tells stores apart: another user has another one. */
  readonly id = newKey()
  readonly api: ChatApi
  /** The tools that the page runs for the model. */
  readonly clientTools: ClientTools
  /** Answers calls that wait for the user. */
  readonly approvals: Approvals
  /** The texts that are typed but not sent. */
  readonly drafts: Drafts
  private readonly options: StoreOptions
  protected state: ChatState = emptyState
  private shown: ChatState = emptyState
  private readonly listeners = new Set<() => void>()
  private readonly pageContext = new PageContextStore()
  /** Aborts the current read: of a chat, or of the stream of a run. */
  private reader: AbortController | null = null
  private readonly throttle = new RenderThrottle(() => this.show())
  private readonly tabs: Tabs
  /** Ends the wait for a new connection, or replaces the present one. */
  private connectNow: (() => void) | undefined
  private newsTimer: ReturnType<typeof setTimeout> | undefined
  private readonly replays: RunReplays
  private readonly storage: ConversationStorage
  /** Set when the user stops a run that has no id yet, or while the service cannot be reached. */
  private stopping = false
  /** The run that this tab has stopped. */
  private stopped = ''

  constructor(options: StoreOptions) {
    super(options.storageKey ?? '')
    this.options = options
    this.api = options.api
    this.clientTools = new ClientTools(options.api, options.storageKey ?? '', this.expectNews)
    this.replays = new RunReplays(options.api, (messageId, view) => this.dispatch({ type: 'message', messageId, set: { view } }))
    this.storage = new ConversationStorage(options.storageKey ?? '')
    this.approvals = new Approvals(options.api, this.keyOf(), this.expectNews)
    this.tabs = new Tabs(this.keyOf())
    this.drafts = new Drafts(options.storageKey ?? '')
    this.shown = this.state = { ...emptyState, model: this.keptModel() }
  }

  /** The beginning of the keys in the browser's storage for this store, or for one tray or one thing of it; empty when nothing is stored. */
  keyOf(part = ''): string {
    const name = this.options.storageKey
    return name ? `chattray:${name}${part && `:${part}`}` : ''
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  /** The state as it was last shown; the same value until listeners are called. */
  readonly getSnapshot = (): ChatState => this.shown

  /** Follows changes of other tabs, until the returned function is called. */
  connect(): () => void {
    return this.tabs.join((message) => {
      if (message.conversationId !== this.state.conversationId) return
      if (message.kind === 'event') this.dispatch(message.event)
      else if (!message.runId || message.runId !== this.state.run?.runId) void this.open(message.conversationId)
    }, () => void this.refresh())
  }

  protected tell(message: TabMessage): void {
    this.tabs.tell(message)
  }

  /** Stops reading the stream; the run continues in the service. */
  disconnect(): void {
    this.reader?.abort()
    this.reader = null
    this.clientTools.leave()
    this.replays.leave()
    clearTimeout(this.newsTimer)
    this.forget()
  }

  dispatch(event: ChatEvent): void {
    const before = this.state
    this.state = reduce(this.state, event)
    if (this.state === before) return
    const urgent = event.type !== 'frame'
    if (urgent || !this.state.run) this.throttle.now()
    else this.throttle.soon()
  }

  private show(): void {
    if (this.shown === this.state) return
    this.shown = this.state
    // That no chat is open is stored by newChat: here it may be that restore has yet to open it.
    if (this.state.conversationId !== null) this.storage.keep(this.state.conversationId)
    for (const listener of this.listeners) listener()
  }

  /** Adds keys to the context; an undefined value removes an added key. */
  updateContext(change: PageContext): void {
    this.pageContext.add(change)
    this.turned()
  }

  /** Sets the page's own context. Added keys stay, except those whose own value has changed. */
  setContext(context: PageContext): void {
    this.pageContext.set(context)
    this.turned()
  }

  /** Stores which page is shown. The context may change during a render, when no listener may be called. */
  private turned(): void {
    queueMicrotask(() => {
      const page = text(this.getContext().current_page)
      if (page !== this.state.page) this.set({ page })
    })
  }

  getContext(): PageContext {
    return this.pageContext.get()
  }

  /** Sends a message and follows the answer to its end; while another answer is written it waits. It never throws: errors are in the state. */
  async sendMessage(message: string, options: SendOptions = {}): Promise<void> {
    const chat = this.state.conversationId
    if (this.state.isOpening) await this.opened()
    const { conversationId } = this.state
    const moved = conversationId !== chat && chat !== this.gone
    if (this.state.isLoading || moved) return this.wait(message, options, moved)
    const left = this.takeBack()
    const tools = this.clientTools.specs()
    const request = requestOf(message, options, { context: this.getContext(), conversationId, tools, model: this.state.model || this.pageModel() })
    await this.ask({ message, options, request, key: options.key ?? newKey(), accepted: false }, left)
  }

  /** Sends a message, and gives back another one that was never sent. */
  private async ask(pending: Pending, left: Unsent | null): Promise<void> {
    const { message, options, request, key } = pending
    const { conversationId, messages } = this.state
    this.pending = pending
    this.dispatch({ type: 'send', message: options.regenerateMessageId ? null : questionOf(message, options, messages), replaces: options.editMessageId ?? options.regenerateMessageId })
    if (left) this.giveBack(left)
    await this.read((signal) => this.api.streamMessage(request, signal, { onConnection: this.linked, key }))
    await this.answeredAgain(options)
    if (conversationId === null) this.lookForTitle()
    // After one that was stopped on its way, the others wait.
    if (pending.accepted) void this.sendQueued()
  }

  /** The model that the page wants to use. */
  pageModel(): string | undefined {
    return this.options.model?.()
  }

  private readonly linked: StreamOptions['onConnection'] = (link, _, now) => {
    this.connectNow = now
    this.set({ link })
    if (link === 'live' && this.stopping && this.state.run?.runId) void this.stop()
  }

  /** Ends the wait for a lost connection and connects at once. */
  reconnect(): void {
    this.connectNow?.()
  }

  /** The service has done something to the run, which its stream tells, unless its connection is lost. */
  private readonly expectNews = (): void => {
    clearTimeout(this.newsTimer)
    this.newsTimer = setTimeout(() => this.reconnect(), STORE_LIMITS.news)
  }

  /** Reads a stream into the state until it ends. */
  private async read(open: (signal: AbortSignal) => ReturnType<ChatApi['streamMessage']>): Promise<void> {
    this.reader?.abort()
    const reader = new AbortController()
    this.reader = reader
    this.stopping = false
    let told = false
    try {
      for await (const { data } of open(reader.signal)) {
        if (reader.signal.aborted) return
        clearTimeout(this.newsTimer)
        if (this.isStoppedElsewhere(data)) return await this.openStopped(reader.signal)
        this.dispatch({ type: 'frame', frame: data })
        this.serve(data)
        const { run, conversationId } = this.state
        if (!told && run?.runId && conversationId !== null) {
          told = true
          this.arrived()
          this.tell({ kind: 'changed', conversationId, runId: run.runId })
          void this.readCut()
          if (this.stopping) void this.stop()
        }
      }
      if (!reader.signal.aborted && this.state.run) await this.catchUp()
    } catch (error) {
      if (!reader.signal.aborted) await this.refused(error)
    } finally {
      if (this.reader === reader) this.reader = null
    }
  }

  /** Runs the tool of the page that a frame asks for, or ends a call that is answered. */
  private serve(frame: MessageFrame): void {
    const { run } = this.state
    if (!run) this.clientTools.leave()
    else if (frame.type === 'approval' && frame.props && run.conversationId !== undefined) this.approvals.serve(run.runId, run.conversationId, frame.props)
    else if (frame.type === 'client_tool_call' && frame.props) this.clientTools.take(run.runId, frame.props)
    else if (frame.type === 'tool_call' && typeof frame.props?.index === 'number' && typeof frame.props.id === 'string') this.clientTools.drop(run.runId, frame.props.id)
  }

  /** Whether a frame ends a run that the user did not stop in this tab. */
  private isStoppedElsewhere(frame: MessageFrame): boolean {
    const { run, conversationId } = this.state
    const data = frame.props?.data
    return isStreamEnd(frame) && isObject(data) && data.status === 'cancelled' && conversationId !== null && !this.stopping && run?.runId !== this.stopped
  }

  /** The run was stopped in another tab, or its chat is being deleted: then it is gone a moment later. */
  private async openStopped(signal: AbortSignal): Promise<void> {
    await pause(STORE_LIMITS.deletion, signal)
    if (!signal.aborted) await this.open(this.state.conversationId!)
  }

  /** The run ended, but its end was not received: load the stored chat. */
  private async catchUp(): Promise<void> {
    this.dispatch({ type: 'settled' })
    if (this.state.conversationId) await this.open(this.state.conversationId)
  }

  private async refused(error: unknown): Promise<void> {
    const failure = failureOf(error)
    if (!(error instanceof ApiError)) console.error(error)
    const { conversationId } = this.state
    const changes = failure.code === 'busy' || (error instanceof ApiError && REFUSED_FOR_GOOD.has(error.status))
    if (!this.pending || this.pending.accepted || this.state.isOpening || !changes) return this.dispatch({ type: 'failed', failure })
    // Another tab's answer is under way and is followed, or retrying cannot succeed: the user gets the message back.
    const noted = { ...failure, unrelated: true }
    if (conversationId !== null) return this.open(conversationId, noted)
    this.giveUp(noted)
  }

  /**
   * Cancels the current run; the partial answer is kept. A run without an id yet is cancelled as soon as it has one, and
   * one whose service cannot be reached as soon as it can.
   */
  async stop(): Promise<void> {
    const runId = this.state.run?.runId
    if (!this.state.isLoading) return
    if (!runId && this.state.link !== 'reconnecting' && !this.stopping) {
      this.stopping = true
      return this.dispatch({ type: 'stopping' })
    }
    if (!runId) {
      this.reader?.abort()
      return this.giveUp()
    }
    this.stopping = false
    this.stopped = runId
    try {
      await this.api.cancelRun(runId)
    } catch (error) {
      const problem = error as Partial<ApiError>
      if (this.state.run?.runId !== runId) return
      if (problem.status === 404) return this.dispatch({ type: 'settled' })
      if (problem.status !== 0) return this.note(error)
      this.stopping = true
      this.dispatch({ type: 'stopping' })
    }
    this.expectNews()
  }

  /** Repeats a request: with the same key it starts no second run. */
  private sendAgain(pending: Pending): Promise<void> {
    this.takeBack()
    return this.ask(pending, null)
  }

  /** Retries: repeats a request that never became a run, or answers the last question again. */
  async retry(): Promise<void> {
    const { pending, state: { conversationId } } = this
    if (pending && !pending.accepted && this.state.error) return this.sendAgain(pending)
    let last = this.state.messages.at(-1)
    // Only an answer that is stored as failed is as the service has it.
    if (conversationId !== null && (last?.status !== 'error' || last.id.startsWith(CUT_ID))) {
      await this.open(conversationId)
      if (this.state.error) return
      last = this.state.messages.at(-1)
    }
    if (last?.role === 'user' && !this.state.isLoading) return this.sendMessage(last.content, { editMessageId: last.id })
    if (last?.status === 'error') return this.sendMessage('', { regenerateMessageId: last.id })
  }

  /** Opens a chat and follows its running answer, if there is one. An unsent message goes back to the composer. */
  async open(conversationId: number, failure: Failure | null = null): Promise<void> {
    this.disconnect()
    const reader = new AbortController()
    this.reader = reader
    const elsewhere = this.state.conversationId !== conversationId
    if (elsewhere) {
      void this.leaveSent()
      this.state = { ...emptied(this.state), conversationId }
    }
    // Until the chat is read, the message on its way can still be sent again.
    const key = !this.pending?.accepted && this.pending?.key
    this.set({ isOpening: true, error: null })
    const queue = elsewhere && this.readQueue(conversationId)
    try {
      const [chat, arrived] = await Promise.all([this.api.getChat(conversationId, { limit: STORE_LIMITS.pageSize }, reader.signal), key && this.runOf(key).catch(() => null)])
      if (reader.signal.aborted) return
      const unsent = this.takeBack()
      this.dispatch({ type: 'opened', chat })
      const following = chat.active_run_id && this.attach(chat.active_run_id)
      if (arrived) this.forgetSent(unsent?.key)
      const back = arrived ? null : unsent
      if (failure || back) this.giveBack(back, failure)
      await Promise.all([following, queue])
      void this.sendQueued()
    } catch (error) {
      if (reader.signal.aborted) return
      if (!(error instanceof ApiError) || error.status !== 404) return await this.refused(error)
      // At the start of a page, a chat that is gone is no error.
      const isMissed = !elsewhere || this.state.queue.length > 0
      this.leaveDeleted(this.takeBack(), failure ?? (isMissed ? { ...failureOf(error), unrelated: true } : null))
    } finally {
      if (this.reader === reader) this.reader = null
    }
  }

  /** Follows a run of the open chat from its beginning. */
  async attach(runId: string): Promise<void> {
    this.set({ run: { ...emptyRun, runId }, isLoading: true, link: 'connecting', error: null })
    await this.read((signal) => this.api.followRun(runId, signal, { onConnection: this.linked }))
  }

  /** Checks whether the chat has a new run of another tab, or is deleted. */
  async refresh(): Promise<void> {
    const { conversationId, isLoading, isOpening, title } = this.state
    if (isLoading || isOpening) return
    const chat = await this.about((id) => this.api.getChat(id, { limit: 1 }).catch((error: Partial<ApiError>) => (error.status === 404 ? null : undefined)))
    const known = this.state.messages.at(-1)?.id
    if (chat === undefined || this.state.isLoading || known?.startsWith(LOCAL_ID)) return
    this.titled(title, chat?.title)
    if (!chat || chat.active_run_id || (chat.messages?.at(-1)?.id ?? known) !== known) await this.open(conversationId!)
  }

  /** Replays the run of a loaded answer, so that its reasoning and threads are shown. */
  recall(message: GeneralChatMessage): void {
    this.replays.recall(message)
  }

  newChat(): void {
    this.disconnect()
    void this.leaveSent()
    this.leaving = null
    this.dispatch({ type: 'reset' })
    this.storage.keep(this.state.conversationId)
  }

  /** Continues what disconnect stopped; else opens the chat that this tab had open, or in a new tab the last one. */
  async restore(): Promise<void> {
    if (this.reader) return
    const { pending, stopping, state: { conversationId, isLoading, isOpening } } = this
    const id = conversationId === null ? this.storage.read() : isLoading || isOpening ? conversationId : null
    const going = isLoading && pending && !pending.accepted ? this.sendAgain(pending) : id !== null && this.open(id)
    if (stopping) void this.stop()
    await going
  }
}
