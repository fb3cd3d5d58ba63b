import { useEffect, useMemo, useState } from 'react'
import { createDocumentApi, type DocumentRecord, type DocumentVersion } from '../api/documents'
import { RetryIcon } from '../components/icons'
import { Skeleton } from '../components/Skeleton'
import { clock, dayOf } from '../components/Time'
import { problemWords } from '../labels/tray'
import { Whole } from '../markdown/TableFrame'
import { useAllLabels } from '../state/allLabels'
import { useChatStore } from '../state/context'
import { whenSettled } from '../state/whenSettled'
import { BlockContent } from './BlockContent'
import type { DocumentState } from './useDocument'

export interface DocumentVersionsProps {
  state: DocumentState
  className?: string | undefined
}

/** A button that shows the document's earlier versions and restores one of them. */
export function DocumentVersions({ state, className }: DocumentVersionsProps) {
  const labels = useAllLabels()
  const [open, setOpen] = useState(false)
  return (
    <>
      <button type="button" className={`ct-button ct-small ${className ?? ''}`} disabled={!state.document} onClick={() => setOpen(true)}>{labels.docVersions}</button>
      {open && state.document && <Whole title={labels.docVersions} onClose={() => setOpen(false)}><Versions state={state} document={state.document} close={() => setOpen(false)} /></Whole>}
    </>
  )
}

function Versions({ state, document, close }: { state: DocumentState; document: DocumentRecord; close: () => void }) {
  const labels = useAllLabels()
  const store = useChatStore()
  const api = useMemo(() => createDocumentApi(store.api), [store])
  const [items, setItems] = useState<readonly DocumentVersion[] | null>(null)
  const [chosen, setChosen] = useState(0)
  const [read, setRead] = useState<DocumentRecord | null>(null)
  // Until the chosen one has been read, no other can be taken for it.
  const shown = read?.revision === chosen ? read : null
  const [problem, setProblem] = useState('')
  const failed = (error: unknown) => setProblem(problemWords(labels, error))
  useEffect(() => whenSettled(api.versions(document.id), (list) => {
    setItems(list.items)
    setChosen(list.items[0]?.revision ?? 0)
  }, failed), [api, document.id])
  useEffect(() => {
    setProblem('')
    return chosen > 0 ? whenSettled(api.version(document.id, chosen), setRead, failed) : undefined
  }, [api, document.id, chosen])
  const restore = async () => {
    try {
      await api.restore(document.id, chosen, document.revision)
      close()
    } catch (error) {
      failed(error)
    }
    await state.reload()
  }
  const note = problem && <p className="ct-note" data-tone="error" role="alert">{problem}</p>
  if (items?.length === 0 || (!items && problem)) return <div className="ct-versions-pane">{note || <div className="ct-invite"><RetryIcon />{labels.docVersionsNone}</div>}</div>
  if (!items) return <div className="ct-versions-pane"><Skeleton lines={6} /></div>
  return (
    <div className="ct-versions-split">
      <ul className="ct-versions-list" aria-label={labels.docVersions}>
        {items.map((v) => (
          <li key={v.revision}>
            <button type="button" aria-current={v.revision === chosen} onClick={() => setChosen(v.revision)}>
              <span dir="auto">{v.title}</span>
              <small><time dateTime={v.created_at}>{dayOf(new Date(v.created_at), clock)}</time> · {labels.docVersionBefore(v.reason)}</small>
            </button>
          </li>
        ))}
      </ul>
      <div className="ct-versions-pane" tabIndex={0} role="group" aria-label={shown?.title ?? labels.loading}>
        {note}
        <div className="ct-doc-bar">
          <h3 className="ct-doc-title" dir="auto">{shown?.title}</h3>
          <button type="button" className="ct-button ct-small" data-style="primary" disabled={!shown || state.pending > 0} onClick={() => void restore()}><RetryIcon />{labels.docRestore}</button>
        </div>
        {state.pending > 0 && <p className="ct-muted">{labels.docRestoreWaits}</p>}
        {shown ? shown.blocks?.map((b) => <BlockContent key={b.id} type={b.type} content={b.current ?? ''} meta={b.meta} />) : <Skeleton lines={6} />}
      </div>
    </div>
  )
}
