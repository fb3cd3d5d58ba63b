import { useCallback, useEffect, useRef, useState } from 'react'
import type { Attachment } from '../api/types'
import { useChatStore } from '../state/context'
import { draftAfter, type DraftPlace } from '../state/drafts'
import type { Unsent } from '../state/state'
import { useLabels, useTray } from '../state/ui'
import { ClipIcon, CloseIcon, FileIcon, SendIcon, StopIcon } from './icons'

/** Limits of what is attached: of each file, and of all as they are sent. The service has the last word. */
export const ATTACHMENT_LIMITS = { files: 10, bytes: 5 * 1024 * 1024, characters: 7.5 * 1024 * 1024 }

/** The input with its draft, which is kept for each user and conversation. */
export function Composer({ busy, opening, unsent, conversationId, storageKey, inputRef }: {
  busy: boolean
  /** A chat is being fetched; nothing is sent before it is there. */
  opening: boolean
  /** A message that comes back because it could not be sent. */
  unsent: Unsent | null
  conversationId: number | null
  /** The tray's own name, among those of the provider. */
  storageKey: string
  inputRef: React.RefObject<HTMLTextAreaElement | null>
}) {
  const labels = useLabels()
  const store = useChatStore()
  const { me } = useTray()
  const [text, setText] = useDraft({ user: me?.user_id ?? '', tray: storageKey, chat: conversationId }, !opening)
  const { files, problem, add, remove, clear, bring } = useFiles()
  const picker = useRef<HTMLInputElement>(null)
  useEffect(() => {
    const field = inputRef.current
    if (!field) return
    field.style.height = 'auto'
    field.style.height = `${Math.min(field.scrollHeight, MAX_HEIGHT)}px`
  }, [text, inputRef])
  useEffect(() => {
    const back = unsent && store.takeUnsent()
    if (!back) return
    setText([back.message, text].filter((t) => t.trim() !== '').join('\n'))
    bring(back.attachments)
  }, [unsent])
  const send = () => {
    const message = text.trim()
    if (message === '' || busy || opening) return
    setText('')
    clear()
    void store.sendMessage(message, { attachments: files })
  }
  return (
    <form
      className="ct-composer"
      onSubmit={(e) => {
        e.preventDefault()
        send()
      }}
      onDragOver={(e) => e.preventDefault()}
      onDrop={(e) => {
        e.preventDefault()
        add(e.dataTransfer.files)
      }}
    >
      {files.length > 0 && (
        <div className="ct-files">
          {files.map((file, i) => (
            <span className="ct-file" key={i}><FileIcon />{file.name}<button type="button" aria-label={`${labels.detach}: ${file.name}`} onClick={() => remove(i)}><CloseIcon /></button></span>
          ))}
        </div>
      )}
      {problem && <p className="ct-composer-problem" role="alert">{problem}</p>}
      <div className="ct-composer-row">
        <input ref={picker} type="file" multiple hidden onChange={(e) => {
          if (e.target.files) add(e.target.files)
          e.target.value = ''
        }} />
        <button type="button" className="ct-icon-button" aria-label={labels.attach} title={labels.attach} onClick={() => picker.current?.click()}><ClipIcon /></button>
        <textarea
          ref={inputRef} rows={1} value={text} dir="auto" placeholder={labels.placeholder} aria-label={labels.composer} enterKeyHint="send"
          onChange={(e) => setText(e.target.value)}
          onPaste={(e) => {
            // Of what comes as text too, such as cells of a table, the text is meant.
            if (e.clipboardData.files.length > 0 && !e.clipboardData.types.includes('text/plain')) {
              e.preventDefault()
              add(e.clipboardData.files)
            }
          }}
          onKeyDown={(e) => {
            if (e.key !== 'Enter' || e.shiftKey || composes(e)) return
            e.preventDefault()
            send()
          }}
        />
        {busy ? (
          <button type="button" className="ct-send" data-stop aria-label={labels.stop} title={labels.stopTitle} onClick={() => void store.stop()}><StopIcon /></button>
        ) : (
          <button type="submit" className="ct-send" aria-label={labels.send} title={labels.send} disabled={opening || text.trim() === ''}><SendIcon /></button>
        )}
      </div>
    </form>
  )
}

const MAX_HEIGHT = 200

/** Whether a key belongs to a word that is still being composed; Safari says so only by its code. */
export function composes(e: React.KeyboardEvent): boolean {
  return e.nativeEvent.isComposing || e.nativeEvent.keyCode === COMPOSING
}

const COMPOSING = 229

/** Text that outlives a reload; each user and chat has its own. */
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

function useFiles() {
  const labels = useLabels()
  const [files, setFiles] = useState<Attachment[]>([])
  const [problem, setProblem] = useState('')
  const taken = useRef(0)
  useEffect(() => {
    taken.current = files.reduce((sum, file) => sum + file.content.length, 0)
  }, [files])
  const add = (list: FileList) => {
    setProblem('')
    const chosen = [...list].slice(0, ATTACHMENT_LIMITS.files - files.length)
    if (chosen.length < list.length) setProblem(labels.attachTooMany)
    for (const file of chosen) {
      readFile(file).then(
        (attachment) => {
          taken.current += attachment.content.length
          if (taken.current <= ATTACHMENT_LIMITS.characters) return setFiles((before) => [...before, attachment].slice(0, ATTACHMENT_LIMITS.files))
          taken.current -= attachment.content.length
          setProblem(`${file.name} ${labels.attachTooLarge}`)
        },
        (reason: unknown) => setProblem(`${file.name} ${reason === 'large' ? labels.attachTooLarge : labels.attachUnsupported}`),
      )
    }
  }
  const remove = (at: number) => setFiles((before) => before.filter((_, i) => i !== at))
  const bring = (back: Attachment[]) => setFiles((now) => [...back, ...now].slice(0, ATTACHMENT_LIMITS.files))
  return { files, problem, add, remove, bring, clear: () => setFiles([]) }
}

/** Reads a file as the service wants it: text as it is, images in base64. It rejects with "large" or "kind". */
export async function readFile(file: File): Promise<Attachment> {
  if (file.size > ATTACHMENT_LIMITS.bytes) return Promise.reject('large')
  const bytes = new Uint8Array(await file.arrayBuffer())
  if (file.type.startsWith('image/') && file.type !== 'image/svg+xml') return { name: file.name, mime: file.type, content: base64(bytes) }
  try {
    const content = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    if (content === '' || content.includes('\0')) return Promise.reject('kind')
    return { name: file.name, mime: textType(file), content }
  } catch {
    return Promise.reject('kind')
  }
}

function textType(file: File): string {
  if (file.type.startsWith('text/')) return file.type
  const known: Record<string, string> = { md: 'text/markdown', csv: 'text/csv', html: 'text/html', json: 'application/json' }
  return known[file.name.split('.').pop()?.toLowerCase() ?? ''] ?? 'text/plain'
}

function base64(bytes: Uint8Array): string {
  let text = ''
  for (let i = 0; i < bytes.length; i += 0x8000) text += String.fromCharCode(...bytes.subarray(i, i + 0x8000))
  return btoa(text)
}
