import { useEffect, useLayoutEffect, useRef, useState, type RefObject } from 'react'
import type { Chat } from '../api/types'
import { problemWords } from '../labels/tray'
import { classes, type PartProps } from '../state/slots'
import { useAllLabels } from '../state/allLabels'
import { useChatState } from '../state/context'
import { OWN_ESCAPE, takeEscape } from '../state/keys'
import { useTray } from '../state/tray'
import { useThreads } from './useThreads'
import type { Labels } from '../labels/tray'
import { trimmed } from '../state/values/cut'
import { waitingApproval } from '../state/values/view'
import { ChatIcon, EditIcon, RetryIcon, WarnIcon } from './icons'
import { IconButton } from './IconButton'
import { ArchiveIcon, BackIcon, PinIcon, SearchIcon, TrashIcon } from './laterIcons'
import { Skeleton } from './Skeleton'
import { clockOf, dayOf } from './Time'
import { mayType } from './useFocusKept'

export interface HistoryPanelProps extends PartProps {
  /** Called when a chat was chosen, and by the button that leads back; without it there is no such button. */
  onClose?: (() => void) | undefined
}

/** The user's chats by day: search, open, pin, rename, archive, delete. */
export default function HistoryPanel({ onClose, className, children }: HistoryPanelProps) {
  const labels = useAllLabels()
  const { items, current, query, setQuery, status, error, reload, hasMore, loadMore, open, rename, remove, pin, archive, archived, setArchived } = useThreads()
  const { waits, busy } = useChatState((state) => ({ waits: Boolean(waitingApproval(state.run)), busy: state.isLoading }))
  const box = useRef<HTMLElement>(null)
  const field = useRef<HTMLInputElement>(null)
  const keepFocus = useFocusedRow(box, items)
  const { announce } = useTray()
  useEffect(() => {
    if (query && status === 'ready') announce(labels.paletteFound(items.length))
  }, [items, status])
  const lent = onClose !== undefined
  useEffect(() => {
    if (lent) (mayType() ? field : box).current?.focus()
  }, [lent])
  return (
    <section ref={box} className={classes('ct-history', className)} tabIndex={-1} aria-label={labels.history} {...(lent && OWN_ESCAPE)} onKeyDown={(e) => {
      if (onClose && takeEscape(e)) onClose()
    }}>
      <div className="ct-history-search">
        {onClose && <IconButton label={labels.back} onClick={onClose}><BackIcon /></IconButton>}
        <label className="ct-search"><SearchIcon /><input ref={field} type="search" value={query} maxLength={200} placeholder={labels.historySearch} aria-label={labels.historySearch} onChange={(e) => setQuery(e.target.value)} /></label>
      </div>
      {status === 'error' && (
        <div className="ct-note" data-tone="error" role="alert">
          <WarnIcon /><div><strong>{labels.historyFailed}</strong>{error && <span>{problemWords(labels, error)}</span>}</div>
          <button type="button" className="ct-button ct-small" onClick={reload}><RetryIcon />{labels.retry}</button>
        </div>
      )}
      {items.length === 0 && status !== 'error' && (status === 'loading' || hasMore ? <Skeleton of="list" lines={6} /> : <div className="ct-invite">{query ? labels.historyNone : <><ChatIcon /><strong>{labels.historyEmpty}</strong>{labels.historyInvite}</>}</div>)}
      {grouped(items, labels, archived).map(([day, chats]) => (
      <section key={day} aria-label={day}>
      {day && <h3 className="ct-history-day">{day}</h3>}
      <ul>
        {chats.map((chat) => (
          <ChatRow
            key={chat.conversation_id} chat={chat} current={chat.conversation_id === current} waits={waits && chat.conversation_id === current} busy={chat.conversation_id === current ? busy : Boolean(chat.active_run_id)}
            onOpen={() => {
              open(chat.conversation_id)
              onClose?.()
            }}
            onRename={(title) => rename(chat.conversation_id, title)}
            onDelete={() => keepFocus(chat, remove(chat.conversation_id))}
            onPin={() => keepFocus(chat, pin(chat.conversation_id, !chat.pinned))}
            onArchive={() => keepFocus(chat, archive(chat.conversation_id, !chat.archived))}
          />
        ))}
      </ul>
      </section>
      ))}
      {hasMore && <button type="button" className="ct-button ct-small ct-older" onClick={loadMore}>{labels.historyMore}</button>}
      <button type="button" className="ct-button ct-small ct-older" aria-pressed={archived} onClick={() => setArchived(!archived)}><ArchiveIcon />{labels.archivedShow}</button>
      {children}
    </section>
  )
}

