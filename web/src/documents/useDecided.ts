import { useCallback, useEffect, useState } from 'react'
import type { DocumentRecord } from '../api/documents'
import { useChatStore } from '../state/context'
import { keep, keyOf, nothingDecided, readKept, type Decided } from './keptDecisions'
import type { DocumentPlace } from './useReading'

/**
 * What this page knows of a document and the service does not: it survives a reload of the tab. `change` does nothing once
 * another document is shown; `keepNow` stores what is not shown yet.
 */
export function useDecided(place: DocumentPlace, document: DocumentRecord | null) {
  const store = useChatStore()
  const [held, setHeld] = useState<{ place: DocumentPlace | null; decided: Decided }>({ place: null, decided: nothingDecided })
  const key = document && keyOf(store.keyOf(), document)
  let now = held
  if (held.place !== place) {
    now = document ? { place, decided: readKept(key!, document.revision) } : { place: null, decided: nothingDecided }
    if (document || held.place) setHeld(now)
  }
  const { decided } = now
  useEffect(() => {
    if (document) keep(key!, document.revision, decided)
  }, [key, document, decided])
  const change = useCallback((next: (decided: Decided) => Partial<Decided>) => {
    setHeld((last) => (last.place === place ? { place, decided: { ...last.decided, ...next(last.decided) } } : last))
  }, [place])
  return { decided, change, keepNow: (all: Decided) => document && keep(key!, document.revision, all) }
}
