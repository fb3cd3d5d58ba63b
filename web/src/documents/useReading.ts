import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { ApiError } from '../api/errors'
import { createDocumentApi, type DocumentApi, type DocumentRecord } from '../api/documents'
import { problemWords, type Labels } from '../labels/tray'
import { useAllLabels } from '../state/allLabels'
import { useChatStore } from '../state/context'
import type { RunView } from '../state/values/run'
import { useLatest } from '../state/useLatest'
import { noFrames, type Frames } from './withRun'

/** A document of one user. Another document, and the same for another user, is another place. */
export interface DocumentPlace {
  id: string | null
  api: DocumentApi
}

/** A document as it was last read; what it includes of the chat's run, and of what a socket has shown. */
interface Found {
  place: DocumentPlace
  document: DocumentRecord
  frames: Frames
  steps: number
}

/** Reads a document, and carries out what changes it. What arrives after another document was chosen is dropped. */
export function useReading(id: string | null, run: RunView | null, steps: number) {
  const store = useChatStore()
  const place = useMemo<DocumentPlace>(() => ({ id, api: createDocumentApi(store.api) }), [store, id])
  const labels = useAllLabels()
  // Before the effects that read the document. A render that is not shown changes nothing.
  const latest = useLatest({ place, labels, steps, frames: run ? { run: run.runId, last: run.fold.last } : noFrames })
  const [found, setFound] = useState<Found | null>(null)
  const [failed, setFailed] = useState({ place, problem: '' })
  const [reading, setReading] = useState<DocumentPlace | null>(null)
  const reads = useRef({ begun: 0, shown: 0 })
  const tell = useCallback((from: DocumentPlace, problem: string) => {
    if (latest.current.place === from) setFailed((last) => (last.place === from && last.problem === problem ? last : { place: from, problem }))
  }, [latest])
  /** Reads a document. The answer to an earlier read does not replace that to a later one. */
  const readNow = useCallback(async (from: DocumentPlace) => {
    const number = ++reads.current.begun
    const { steps: upTo, frames } = latest.current
    const document = await from.api.get(from.id ?? '')
    if (latest.current.place !== from || number < reads.current.shown) return
    reads.current.shown = number
    setFound({ place: from, document, frames, steps: upTo })
  }, [latest])
  const reload = useCallback(async () => {
    if (!place.id) return
    setReading(place)
    try {
      await readNow(place)
      tell(place, '')
    } catch (error) {
      const now = latest.current
      tell(place, error instanceof ApiError ? problemWords(now.labels, error) : now.labels.docFailed)
    } finally {
      setReading((now) => (now === place ? null : now))
    }
  }, [place, readNow, tell, latest])
  useEffect(() => void reload(), [reload])
  /** Changes the document, then reads what is shown by then. It reports whether the change succeeded. */
  const act = useCallback(async (doing: () => Promise<unknown>) => {
    const from = latest.current.place
    let done = true
    try {
      await doing()
      tell(from, '')
    } catch (error) {
      done = false
      tell(from, whyNot(latest.current.labels, error))
    }
    const { place: now } = latest.current
    if (now.id) await readNow(now).catch(() => undefined)
    return done
  }, [readNow, tell, latest])
  return { place, read: found?.place === place ? found : null, problem: failed.place === place ? failed.problem : '', loading: reading === place, reload, act }
}

/** Why the service refused a request, in words. */
function whyNot(labels: Labels, error: unknown): string {
  if (error instanceof ApiError && error.status === 412) return labels.docStale
  if (error instanceof ApiError && error.code === 'being_written') return labels.docBeingWritten
  return problemWords(labels, error)
}
