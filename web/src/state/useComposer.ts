import { useCallback, useEffect, useState } from 'react'
import type { Attachment } from '../api/types'
import { useChatState, useChatStore } from './context'
import { draftAfter, type DraftPlace } from './drafts'
import { useShort } from './longText'
import type { Unsent } from './state'
import { useLabels, useTray } from './tray'
import { useFiles } from './useFiles'

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
export function useComposer({ storageKey = '' }: { storageKey?: string } = {}): ComposerState {
  const store = useChatStore()
  const { me } = useTray()
  const { busy, queue, opening, unsent, chat } = useChatState((state) => ({ busy: state.isLoading, queue: state.queue.length, opening: state.isOpening, unsent: state.unsent, chat: state.conversationId }))
  const { files, problem, add, addText, remove, clear, bring, refuse } = useFiles()
  const [draft, keepDraft] = useDraft({ user: me?.user_id ?? '', tray: storageKey, chat }, !opening)
  const [text, setText] = useShort(draft, keepDraft, addText)
  const labels = useLabels()
  const bringBack = (back: Unsent) => {
    setText([back.message, text].filter((t) => t.trim() !== '').join('\n'))
    bring(back.attachments)
  }
  useEffect(() => {
    // A message that could not be sent comes back.
    const back = unsent && store.takeUnsent()
    if (back) bringBack(back)
  }, [unsent])
  useEffect(() => store.takeFiles(add))
  const canSend = text.trim() !== '' || files.length > 0
  const [waiting, setWaiting] = useState<string | null>(null)
  const send = () => {
    if (!canSend) return
    if (opening) return setWaiting(text)
    // The service requires text in each message.
    const message = text.trim() || labels.attachedOnly
    if (busy && !store.enqueue(message, files)) return refuse(labels.queueFull)
    setText('')
    clear()
    if (!busy) void store.sendMessage(message, { attachments: files })
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

/** Text that survives a reload; each user and chat has its own. */
function useDraft({ user, tray, chat }: DraftPlace, named: boolean): [string, (text: string) => void] {
  const { drafts } = useChatStore()
  const [draft, setDraft] = useState(() => ({ drafts, user, tray, chat, text: drafts.read({ user, tray, chat }) }))
  let { text } = draft
  if (draft.drafts !== drafts || draft.user !== user || draft.tray !== tray || draft.chat !== chat) {
    text = draft.drafts === drafts ? draftAfter(drafts, draft, draft.text, { user, tray, chat }, named) : drafts.read({ user, tray, chat })
    setDraft({ drafts, user, tray, chat, text })
  }
  const set = useCallback((next: string) => {
    setDraft({ drafts, user, tray, chat, text: next })
    drafts.keep({ user, tray, chat }, next)
  }, [drafts, user, tray, chat])
  return [text, set]
}
