import { useEffect, useMemo, useState } from 'react'
import { Skeleton, useChatContext, useChatState, type ChatApi, type TrayTheme } from '../../src'
import { createDocumentApi, DocumentAsk, DocumentPane, DocumentVersions, useDocument, useSocket } from '../../src/documents'
import { download } from '../../src/markdown/copy'
import type { PageTray } from '../App'
import { useLoaded } from '../load'
import { go } from '../route'

/** Shown while there is no document. */
function Invite({ make }: { make: () => void }) {
  const { sendMessage } = useChatContext()
  return (
    <div className="app-paper ct-invite">
      <svg className="ct-icon" viewBox="0 0 20 20" fill="none" stroke="currentColor" strokeWidth="1.5" strokeLinecap="round" strokeLinejoin="round" aria-hidden="true"><rect x="4" y="3" width="12" height="14" rx="1.5" /><path d="M7 7h6M7 10h6M7 13h4" /></svg>
      <strong>Write with the assistant</strong>
      <span>It proposes text, tables and charts, block by block. You accept, change or revert each of them.</span>
      <span className="ct-row">
        <button type="button" className="ct-button" data-style="primary" onClick={() => void sendMessage('Create a report with a chart about gold')}>Have a report written</button>
        <button type="button" className="ct-button" onClick={make}>Begin with an empty one</button>
      </span>
    </div>
  )
}

/** A document next to the tray, and the list of documents. */
export function DocumentPage({ api, route, setTray, theme }: { api: ChatApi; route: string[]; setTray: (tray: PageTray) => void; theme: TrayTheme }) {
  const documents = useMemo(() => createDocumentApi(api), [api])
  const list = useLoaded('documents', () => documents.list())
  const id = route[1] ?? list.data?.items[0]?.id ?? null
  const { socket, view } = useSocket()
  const state = useDocument(id, view)
  const [problem, setProblem] = useState('')
  const { reload } = state
  // A run that begins without a document may create one.
  const { run, isLoading } = useChatState()
  const done = run?.fold.messages.filter((m) => m.type === 'tool_call' && typeof m.props.index === 'number' && m.closed).length ?? 0
  const { reload: reloadList } = list
  useEffect(() => {
    if (!id && done > 0) reloadList()
  }, [id, done, reloadList])
  // All events of a short run may come at once: nothing is rendered between its begin and its end, which ends this effect.
  useEffect(() => {
    if (!id && isLoading) return reloadList
  }, [id, isLoading, reloadList])
  useEffect(() => {
    setTray({
      context: { current_page: 'document', ...(id && { document_id: id }) },
      starters: [{ label: 'Create a report with a chart about gold', hint: 'Text, a table and a chart to review' }, ...(id ? [{ label: 'Shorten the summary' }, { label: 'Read the document' }] : [])],
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
  const save = () => {
    if (!id) return
    setProblem('')
    documents.exportMarkdown(id).then(
      (text) => download(`${state.document?.title || 'document'}.md`, new Blob([text], { type: 'text/markdown' })),
      (error: unknown) => setProblem(error instanceof Error ? error.message : ''),
    )
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
      {!list.data && !gone && <div className="app-paper"><Skeleton lines={9} /></div>}
      {!id && list.data && <Invite make={make} />}
      {id && (
        <div className="app-paper">
          <DocumentPane state={state} theme={theme} ask={<DocumentAsk state={state} socket={socket} view={view} />} toolbar={removing === id ? (
            <span className="ct-row" role="group" aria-label="Delete this document?">
              <span>Delete this document?</span>
              <button type="button" className="ct-button ct-small" data-style="warning" autoFocus onClick={remove}>Delete</button>
              <button type="button" className="ct-button ct-small" onClick={() => setRemoving(null)}>Cancel</button>
            </span>
          ) : <><DocumentVersions state={state} /><button type="button" className="ct-button ct-small" onClick={save}>Export</button><button type="button" className="ct-button ct-small" onClick={() => setRemoving(id)}>Delete</button></>} />
        </div>
      )}
    </>
  )
}
