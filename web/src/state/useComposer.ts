import { useCallback, useEffect, useState } from 'react'
import type { Attachment } from '../api/types'
import { useChatState, useChatStore } from './context'
import { draftAfter, type DraftPlace } from './drafts'
import { useShort } from './longText'
import type { Unsent } from './state'
import { useLabels, useTray } from './tray'
import { useFiles, type FileHolder } from './useFiles'

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
  const [draft, keepDraft, held] = useDraft({ user: me?.user_id ?? '', tray: storageKey, chat }, !opening)
  const { files, problem, add, addText, remove, clear, bring, refuse } = useFiles(held)
  const [text, setText] = useShort(draft, keepDraft, addText)
  const labels = useLabels()
  useEffect(() => {
    if (held.lost) refuse(`${held.lost}: ${labels.attachLost}`)
  }, [held.lost])
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

/** Text and files that survive a reload; each user and chat has its own. `lost` names the files that did not. */
function useDraft({ user, tray, chat }: DraftPlace, named: boolean): [string, (text: string) => void, FileHolder & { lost: string }] {
  const { drafts } = useChatStore()
  const place = { user, tray, chat }
  const [draft, setDraft] = useState(() => ({ drafts, place, text: drafts.read(place), ...filesOf(drafts.read(filesAt(place))) }))
  let now = draft
  if (draft.drafts !== drafts || !isAt(draft.place, place)) {
    const moved = (to: (place: DraftPlace) => DraftPlace, text: string) => draft.drafts === drafts ? draftAfter(drafts, to(draft.place), text, to(place), named) : drafts.read(to(place))
    now = { drafts, place, text: moved((p) => p, draft.text), ...filesOf(moved(filesAt, drafts.read(filesAt(draft.place)))) }
    setDraft(now)
  }
  const change = (next: { text: string } | { files: Attachment[]; lost: string }) => setDraft((d) => (d.drafts === drafts && isAt(d.place, place) ? { ...d, ...next } : d))
  const setText = useCallback((text: string) => {
    change({ text })
    drafts.keep(place, text)
  }, [drafts, user, tray, chat])
  const put = (files: Attachment[]) => {
    change({ files, lost: '' })
    if (files.length === 0) drafts.keep(filesAt(place), '')
    else drafts.keep(filesAt(place), JSON.stringify(files), JSON.stringify(files.map((file) => ({ ...file, content: '' }))))
  }
  return [now.text, setText, { files: now.files, lost: now.lost, get: () => filesOf(drafts.read(filesAt(place))).files, put }]
}

/** Where the files of a draft are. */
const filesAt = (place: DraftPlace): DraftPlace => ({ ...place, tray: `${place.tray} files` })

const isAt = (a: DraftPlace, b: DraftPlace) => a.user === b.user && a.tray === b.tray && a.chat === b.chat

/** The files of a draft as they were kept, and the names of those that were too large for that. */
function filesOf(kept: string): { files: Attachment[]; lost: string } {
  try {
    const all = (JSON.parse(kept || '[]') as Attachment[]).filter(({ name, mime, content }) => [name, mime, content].every((text) => typeof text === 'string'))
    return { files: all.filter(({ content }) => content), lost: all.flatMap(({ name, content }) => (content ? [] : name)).join(', ') }
  } catch {
    return { files: [], lost: '' }
  }
}
