import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { ApiError, isAbort } from '../api/errors'
import type { Chat } from '../api/types'
import { useChatState, useChatStore } from './context'
import { Tabs, type TabMessage } from './tabs'
import { useLatest } from './useLatest'

/** Chats that are fetched at a time; the time after the last key before a search, and after which it is asked whether chats are still being answered, in milliseconds. */
const THREADS = { page: 30, typing: 200, answering: 5_000 }

/** The user's chats, pinned ones first, then the newest. */
export interface ThreadsState {
  items: readonly Chat[]
  /** The open one. */
  current: number | null
  query: string
  setQuery: (query: string) => void
  status: 'loading' | 'ready' | 'error'
  /** Why the list could not be read, while the status is `error`; null if that is not known. */
  error: ApiError | null
  /** Reads the list again, as after an error; it is also read again when the browser is online again. */
  reload: () => void
  hasMore: boolean
  loadMore: () => void
  open: (conversationId: number) => void
  startNew: () => void
  rename: (conversationId: number, title: string) => Promise<void>
  remove: (conversationId: number) => Promise<void>
  /** Whether archived chats are shown. */
  archived: boolean
  setArchived: (archived: boolean) => void
  pin: (conversationId: number, pinned: boolean) => Promise<void>
  archive: (conversationId: number, archived: boolean) => Promise<void>
}

/** A change of a chat in the list of another tab; `set` is null if the chat is deleted. */
interface Change {
  id: number
  set: Partial<Chat> | null
}

