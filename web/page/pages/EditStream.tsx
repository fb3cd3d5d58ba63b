import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { payloadHandlerFor, type PayloadHandlers, type Props } from '../../src'
import { SchemaProposalCard, type ResearchApi, type SchemaProposal, type Stream } from '../../src/research'
import type { PageTray } from '../App'
import { useLoaded } from '../load'
import { go, href } from '../route'

type SetTray = (tray: PageTray) => void

/** The form of a stream. Accepted proposals change the form; nothing is stored before "Save". */
export function EditStreamPage({ api, route, setTray }: { api: ResearchApi; route: string[]; setTray: SetTray }) {
  const id = Number(route[1]) || 1
  const tab = route[2] === 'retrieval' ? 'retrieval' : 'semantic'
  const { data, problem, reload } = useLoaded(`stream:${id}`, () => api.getStream(id))
  const { data: all } = useLoaded('streams', () => api.listStreams())
  // The tray can be used before the form is loaded.
  useEffect(() => {
    if (!data) setTray({ context: { current_page: 'edit_stream', active_tab: tab, stream_id: id }, starters: [] })
  }, [data, tab, id, setTray])
  if (problem) return <p className="ct-note" data-tone="error">{problem}</p>
  if (!data) return <p className="ct-muted">Loading…</p>
  return <Editor key={id} api={api} stream={data} ids={[...new Set([...(all?.items ?? []).map((s) => s.stream_id), id])]} tab={tab} reload={reload} setTray={setTray} />
}

interface Draft {
  name: string
  purpose: string
  schema: Props
}

const draftOf = (s: Stream): Draft => ({ name: s.name, purpose: s.purpose, schema: s.schema as Props })

/** What forms hold that is not saved, by stream: it is there when the user comes back, and the browser asks before it closes the page. */
const unsaved = new Map<number, Draft>()
window.addEventListener('beforeunload', (e) => {
  if (unsaved.size > 0) e.preventDefault()
})

