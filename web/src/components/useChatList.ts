import { useCallback, useEffect, useRef, useState } from 'react'
import { ApiError, isAbort } from '../api/errors'
import type { Chat } from '../api/types'
import { useChatState, useChatStore } from '../state/context'
import { useLatest } from '../state/useLatest'

/** Chats that are fetched at a time, and the time after the last key before a search, in milliseconds. */
export const CHAT_LIST = { page: 30, typing: 200 }

/** The user's chats as a list that loads more and is searched. It is read again when the open chat is not in it, and when the browser is online again. */
export function useChatList() {
  const store = useChatStore()
  const [query, setQuery] = useState('')
  const [archived, setArchived] = useState(false)
  const [{ items, cursor }, setList] = useState<{ items: Chat[]; cursor?: string }>({ items: [] })
  const [status, setStatus] = useState<'loading' | 'ready' | 'error'>('loading')
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
  const ask = useCallback((q: string, after?: string, signal?: AbortSignal) => store.api.listChats({ q, limit: CHAT_LIST.page, cursor: after, ...(archived && { archived: 'true' }) }, signal), [store, archived])
  const [round, setRound] = useState(0)
  const reload = useCallback(() => setRound((n) => n + 1), [])
  // A chat that is not in the list is new, so the list is read again after its first answer.
  const settled = useChatState((state) => (state.isLoading ? null : state.conversationId))
  const [made, setMade] = useState<number | null>(null)
  if (settled !== null && settled !== made && status === 'ready' && query === '' && !archived && !items.some((c) => c.conversation_id === settled)) setMade(settled)
  /** Whether the list is being read. */
  const reading = useRef(false)
  useEffect(() => {
    const request = new AbortController()
    const timer = setTimeout(() => {
      setStatus('loading')
      reading.current = true
      ask(query.trim(), undefined, request.signal).then(
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
    }, query ? CHAT_LIST.typing : 0)
    return () => {
      clearTimeout(timer)
      request.abort()
    }
  }, [ask, query, made, round, failed])
  useEffect(() => {
    addEventListener('online', reload)
    return () => removeEventListener('online', reload)
  }, [reload])
  const end = useLatest(cursor)
  const loadMore = useCallback(() => {
    ask(query.trim(), cursor).then(
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
  }, [ask, query, cursor, end, failed])
  // All that was listed is archived or deleted: the next page takes its place.
  const next = status === 'ready' && items.length === 0 && cursor !== undefined
  useEffect(() => {
    if (next) loadMore()
  }, [next, loadMore])
  const change = useCallback((to: (items: Chat[]) => Chat[]) => setList((list) => ({ ...list, items: to(list.items) })), [])
  return { items, query, setQuery, archived, setArchived, status, error, hasMore: cursor !== undefined, loadMore, reload, ask, change, reading }
}
