import { useCallback, useEffect, useRef, useState } from 'react'
import { isAbort } from '../api/errors'
import type { Chat } from '../api/types'
import { useChatState, useChatStore } from './context'

/** Chats that are fetched at a time, and the time after the last key before a search, in milliseconds. */
const THREADS = { page: 30, typing: 200 }

/** The user's chats, newest first. */
export interface ThreadsState {
  items: readonly Chat[]
  /** The open one. */
  current: number | null
  query: string
  setQuery: (query: string) => void
  status: 'loading' | 'ready' | 'error'
  hasMore: boolean
  loadMore: () => void
  open: (conversationId: number) => void
  startNew: () => void
  rename: (conversationId: number, title: string) => Promise<void>
  remove: (conversationId: number) => Promise<void>
}

export function useThreads(): ThreadsState {
  const store = useChatStore()
  const current = useChatState((state) => state.conversationId)
  const [query, setQuery] = useState('')
  const [items, setItems] = useState<Chat[]>([])
  const [cursor, setCursor] = useState<string | undefined>()
  const [status, setStatus] = useState<ThreadsState['status']>('loading')
  const wanted = useRef(query)
  // A chat that is not in the list is new: it is read once more when the first answer is there.
  const settled = useChatState((state) => (state.isLoading ? null : state.conversationId))
  const [made, setMade] = useState<number | null>(null)
  if (settled !== null && settled !== made && status === 'ready' && query === '' && !items.some((c) => c.conversation_id === settled)) setMade(settled)
  useEffect(() => {
    wanted.current = query
    const reading = new AbortController()
    const timer = setTimeout(() => {
      setStatus('loading')
      store.api.listChats({ q: query.trim(), limit: THREADS.page }, reading.signal).then(
        (list) => {
          setItems(list.items)
          setCursor(list.next_cursor)
          setStatus('ready')
        },
        (error: unknown) => isAbort(error) || setStatus('error'),
      )
    }, query ? THREADS.typing : 0)
    return () => {
      clearTimeout(timer)
      reading.abort()
    }
  }, [store, query, made])
  const loadMore = useCallback(() => {
    store.api.listChats({ q: query.trim(), limit: THREADS.page, cursor }).then(
      (list) => {
        if (wanted.current !== query) return
        setItems((before) => [...before, ...list.items])
        setCursor(list.next_cursor)
      },
      () => setStatus('error'),
    )
  }, [store, query, cursor])
  return {
    items, current, query, setQuery, status, hasMore: cursor !== undefined, loadMore,
    open: useCallback((id) => void store.open(id), [store]),
    startNew: useCallback(() => store.newChat(), [store]),
    rename: useCallback(async (id, title) => {
      await store.rename(id, title)
      setItems((list) => list.map((c) => (c.conversation_id === id ? { ...c, title } : c)))
    }, [store]),
    remove: useCallback(async (id) => {
      await store.remove(id)
      setItems((list) => list.filter((c) => c.conversation_id !== id))
    }, [store]),
  }
}