/** The user's chats, pinned ones first and then the newest, as a list that loads more and is searched; changes of other tabs are shown. */
export function useThreads(): ThreadsState {
  const store = useChatStore()
  const current = useChatState((state) => state.conversationId)
  const [query, setQuery] = useState('')
  const [archived, setArchived] = useState(false)
  const [{ items, cursor }, setList] = useState<{ items: Chat[]; cursor?: string }>({ items: [] })
  const [status, setStatus] = useState<ThreadsState['status']>('loading')
  const [error, setError] = useState<ApiError | null>(null)
  // The chats of another user are not shown meanwhile.
  const [of, setOf] = useState(store)
  if (of !== store) {
    setOf(store)
    setList({ items: [] })
    setQuery('')
    setStatus('loading')
  }
  const failed = useCallback((problem: unknown) => {
    setError(problem instanceof ApiError ? problem : null)
    setStatus('error')
  }, [])
  // A list that was requested before a change may lack it, so it is read again.
  const reading = useRef(false)
  const [stale, setStale] = useState(0)
  const reload = useCallback(() => setStale((n) => n + 1), [])
  const change = useLatest(({ id, set }: Change) => {
    const goes = set === null || (set.archived ?? archived) !== archived
    setList((list) => ({ ...list, items: list.items.flatMap((c) => (c.conversation_id !== id ? [c] : goes ? [] : [{ ...c, ...set }])).toSorted(inOrder) }))
    if (reading.current || (!goes && !items.some((c) => c.conversation_id === id))) reload()
  })
  const tabs = useMemo(() => new Tabs<Change>(store.keyOf('threads')), [store])
  // A list of more pages stays as the user has read it.
  const seen = useLatest(() => items.length > THREADS.page || reload())
  useEffect(() => tabs.join((made) => change.current(made), () => seen.current()), [tabs])
  const share = useCallback((id: number, set: Change['set']) => {
    change.current({ id, set })
    tabs.tell({ id, set })
  }, [tabs])
  // A new chat of a tab that may have no list itself.
  const news = useLatest((message: TabMessage) => message.kind === 'changed' && items.every((c) => c.conversation_id !== message.conversationId) && reload())
  useEffect(() => new Tabs<TabMessage>(store.keyOf()).join((message) => news.current(message), () => undefined), [store])
  // A chat that is not in the list is new, so the list is read again after its first answer.
  const settled = useChatState((state) => (state.isLoading ? null : state.conversationId))
  const [made, setMade] = useState<number | null>(null)
  if (settled !== null && settled !== made && status === 'ready' && query === '' && !archived && !items.some((c) => c.conversation_id === settled)) setMade(settled)
  useEffect(() => {
    const request = new AbortController()
    const timer = setTimeout(() => {
      setStatus('loading')
      reading.current = true
      store.api.listChats({ q: query.trim(), limit: THREADS.page, ...(archived && { archived: 'true' }) }, request.signal).then(
        (list) => {
          if (request.signal.aborted) return
          reading.current = false
          setList({ items: list.items, cursor: list.next_cursor })
          setStatus('ready')
        },
        (problem: unknown) => {
          if (isAbort(problem)) return
          reading.current = false
          failed(problem)
        },
      )
    }, query ? THREADS.typing : 0)
    return () => {
      clearTimeout(timer)
      request.abort()
    }
  }, [store, query, archived, made, stale])
  // Nothing tells when an answer of a chat ends that is not open.
  const here = useChatState((state) => (state.isLoading ? state.conversationId : null))
  const answering = items.some((c) => c.active_run_id && c.conversation_id !== here)
  useEffect(() => {
    if (!answering) return
    // Where it is not known, and where nobody sees it, it is asked again.
    const unknown = (): { items: Chat[] } => ({ items: [] })
    const asked = async () => (document.hidden ? unknown() : store.api.listChats({ limit: THREADS.page, ...(archived && { archived: 'true' }) }).catch(unknown))
    const timer = setTimeout(() => void asked().then((now) => {
      setList((list) => ({ ...list, items: list.items.map((c) => ({ ...c, active_run_id: (now.items.find((n) => n.conversation_id === c.conversation_id) ?? c).active_run_id })) }))
    }), THREADS.answering)
    return () => clearTimeout(timer)
  }, [store, answering, items, archived])
  useEffect(() => {
    addEventListener('online', reload)
    return () => removeEventListener('online', reload)
  }, [reload])
  const end = useLatest(cursor)
  const loadMore = useCallback(() => {
    store.api.listChats({ q: query.trim(), limit: THREADS.page, cursor, ...(archived && { archived: 'true' }) }).then(
      // A page counts once, and only while the list ends where it begins. A chat that was moved meanwhile may be in it again.
      (list) => {
        setList((before) => (before.cursor !== cursor ? before : {
          items: [...before.items, ...list.items.filter((c) => before.items.every((b) => b.conversation_id !== c.conversation_id))], cursor: list.next_cursor,
        }))
        if (end.current === cursor) setStatus((now) => (now === 'error' ? 'ready' : now))
      },
      (problem: unknown) => {
        if (end.current === cursor) failed(problem)
      },
    )
  }, [store, query, archived, cursor])
  // All that was listed is archived or deleted: the next page takes its place.
  const next = status === 'ready' && items.length === 0 && cursor !== undefined
  useEffect(() => {
    if (next) loadMore()
  }, [next, loadMore])
  return {
    items, current, query, setQuery, status, error, hasMore: cursor !== undefined, loadMore, reload, archived, setArchived,
    open: useCallback((id) => void store.open(id), [store]),
    startNew: useCallback(() => store.newChat(), [store]),
    rename: useCallback(async (id, title) => {
      await store.rename(id, title)
      share(id, { title })
    }, [store, share]),
    pin: useCallback(async (id, pinned) => {
      await store.api.patchChat(id, { pinned })
      share(id, { pinned })
    }, [store, share]),
    archive: useCallback(async (id, put) => {
      await store.api.patchChat(id, { archived: put })
      share(id, { archived: put })
    }, [store, share]),
    remove: useCallback(async (id) => {
      await store.remove(id)
      share(id, null)
    }, [store, share]),
  }
}

/** The order in which the service lists chats. */
function inOrder(a: Chat, b: Chat): number {
  return Number(b.pinned ?? false) - Number(a.pinned ?? false) || b.updated_at.localeCompare(a.updated_at) || b.conversation_id - a.conversation_id
}
