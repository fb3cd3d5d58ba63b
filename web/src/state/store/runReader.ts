import { isStreamEnd, type ChatApi, type StreamOptions } from '../../api/client'
import { pause } from '../../api/stream'
import type { ChatRequest, MessageFrame, Props } from '../../api/types'
import { emptyRun, text } from '../values/run'
import type { Approvals } from './approvals'
import type { ClientTools } from './clientTools'
import { STORE_LIMITS } from './limits'
import { statusOf, type StateHolder } from './stateHolder'

/** What the store does about a run. */
export interface RunEvents {
  /** The run has an id: the service has the question. */
  begun: (runId: string, conversationId: number) => void
  /** Opens the chat, which has what was not received. */
  open: (conversationId: number) => Promise<void>
  refused: (error: unknown) => Promise<void>
  /** The user has stopped a request that never became a run. */
  giveUp: () => void
}

type Stream = (signal: AbortSignal) => ReturnType<ChatApi['streamMessage']>

export type RunReader = ReturnType<typeof createRunReader>

/** Reads the stream of a run into the state, answers what the run asks the page, and stops it. */
export function createRunReader(chat: StateHolder, approvals: Approvals, clientTools: ClientTools, on: RunEvents) {
  const { api } = chat
  /** Aborts the current read: of a chat, or of the stream of a run. */
  let reader: AbortController | null = null
  /** Ends the wait for a new connection, or replaces the present one. */
  let connectNow: (() => void) | undefined
  let newsTimer: ReturnType<typeof setTimeout> | undefined
  /** Set when the user stops a run that has no id yet, or while the service cannot be reached. */
  let stopping = false
  /** The run that this tab has stopped. */
  let stopped = ''

  const linked: StreamOptions['onConnection'] = (link, _, now) => {
    connectNow = now
    chat.set({ link })
    if (link === 'live' && stopping && chat.state.run?.runId) void stop()
  }

  const reconnect = () => void connectNow?.()

  /** The service has done something to the run, which its stream tells, unless its connection is lost. */
  function expectNews(): void {
    clearTimeout(newsTimer)
    newsTimer = setTimeout(reconnect, STORE_LIMITS.news)
  }

  async function stop(): Promise<void> {
    const { isLoading, run, link } = chat.state
    const runId = run?.runId
    if (!isLoading) return
    if (!runId) {
      if (link !== 'reconnecting' && !stopping) return stopLater()
      reader?.abort()
      return on.giveUp()
    }
    stopping = false
    stopped = runId
    try {
      await api.cancelRun(runId)
    } catch (error) {
      const status = statusOf(error)
      if (chat.state.run?.runId !== runId) return
      if (status === 404) return chat.dispatch({ type: 'settled' })
      if (status !== 0) return chat.note(error)
      stopLater()
    }
    expectNews()
  }

  function stopLater(): void {
    stopping = true
    chat.dispatch({ type: 'stopping' })
  }

  /** Does what reads, in place of what was read before. */
  async function begin(act: (signal: AbortSignal) => Promise<void>): Promise<void> {
    reader?.abort()
    const mine = (reader = new AbortController())
    try {
      await act(mine.signal)
    } finally {
      if (reader === mine) reader = null
    }
  }

  function read(open: Stream): Promise<void> {
    stopping = false
    return begin((signal) => take(open, signal).catch((error: unknown) => (signal.aborted ? undefined : on.refused(error))))
  }

  function attach(runId: string): Promise<void> {
    chat.set({ run: { ...emptyRun, runId }, isLoading: true, link: 'connecting', error: null })
    return read((signal) => api.followRun(runId, signal, { onConnection: linked }))
  }

  /** Takes the frames of a run to its end. */
  async function take(open: Stream, signal: AbortSignal): Promise<void> {
    let begun = false
    for await (const { data } of open(signal)) {
      if (signal.aborted) return
      clearTimeout(newsTimer)
      if (isStoppedElsewhere(data)) {
        // In another tab, or because its chat is being deleted: then it is gone a moment later.
        await pause(STORE_LIMITS.deletion, signal)
        if (!signal.aborted) await on.open(chat.state.conversationId!)
        return
      }
      chat.dispatch({ type: 'frame', frame: data })
      serve(data)
      const { run, conversationId } = chat.state
      if (!begun && run?.runId && conversationId !== null) {
        begun = true
        on.begun(run.runId, conversationId)
        if (stopping) void stop()
      }
    }
    const { run, waiting, conversationId } = chat.state
    if (signal.aborted || !(run || waiting[0])) return
    // The run ended, but its end was not received; or the next question is being answered.
    chat.dispatch({ type: 'settled' })
    if (conversationId) await on.open(conversationId)
  }

  /** Runs the tool of the page that a frame asks for, or ends a call that is answered. */
  function serve({ type, props }: MessageFrame): void {
    const { run } = chat.state
    if (!run) clientTools.leave()
    else if (!props) return
    else if (type === 'approval' && run.conversationId !== undefined) approvals.serve(run.runId, run.conversationId, props)
    else if (type === 'client_tool_call') clientTools.take(run.runId, props)
    else if (type === 'tool_call' && typeof props.index === 'number') clientTools.drop(run.runId, text(props.id))
  }

  /** Whether a frame ends a run that the user did not stop in this tab. */
  function isStoppedElsewhere(frame: MessageFrame): boolean {
    const { run, conversationId } = chat.state
    const data = frame.props?.data as Props | undefined
    return isStreamEnd(frame) && data?.status === 'cancelled' && conversationId !== null && !stopping && run?.runId !== stopped
  }

  return {
    /** What the store offers of it. */
    offers: { stop, reconnect, attach },
    begin, expectNews,
    /** Begins to read again, unless something is read. A run that is to be stopped still is. */
    async resume(read: () => false | Promise<void>): Promise<void> {
      if (reader) return
      const again = stopping
      const reading = read()
      if (again) void stop()
      await reading
    },
    /** Sends a question and reads its run. */
    ask: (request: ChatRequest, key: string) => read((signal) => api.streamMessage(request, signal, { onConnection: linked, key })),

    /** Stops reading; the run continues in the service. */
    leave(): void {
      reader?.abort()
      reader = null
      clientTools.leave()
      clearTimeout(newsTimer)
    },
  }
}
