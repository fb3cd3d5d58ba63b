import { useCallback, useEffect, useMemo } from 'react'
import type { ApiError } from '../api/errors'
import type { Chat } from '../api/types'
import { useChatState, useChatStore } from '../state/context'
import { Tabs, type TabMessage } from '../state/store/tabs'
import { CHAT_LIST, useChatList } from './useChatList'
import { useLatest } from '../state/useLatest'

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
  const list = useChatList()
  const share = useShared(list)
  useAnswering(list)
  const { items, query, setQuery, archived, setArchived, status, error, hasMore, loadMore, reload } = list
  return {
    items, current, query, setQuery, archived, setArchived, status, error, hasMore, loadMore, reload,
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

type List = ReturnType<typeof useChatList>

/** Changes the list as other tabs do; the function that is returned changes it here and in them. */
function useShared({ items, archived, reload, change, reading }: List) {
  const store = useChatStore()
  const has = (id: number) => items.some((c) => c.conversation_id === id)
  const made = useLatest(({ id, set }: Change) => {
    const goes = set === null || (set.archived ?? archived) !== archived
    change((chats) => chats.flatMap((c) => (c.conversation_id !== id ? [c] : goes ? [] : [{ ...c, ...set }])).toSorted(inOrder))
    // A list that was requested before may lack the change.
    if (reading.current || (!goes && !has(id))) reload()
  })
  const tabs = useMemo(() => new Tabs<Change>(store.keyOf('threads')), [store])
  // A list of more pages stays as the user has read it.
  const seen = useLatest(() => items.length > CHAT_LIST.page || reload())
  useEffect(() => tabs.join((message) => made.current(message), () => seen.current()), [tabs])
  // A new chat of a tab that may have no list itself.
  const news = useLatest((message: TabMessage) => message.kind === 'changed' && !has(message.conversationId) && reload())
  useEffect(() => new Tabs<TabMessage>(store.keyOf()).join((message) => news.current(message), () => undefined), [store])
  return useCallback((id: number, set: Change['set']) => {
    made.current({ id, set })
    tabs.tell({ id, set })
  }, [made, tabs])
}

/** Asks again and again which chats are being answered: nothing tells when an answer of a chat ends that is not open. */
function useAnswering({ items, ask, change }: List): void {
  const here = useChatState((state) => (state.isLoading ? state.conversationId : null))
  const answering = items.some((c) => c.active_run_id && c.conversation_id !== here)
  useEffect(() => {
    if (!answering) return
    // Where it is not known, and where nobody sees it, it is asked again.
    const unknown = (): { items: Chat[] } => ({ items: [] })
    const asked = async () => (document.hidden ? unknown() : ask('').catch(unknown))
    const timer = setTimeout(() => void asked().then((now) => {
      change((chats) => chats.map((c) => ({ ...c, active_run_id: (now.items.find((n) => n.conversation_id === c.conversation_id) ?? c).active_run_id })))
    }), ANSWERING)
    return () => clearTimeout(timer)
  }, [ask, change, answering, items])
}

/** Milliseconds after which it is asked whether chats are still being answered. */
const ANSWERING = 5_000

/** The order in which the service lists chats. */
function inOrder(a: Chat, b: Chat): number {
  return Number(b.pinned ?? false) - Number(a.pinned ?? false) || b.updated_at.localeCompare(a.updated_at) || b.conversation_id - a.conversation_id
}
