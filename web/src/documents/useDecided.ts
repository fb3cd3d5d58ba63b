import { useEffect, useRef, useState } from 'react'
import type { DocumentRecord } from '../api/documents'
import { useChatStore } from '../state/context'
import { keep, keyOf, nothingDecided, readKept, type Decided } from './keptDecisions'
import type { DocumentPlace } from './useReading'

/**
 * What this page knows of a document and the service does not: it survives a reload of the tab. Once the document is no longer
 * shown, `change` changes what is stored of it; `keepNow` stores what is not shown yet.
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
  const shown = useRef<DocumentPlace | null>(null)
  useEffect(() => {
    shown.current = place
    return () => {
      shown.current = null
    }
  }, [place])
  const keepNow = (all: Decided) => document && keep(key!, document.revision, all)
  const change = (next: (decided: Decided) => Partial<Decided>) => {
    const and = (all: Decided) => ({ ...all, ...next(all) })
    if (shown.current === place) setHeld((last) => (last.place === place ? { place, decided: and(last.decided) } : last))
    else if (document) keepNow(and(readKept(key!, document.revision)))
  }
  return { decided, change, keepNow }
}
