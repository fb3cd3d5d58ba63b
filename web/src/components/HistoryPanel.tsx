import { useEffect, useRef, useState } from 'react'
import type { Chat } from '../api/types'
import { isAbort } from '../api/errors'
import { useChatStore } from '../state/context'
import { problemWords } from '../labels'
import { useLabels } from '../state/ui'
import { BackIcon, EditIcon, SearchIcon, TrashIcon } from './icons'
import { IconButton } from './Message'
import { mayType } from './useFocusKept'

/** The user's chats: search, open, rename, delete. */
export function HistoryPanel({ current, onClose }: { current: number | null; onClose: () => void }) {
  const labels = useLabels()
  const store = useChatStore()
  const [query, setQuery] = useState('')
  const { items, cursor, state, more, change } = useChats(query)
  const box = useRef<HTMLElement>(null)
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => (mayType() ? field : box).current?.focus(), [])
  return (
    <section ref={box} className="ct-history" tabIndex={-1} aria-label={labels.history} onKeyDown={(e) => {
      if (e.key === 'Escape') {
        e.stopPropagation()
        onClose()
      }
    }}>
      <div className="ct-history-search">
        <IconButton label={labels.back} onClick={onClose}><BackIcon /></IconButton>
        <label className="ct-search"><SearchIcon /><input ref={field} type="search" value={query} maxLength={200} placeholder={labels.historySearch} aria-label={labels.historySearch} onChange={(e) => setQuery(e.target.value)} /></label>
      </div>
      {state === 'error' && <p className="ct-note" data-tone="error">{labels.errorTitle}</p>}
      {items.length === 0 && state !== 'error' && <p className="ct-muted ct-center">{state === 'loading' ? labels.loading : query ? labels.historyNone : labels.historyEmpty}</p>}
      <ul>
        {items.map((chat) => (
          <ChatRow
            key={chat.conversation_id} chat={chat} current={chat.conversation_id === current}
            onOpen={() => {
              void store.open(chat.conversation_id)
              onClose()
            }}
            onRename={async (title) => {
              await store.rename(chat.conversation_id, title)
              change((list) => list.map((c) => (c === chat ? { ...c, title } : c)))
            }}
            onDelete={async () => {
              await store.remove(chat.conversation_id)
              change((list) => list.filter((c) => c !== chat))
            }}
          />
        ))}
      </ul>
      {cursor && <button type="button" className="ct-button ct-small ct-older" onClick={more}>{labels.historyMore}</button>}
    </section>
  )
}

const PAGE = 30
const TYPING = 200

function useChats(query: string) {
  const store = useChatStore()
  const [items, setItems] = useState<Chat[]>([])
  const [cursor, setCursor] = useState<string | undefined>()
  const [state, setState] = useState<'loading' | 'ready' | 'error'>('loading')
  useEffect(() => {
    const reading = new AbortController()
    const timer = setTimeout(() => {
      setState('loading')
      store.api.listChats({ q: query.trim(), limit: PAGE }, reading.signal).then(
        (list) => {
          setItems(list.items)
          setCursor(list.next_cursor)
          setState('ready')
        },
        (error: unknown) => isAbort(error) || setState('error'),
      )
    }, query ? TYPING : 0)
    return () => {
      clearTimeout(timer)
      reading.abort()
    }
  }, [store, query])
  const more = () => {
    store.api.listChats({ q: query.trim(), limit: PAGE, cursor }).then(
      (list) => {
        setItems((before) => [...before, ...list.items])
        setCursor(list.next_cursor)
      },
      () => setState('error'),
    )
  }
  return { items, cursor, state, more, change: setItems }
}

function ChatRow({ chat, current, onOpen, onRename, onDelete }: {
  chat: Chat
  current: boolean
  onOpen: () => void
  onRename: (title: string) => Promise<void>
  onDelete: () => Promise<void>
}) {
  const labels = useLabels()
  const [mode, setMode] = useState<'show' | 'rename' | 'delete'>('show')
  const [title, setTitle] = useState(chat.title)
  const [problem, setProblem] = useState('')
  const row = useRef<HTMLLIElement>(null)
  const was = useRef(mode)
  useEffect(() => {
    if (mode === 'show' && was.current !== 'show') row.current?.querySelector<HTMLElement>(`[data-act=${was.current}]`)?.focus()
    was.current = mode
  }, [mode])
  const begin = (next: 'rename' | 'delete') => {
    setTitle(chat.title)
    setProblem('')
    setMode(next)
  }
  const act = (doing: Promise<void>) => void doing.then(() => setMode('show'), (error: unknown) => setProblem(problemWords(labels, error)))
  const leave = (e: React.KeyboardEvent) => {
    if (e.key !== 'Escape') return
    e.stopPropagation()
    setMode('show')
  }
  if (mode === 'rename') {
    return (
      <li ref={row} className="ct-chat-row">
        <form onKeyDown={leave} onSubmit={(e) => {
          e.preventDefault()
          if (title.trim()) act(onRename(title.trim()))
        }}>
          <input className="ct-input" value={title} maxLength={200} autoFocus aria-label={labels.rename} onChange={(e) => setTitle(e.target.value)} />
          <button type="submit" className="ct-button ct-small" data-style="primary">{labels.save}</button>
          <button type="button" className="ct-button ct-small" onClick={() => setMode('show')}>{labels.cancel}</button>
        </form>
        {problem && <p className="ct-composer-problem" role="alert">{problem}</p>}
      </li>
    )
  }
  return (
    <li ref={row} className="ct-chat-row" data-current={current}>
      <button type="button" className="ct-chat-open" onClick={onOpen} aria-current={current}>
        <span dir="auto">{chat.title || labels.untitled}</span>
        <small>{chat.active_run_id && <span className="ct-spinner" />}<time dateTime={chat.updated_at}>{when(chat.updated_at)}</time></small>
      </button>
      {mode === 'delete' ? (
        <span className="ct-row ct-chat-sure" role="group" aria-label={labels.removeSure} onKeyDown={leave}>
          <span role={problem ? 'alert' : undefined}>{problem || labels.removeSure}</span>
          <button type="button" className="ct-button ct-small" data-style="warning" autoFocus onClick={() => act(onDelete())}>{labels.remove}</button>
          <button type="button" className="ct-button ct-small" onClick={() => setMode('show')}>{labels.cancel}</button>
        </span>
      ) : (
        <span className="ct-chat-tools">
          <IconButton label={`${labels.rename}: ${chat.title}`} data-act="rename" onClick={() => begin('rename')}><EditIcon /></IconButton>
          <IconButton label={`${labels.remove}: ${chat.title}`} data-act="delete" onClick={() => begin('delete')}><TrashIcon /></IconButton>
        </span>
      )}
    </li>
  )
}

function when(iso: string): string {
  const date = new Date(iso)
  const today = new Date().toDateString() === date.toDateString()
  return today ? date.toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' }) : date.toLocaleDateString(undefined, { day: 'numeric', month: 'short' })
}
