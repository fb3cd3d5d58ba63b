import { useEffect, useMemo, useSyncExternalStore } from 'react'
import type { DocumentRecord } from '../api/documents'
import { useChatStore } from '../state/context'
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

  constructor(name: string, key: string, revision: number) {
    this.name = name
    this.key = key
    this.known = { decided: readKept(key, revision), revision }
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    shown.set(this.name, this)
    this.listeners.add(listener)
    return () => {
      this.listeners.delete(listener)
      if (this.listeners.size === 0 && shown.get(this.name) === this) shown.delete(this.name)
    }
  }

  readonly get = (): Known => this.known

  /** Shows and stores a change. */
  change(change: Partial<Known>): void {
    this.known = { ...this.known, ...change }
    this.store()
    for (const listener of this.listeners) listener()
  }

  store(decided = this.known.decided): void {
    keep(this.key, this.known.revision, decided)
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
  const find = () => shown.get(name!) ?? new KnownDocument(name!, key, revision)
  const held = useMemo(() => {
    if (!name) return null
    const found = find()
    // Another pane that is drawn at the same time finds it.
    shown.set(name, found)
    return found
  }, [name])
  const { subscribe, get } = held ?? nothingKnown
  const known = useSyncExternalStore(subscribe, get, get)
  useEffect(() => {
    if (held && revision > held.known.revision) held.change({ revision })
  }, [held, revision])
  const change = (next: (decided: Decided) => Partial<Decided>) => {
    if (!name) return
    const found = find()
    const { decided } = found.known
    found.change({ decided: { ...decided, ...next(decided) } })
  }
  return { ...known, change, keepNow: (decided: Decided) => held?.store(decided) }
}