function ChatRow({ chat, current, waits, busy, onOpen, onRename, onDelete, onPin, onArchive }: {
  chat: Chat
  current: boolean
  /** Whether the chat's run waits for the user. */
  waits: boolean
  busy: boolean
  onOpen: () => void
  onRename: (title: string) => Promise<void>
  onDelete: () => Promise<void>
  onPin: () => Promise<void>
  onArchive: () => Promise<void>
}) {
  const labels = useAllLabels()
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
    if (takeEscape(e)) setMode('show')
  }
  if (mode === 'rename') {
    return (
      <li ref={row} className="ct-chat-row">
        <form {...OWN_ESCAPE} onKeyDown={leave} onSubmit={(e) => {
          e.preventDefault()
          if (trimmed(title)) act(onRename(trimmed(title)))
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
    <li ref={row} className="ct-chat-row" data-current={current} data-chat={chat.conversation_id}>
      <button type="button" className="ct-chat-open" onClick={onOpen} aria-current={current}>
        <span dir="auto">{chat.title || labels.untitled}</span>
        <small>{waits ? <span className="ct-chat-waits">{labels.launcherWaits}</span> : busy && <span className="ct-spinner" />}<time dateTime={chat.updated_at}>{when(chat.updated_at)}</time></small>
      </button>
      {mode === 'delete' ? (
        <span className="ct-row ct-chat-sure" {...OWN_ESCAPE} role="group" aria-label={labels.removeSure} onKeyDown={leave}>
          <span role={problem ? 'alert' : undefined}>{problem || labels.removeSure}</span>
          <button type="button" className="ct-button ct-small" data-style="warning" autoFocus onClick={() => act(onDelete())}>{labels.remove}</button>
          <button type="button" className="ct-button ct-small" onClick={() => setMode('show')}>{labels.cancel}</button>
        </span>
      ) : (
        <span className="ct-chat-tools">
          <IconButton label={`${chat.pinned ? labels.unpin : labels.pin}: ${chat.title}`} pressed={chat.pinned ?? false} data-act="pin" onClick={() => act(onPin())}><PinIcon /></IconButton>
          <IconButton label={`${chat.archived ? labels.unarchive : labels.archive}: ${chat.title}`} onClick={() => act(onArchive())}><ArchiveIcon /></IconButton>
          <IconButton label={`${labels.rename}: ${chat.title}`} data-act="rename" onClick={() => begin('rename')}><EditIcon /></IconButton>
          <IconButton label={`${labels.remove}: ${chat.title}`} data-act="delete" onClick={() => begin('delete')}><TrashIcon /></IconButton>
        </span>
      )}
      {mode === 'show' && problem && <p className="ct-composer-problem" role="alert">{problem}</p>}
    </li>
  )
}

/**
 * Keeps the focus in the list when a button is used that moves or removes its row: it stays on the button of the moved row, or
 * goes to the row after a removed one, or before it.
 */
function useFocusedRow(box: RefObject<HTMLElement | null>, items: readonly Chat[]) {
  const rows = useRef<number[]>([])
  // Before useFocusKept sees that the focused button is gone.
  useLayoutEffect(() => {
    const [used] = rows.current
    if (used === undefined || document.activeElement !== document.body) return
    const found = rows.current.find((id) => items.some((c) => c.conversation_id === id))
    rows.current = []
    box.current?.querySelector<HTMLElement>(`[data-chat="${found}"] ${found === used ? '[data-act=pin]' : '.ct-chat-open'}`)?.focus()
  }, [box, items])
  return (chat: Chat, doing: Promise<void>) => {
    const ids = items.map((c) => c.conversation_id)
    const at = ids.indexOf(chat.conversation_id)
    rows.current = [...ids.slice(at), ...ids.slice(0, at).reverse()]
    return doing
  }
}

function when(iso: string): string {
  const date = new Date(iso)
  const today = new Date().toDateString() === date.toDateString()
  return today ? clockOf(date) : dayOf(date)
}

/** The chats grouped by day: pinned ones first, then by the day of the last message. */
function grouped(chats: readonly Chat[], labels: Labels, archived: boolean): [string, Chat[]][] {
  const groups = new Map<string, Chat[]>()
  const today = midnight(new Date())
  for (const chat of chats) {
    const days = Math.round((today - midnight(new Date(chat.updated_at))) / DAY) // when the clocks change, a day has 23 or 25 hours
    const day = chat.pinned && !archived ? labels.pinned : days <= 0 ? labels.today : days === 1 ? labels.yesterday : days <= 7 ? labels.thisWeek : days <= 30 ? labels.thisMonth : labels.earlier
    groups.set(day, [...(groups.get(day) ?? []), chat])
  }
  return [...groups]
}

const midnight = (date: Date) => date.setHours(0, 0, 0, 0)

const DAY = 24 * 60 * 60 * 1000
