import { useEffect, useMemo, useState } from 'react'
import { useChatState, type ChatApi, type TrayTheme } from '../../src'
import { createDocumentApi, DocumentPane, useDocument } from '../../src/documents'
import type { PageTray } from '../App'
import { useLoaded } from '../load'
import { go } from '../route'

/** A document beside the tray, and the list of documents. */
export function DocumentPage({ api, route, setTray, theme }: { api: ChatApi; route: string[]; setTray: (tray: PageTray) => void; theme: TrayTheme }) {
  const documents = useMemo(() => createDocumentApi(api), [api])
  const list = useLoaded('documents', () => documents.list())
  const id = route[1] ?? list.data?.items[0]?.id ?? null
  const state = useDocument(id)
  const [problem, setProblem] = useState('')
  const { reload } = state
  // A run that begins without a document makes one.
  const { run } = useChatState()
  const done = run?.fold.messages.filter((m) => m.type === 'tool_result' && m.closed).length ?? 0
  const { reload: reloadList } = list
  useEffect(() => {
    if (!id && done > 0) reloadList()
  }, [id, done, reloadList])
  useEffect(() => {
    setTray({
      context: { current_page: 'document', ...(id && { document_id: id }) },
      starters: [{ label: 'Create a report with a chart about gold' }, ...(id ? [{ label: 'Shorten the summary' }, { label: 'Read the document' }] : [])],
      openPayloads: 'decisions',
      onApplyToDocument: id ? async (message) => {
        await documents.apply(message.id, { document_id: id })
        await reload()
      } : undefined,
    })
  }, [id, setTray, documents, reload])
  const make = () => {
    documents.create({ title: 'Untitled document' }).then(
      (made) => {
        list.reload()
        go('document', made.id)
      },
      (error: unknown) => setProblem(error instanceof Error ? error.message : ''),
    )
  }
  const [removing, setRemoving] = useState<string | null>(null)
  const remove = () => {
    if (!id) return
    setRemoving(null)
    documents.remove(id).then(
      () => {
        go('document')
        list.reload()
      },
      (error: unknown) => setProblem(error instanceof Error ? error.message : ''),
    )
  }
  const save = async () => {
    if (!id) return
    const url = URL.createObjectURL(new Blob([await documents.exportMarkdown(id)], { type: 'text/markdown' }))
    const link = document.createElement('a')
    link.href = url
    link.download = `${state.document?.title || 'document'}.md`
    link.click()
    URL.revokeObjectURL(url)
  }
  const gone = list.problem || problem
  return (
    <>
      <div className="app-head">
        <div><h1>Documents</h1><p className="ct-muted">Blocks that you and the assistant write; nothing it proposes counts before you accept it.</p></div>
        <div className="ct-row">
          {list.data && list.data.items.length > 0 && (
            <select className="ct-input app-pick-document" aria-label="Document" value={id ?? ''} onChange={(e) => go('document', e.target.value)}>
              {list.data.items.map((d) => <option value={d.id} key={d.id}>{(d.id === id && state.document?.title) || d.title}</option>)}
            </select>
          )}
          <button type="button" className="ct-button" data-style="primary" onClick={make}>New document</button>
        </div>
      </div>
      {gone && <p className="ct-note" data-tone="error">{gone}</p>}
      {!id && list.data && <p className="ct-muted ct-center">There is no document yet. Make one, or ask the assistant to write one.</p>}
      {id && (
        <div className="app-paper">
          <DocumentPane state={state} theme={theme} toolbar={removing === id ? (
            <span className="ct-row" role="group" aria-label="Delete this document?">
              <span>Delete this document?</span>
              <button type="button" className="ct-button ct-small" data-style="warning" autoFocus onClick={remove}>Delete</button>
              <button type="button" className="ct-button ct-small" onClick={() => setRemoving(null)}>Cancel</button>
            </span>
          ) : <><button type="button" className="ct-button ct-small" onClick={() => void save()}>Export</button><button type="button" className="ct-button ct-small" onClick={() => setRemoving(id)}>Delete</button></>} />
        </div>
      )}
    </>
  )
}