function Editor({ api, stream, ids, tab, reload, setTray }: { api: ResearchApi; stream: Stream; ids: number[]; tab: 'semantic' | 'retrieval'; reload: () => void; setTray: SetTray }) {
  const [draft, setDraft] = useState(() => unsaved.get(stream.stream_id) ?? draftOf(stream))
  const [notice, setNotice] = useState<{ text: string; tone?: string } | null>(null)
  const id = stream.stream_id
  const kept = JSON.stringify(draftOf(stream))
  const saved = useMemo(() => JSON.parse(kept) as Draft, [kept])
  const shown = useRef(saved)
  useEffect(() => {
    if (shown.current !== saved) setDraft(saved)
    shown.current = saved
  }, [saved])
  const change = useCallback((path: string, value: unknown) => setDraft((d) => ({ ...d, schema: put(d.schema, path.split('.'), value) })), [])

  const handlers = useMemo<PayloadHandlers>(() => ({
    schema_proposal: {
      render: (data: SchemaProposal) => <SchemaProposalCard data={data} current={(path) => at(stream.schema as Props, path)} />,
      renderOptions: { panelWidth: '520px', headerTitle: 'Schema proposal' },
      onAccept: (data: SchemaProposal) => {
        for (const [path, value] of Object.entries(data.changes)) change(path, value)
        setNotice({ text: 'The proposal is in the form. Save to keep it.' })
      },
      onReject: () => setNotice({ text: 'The proposal was rejected.' }),
    },
    query_suggestion: {
      ...payloadHandlerFor('query_suggestion')!,
      onAccept: (data: { query: string }) => {
        change('retrieval.query', data.query)
        setNotice({ text: 'The query is in the form. Save to keep it.' })
      },
      onReject: () => undefined,
    },
  }), [stream, change])

  useEffect(() => {
    setTray({
      context: { current_page: 'edit_stream', active_tab: tab, stream_id: id },
      starters: tab === 'semantic'
        ? [{ label: 'Propose a schema with base editing' }, { label: 'Validate the schema' }, { label: `Tell me about stream ${id}` }]
        : [{ label: 'Suggest a query' }, { label: 'Suggest a query for prime editing' }],
      payloadHandlers: handlers,
      onComplete: reload,
    })
  }, [tab, id, handlers, reload, setTray])

  const dirty = JSON.stringify(draft) !== JSON.stringify(saved)
  useEffect(() => {
    if (dirty) unsaved.set(id, draft)
    else unsaved.delete(id)
  }, [dirty, draft, id])
  const save = () => {
    api.putStream(id, draft).then(
      () => {
        // The form may have been left meanwhile.
        if (unsaved.get(id) === draft) unsaved.delete(id)
        setNotice({ text: 'Saved.' })
        reload()
      },
      (error: unknown) => setNotice({ text: error instanceof Error ? error.message : 'Saving failed.', tone: 'error' }),
    )
  }
  return (
    <form className="app-form" onSubmit={(e) => {
      e.preventDefault()
      save()
    }}>
      <p className="app-crumbs"><a href={href('streams')}>Streams</a> / Edit</p>
      <div className="app-head">
        <div><h1>{stream.name}</h1><p className="ct-muted">Stream {id}</p></div>
        <div className="ct-row">
          <label className="app-pick">Stream <select className="ct-input" value={id} onChange={(e) => go('edit', e.target.value, tab)}>{ids.map((n) => <option key={n}>{n}</option>)}</select></label>
          <button type="button" className="ct-button" disabled={!dirty} onClick={() => setDraft(saved)}>Discard</button>
          <button type="submit" className="ct-button" data-style="primary" disabled={!dirty}>Save</button>
        </div>
      </div>
      <div role="status">{notice && <p className="ct-note" data-tone={notice.tone}>{notice.text}</p>}</div>
      <div className="app-tabs" role="tablist" aria-label="Stream">
        {(['semantic', 'retrieval'] as const).map((name) => (
          <button key={name} type="button" role="tab" id={`tab-${name}`} aria-selected={tab === name} aria-controls="tab-panel" onClick={() => go('edit', id, name)}>{name === 'semantic' ? 'What it means' : 'How it finds'}</button>
        ))}
      </div>
      <div role="tabpanel" id="tab-panel" aria-labelledby={`tab-${tab}`} className="app-fields">
        {tab === 'semantic' ? (
          <>
            <Field label="Name" value={draft.name} onChange={(name) => setDraft({ ...draft, name })} />
            <Field label="Purpose" lines={3} value={draft.purpose} onChange={(purpose) => setDraft({ ...draft, purpose })} />
            <Field label="Question" lines={2} value={String(at(draft.schema, 'semantic.question') ?? '')} onChange={(v) => change('semantic.question', v)} />
            {['topics', 'entities', 'inclusion', 'exclusion'].map((key) => (
              <ListField key={key} label={key[0]!.toUpperCase() + key.slice(1)} path={`semantic.${key}`} value={at(draft.schema, `semantic.${key}`)} before={at(saved.schema, `semantic.${key}`)} onChange={change} />
            ))}
          </>
        ) : (
          <>
            <Field label="Query" lines={4} mono value={String(at(draft.schema, 'retrieval.query') ?? '')} onChange={(v) => change('retrieval.query', v)} />
            <ListField label="Sources" path="retrieval.sources" value={at(draft.schema, 'retrieval.sources')} before={at(saved.schema, 'retrieval.sources')} onChange={change} />
            <Field label="From year" value={String(at(draft.schema, 'retrieval.from_year') ?? '')} onChange={(v) => change('retrieval.from_year', Number(v) || undefined)} />
          </>
        )}
      </div>
    </form>
  )
}

function Field({ label, value, lines = 1, mono = false, onChange }: { label: string; value: string; lines?: number; mono?: boolean; onChange: (value: string) => void }) {
  return (
    <label className="app-field"><span>{label}</span>
      {lines > 1 ? <textarea className="ct-input" data-mono={mono} rows={lines} value={value} onChange={(e) => onChange(e.target.value)} /> : <input className="ct-input" value={value} onChange={(e) => onChange(e.target.value)} />}
    </label>
  )
}

/** A list with one entry on each line; entries that are not saved yet are marked below it. */
function ListField({ label, path, value, before, onChange }: { label: string; path: string; value: unknown; before: unknown; onChange: (path: string, value: string[]) => void }) {
  const list = Array.isArray(value) ? value.map(String) : []
  const old = new Set(Array.isArray(before) ? before.map(String) : [])
  const added = list.filter((v) => v.trim() && !old.has(v))
  return (
    <label className="app-field"><span>{label} <small>one a line</small></span>
      <textarea className="ct-input" name={path} rows={Math.max(2, list.length)} value={list.join('\n')} onChange={(e) => onChange(path, e.target.value.split('\n'))} />
      {added.length > 0 && <span className="ct-tags">{added.map((v) => <span className="ct-tag" data-tone="added" key={v}>+ {v}</span>)}</span>}
    </label>
  )
}

function at(schema: Props, path: string): unknown {
  return path.split('.').reduce<unknown>((node, key) => (node && typeof node === 'object' && Object.hasOwn(node, key) ? (node as Props)[key] : undefined), schema)
}

function put(node: unknown, [key, ...rest]: string[], value: unknown): Props {
  const into = node && typeof node === 'object' && !Array.isArray(node) ? (node as Props) : {}
  return key === undefined ? into : { ...into, [key]: rest.length === 0 ? value : put(into[key], rest, value) }
}
