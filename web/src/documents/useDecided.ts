import { useEffect, useMemo, useSyncExternalStore } from 'react'
import type { DocumentRecord } from '../api/documents'
import { useChatStore } from '../state/context'
import { keptText } from '../state/kept'
import { keep, keyOf, nothingDecided, readKept, type Decided } from './keptDecisions'

/** What is decided of one document, and the newest revision of it that was read. */
interface Known {
  decided: Decided
  revision: number
}

/** What the tab knows of one document and the service does not, for all panes that show it; it survives a reload of the tab. */
class KnownDocument {
  known: Known
  private readonly name: string
  private readonly key: string
  private readonly listeners = new Set<() => void>()
  /** What is stored, as this document has written or read it. */
  private stored: string | null

  constructor(name: string, key: string, revision: number) {
    this.name = name
    this.key = key
    this.known = { decided: readKept(key, revision), revision }
    this.stored = keptText('sessionStorage', key)
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    const now = this.now()
    shown.set(now.name, now)
    now.listeners.add(listener)
    return () => {
      now.listeners.delete(listener)
      if (now.listeners.size === 0 && shown.get(now.name) === now) shown.delete(now.name)
    }
  }

  readonly get = (): Known => (shown.get(this.name) ?? this).known

  /** The document that panes show. While a pane was hidden, another one may have shown and changed it. */
  now(): KnownDocument {
    const now = shown.get(this.name)
    if (now) return now
    if (keptText('sessionStorage', this.key) !== this.stored) {
      this.known = { ...this.known, decided: readKept(this.key) }
      this.stored = keptText('sessionStorage', this.key)
    }
    return this
  }

  /** Shows and stores a change. */
  change(change: Partial<Known>): void {
    this.known = { ...this.known, ...change }
    this.store()
    for (const listener of this.listeners) listener()
  }

  store(decided = this.known.decided): void {
    keep(this.key, this.known.revision, decided)
    this.stored = keptText('sessionStorage', this.key)
  }
}

/** The documents that panes of this tab show. */
const shown = new Map<string, KnownDocument>()
const nothing: Known = { decided: nothingDecided, revision: 0 }
const nothingKnown = { subscribe: () => () => undefined, get: () => nothing }

/**
 * What the tab knows of a document and the service does not. `change` changes it, also once the document is no longer shown;
 * `keepNow` stores what is not shown yet. `revision` is the newest that a pane has read.
 */
export function useDecided(document: DocumentRecord | null) {
  const store = useChatStore()
  const key = document ? keyOf(store.keyOf(), document) : ''
  const name = document && (key || keyOf(store.id, document))
  const revision = document?.revision ?? 0
  const held = useMemo(() => {
    if (!name) return null
    const found = shown.get(name) ?? new KnownDocument(name, key, revision)
    // Another pane that is drawn at the same time finds it.
    shown.set(name, found)
    return found
  }, [name])
  const { subscribe, get } = held ?? nothingKnown
  const known = useSyncExternalStore(subscribe, get, get)
  useEffect(() => {
    const now = held?.now()
    if (now && revision > now.known.revision) now.change({ revision })
  }, [held, revision])
  const change = (next: (decided: Decided) => Partial<Decided>) => {
    const now = held?.now()
    now?.change({ decided: { ...now.known.decided, ...next(now.known.decided) } })
  }
  return { ...known, change, keepNow: (decided: Decided) => held?.now().store(decided) }
}
