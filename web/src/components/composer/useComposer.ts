import { useEffect, useRef, useState } from 'react'
import { newKey } from '../../api/client'
import { ApiError } from '../../api/errors'
import { pause, waitAfter } from '../../api/stream'
import type { Attachment, Run } from '../../api/types'
import { useChatState, useChatStore } from '../../state/context'
import { placeKey } from '../../state/store/drafts'
import { useShort } from '../../state/longText'
import { trimmed } from '../../state/values/cut'
import type { Unsent } from '../../state/values/state'
import type { ChatStore } from '../../state/store/store'
import { useLabels, useTray } from '../../state/tray'
import { useDraft } from './useDraft'
import { useFiles } from './useFiles'
import { useLatest } from '../../state/useLatest'

/** The message being typed, with its files. */
export interface ComposerState {
  text: string
  /** The draft is kept for each user and chat. A text that is too long for an input becomes one of the files. */
  setText: (text: string) => void
  files: readonly Attachment[]
  addFiles: (files: Iterable<File> & { length: number }) => void
  removeFile: (index: number) => void
  /** Why a file was refused; empty if none was. */
  problem: string
  /** Messages that wait for the end of the current answer. */
  queue: number
  /** Puts a message that waited back into the input. */
  bringBack: (message: Unsent) => void
  /** An answer is being written; a message that is sent now waits for its end. */
  busy: boolean
  canSend: boolean
  /** The message is sent as soon as the chat is open, unless its text is changed before. */
  waits: boolean
  send: () => void
  stop: () => void
}

/** The input of the open chat. `storageKey` tells apart several inputs of one provider. */
export function useComposer({ storageKey = '' }: { storageKey?: string | undefined } = {}): ComposerState {
  const store = useChatStore()
  const { me, drops } = useTray()
  const { busy, queue, opening, gone, unsent, chat } = useChatState((state) => ({ busy: state.isLoading, queue: state.queue.length, opening: state.isOpening, gone: state.error?.code === 'not_found', unsent: state.unsent, chat: state.conversationId }))
  const place = { user: me?.user_id ?? '', tray: storageKey, chat }
  const [draft, keepDraft, held] = useDraft(place, chat === null ? gone : !opening)
  const { files, problem, add, addText, remove, clear, bring, refuse } = useFiles(held)
  const [text, setText] = useShort(draft, keepDraft, addText)
  const labels = useLabels()
  useEffect(() => {
    if (held.lost) refuse(`${held.lost}: ${labels.attachLost}`)
  }, [held.lost, held.home])
  const bringBack = (back: Unsent) => {
    setText([back.message, text].filter((t) => trimmed(t) !== '').join('\n'))
    bring(back.attachments)
  }
  useEffect(() => {
    // A message that could not be sent comes back, to the input that sent it.
    const back = unsent && store.drafts.isOf(storageKey, unsent.key) && store.takeUnsent()
    if (back) bringBack(back)
  }, [unsent])
  // The page was left, or another chat opened, before it was known whether the message arrived.
  const latest = useLatest(bringBack)
  const own = useRef('')
  const here = placeKey(place)
  useEffect(() => {
    const sent = busy || opening ? null : store.drafts.sent(place)
    if (!sent || store.isPending(sent.key)) return
    const asking = new AbortController()
    void startedBy(store, sent.key, asking.signal).then((run) => {
      if (asking.signal.aborted) return
      store.drafts.arrived(sent.key)
      if (!run) latest.current(sent)
      // One that this page has sent was left for a new chat.
      else if (chat === null && sent.key !== own.current) void store.open(run.conversation_id)
    })
    return () => asking.abort()
  }, [store, here, busy, opening])
  useEffect(() => drops?.take(add))
  const canSend = trimmed(text) !== '' || files.length > 0
  const [waiting, setWaiting] = useState<string | null>(null)
  const send = () => {
    if (!canSend) return
    if (opening) return setWaiting(text)
    // The service requires text in each message.
    const message = trimmed(text) || labels.attachedOnly
    if (busy && !store.enqueue(message, files)) return refuse(labels.queueFull)
    setText('')
    clear()
    if (busy) return
    // One that may have arrived comes back now: this one takes its place.
    const left = store.drafts.sent(place)
    if (left && !store.isPending(left.key)) {
      setText(left.message)
      bring(left.attachments)
    }
    const key = (own.current = newKey())
    store.drafts.send(place, { message, attachments: [...files], key })
    void store.sendMessage(message, { attachments: files, key })
  }
  const waits = opening && waiting === text
  useEffect(() => {
    if (opening || waiting === null) return
    setWaiting(null)
    // A chat that cannot be opened gets no messages; the text stays in the input.
    if (waiting === text && store.getSnapshot().error === null) send()
  }, [opening, waiting])
  return { text, setText, files, addFiles: add, removeFile: remove, problem, queue, bringBack, busy, canSend, waits, send, stop: () => void store.stop() }
}

/** The run that a request has started, if any. A service that cannot say is asked again: a message that comes back might be sent twice. */
async function startedBy(store: ChatStore, key: string, signal: AbortSignal): Promise<Run | undefined> {
  for (let failures = 1; !signal.aborted; failures++) {
    try {
      return await store.runOf(key)
    } catch (error) {
      if (!(error instanceof ApiError && error.retryable)) return undefined
      await pause(waitAfter(error, failures, ASK_AGAIN), signal)
    }
  }
}

/** Milliseconds between two requests that ask for a run. */
const ASK_AGAIN = { firstWait: 1_000, longestWait: 30_000 }
