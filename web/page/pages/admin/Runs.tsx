import { useState } from 'react'
import { Skeleton } from '../../../src'
import { Time } from '../../../src/components/Time'
import { href } from '../../route'
import { noFilter, type AdminApi, type AdminRun, type Filter } from './api'
import { usePolled } from './usePolled'
import { dollars, took } from './words'

const STATES = ['queued', 'running', 'waiting', 'completed', 'failed', 'cancelled']
const SIZE = 50
/** Empty pages that are skipped: each is a part of the runs in which none is wanted. */
const SKIPPED = 20

const fields = [['user', 'User'], ['page', 'Page'], ['model', 'Model'], ['error', 'Error code']] as const

/** The runs of all users, a page at a time. The first page is kept up to date. */
export function RunsView({ api }: { api: AdminApi }) {
  const [filter, setFilter] = useState<Filter>(noFilter)
  const [draft, setDraft] = useState<Filter>(noFilter)
  const [cursors, setCursors] = useState<string[]>([''])
  const cursor = cursors[cursors.length - 1]!
  const load = async () => {
    let list = await api.runs(filter, cursor, SIZE)
    for (let i = 0; i < SKIPPED && list.items.length === 0 && list.next_cursor; i++) list = await api.runs(filter, list.next_cursor, SIZE)
    return list
  }
  const { data, problem, reload } = usePolled(JSON.stringify([filter, cursor]), load, cursor === '')
  const use = (next: Filter) => {
    setDraft(next)
    setFilter(next)
    setCursors([''])
  }
  return (
    <>
      <div className="app-head">
        <div><h1>Runs</h1><p className="ct-muted">{cursor === '' ? 'The newest first, as they happen.' : `Page ${cursors.length}. New runs are on the first page.`}</p></div>
        <div className="ct-row"><button type="button" className="ct-button" onClick={reload}>Refresh</button></div>
      </div>
      <form className="adm-filter" aria-label="Filter" onSubmit={(e) => {
        e.preventDefault()
        use(draft)
      }}>
        <label>State
          <select className="ct-input" value={draft.state} onChange={(e) => use({ ...draft, state: e.target.value })}>
            <option value="">any</option>
            {STATES.map((s) => <option key={s}>{s}</option>)}
          </select>
        </label>
        {fields.map(([name, label]) => <label key={name}>{label}<input className="ct-input" value={draft[name]} onChange={(e) => setDraft({ ...draft, [name]: e.target.value })} maxLength={200} /></label>)}
        <label>From<input className="ct-input" type="date" value={draft.from} onChange={(e) => setDraft({ ...draft, from: e.target.value })} /></label>
        <label>To<input className="ct-input" type="date" value={draft.to} onChange={(e) => setDraft({ ...draft, to: e.target.value })} /></label>
        <div className="ct-row">
          <button type="submit" className="ct-button" data-style="primary">Filter</button>
          <button type="button" className="ct-button" onClick={() => use(noFilter)}>Clear</button>
        </div>
      </form>
      {problem && <p className="ct-note" data-tone="error" role="alert">{problem}</p>}
      {!data && !problem && <Skeleton lines={9} />}
      {data && data.items.length === 0 && <p className="ct-muted">No runs.</p>}
      {data && data.items.length > 0 && <RunTable runs={data.items} />}
      <div className="ct-row adm-pages">
        <button type="button" className="ct-button" disabled={cursors.length === 1} onClick={() => setCursors(cursors.slice(0, -1))}>Newer</button>
        <button type="button" className="ct-button" disabled={!data?.next_cursor} onClick={() => data?.next_cursor && setCursors([...cursors, data.next_cursor])}>Older</button>
      </div>
    </>
  )
}

function RunTable({ runs }: { runs: AdminRun[] }) {
  return (
    <div className="ct-table adm-table" tabIndex={0} role="region" aria-label="Runs">
      <table>
        <thead><tr><th scope="col">Began</th><th scope="col">State</th><th scope="col">User</th><th scope="col">Page</th><th scope="col">Model</th><th scope="col" data-numeric>Took</th><th scope="col" data-numeric>Tokens</th><th scope="col" data-numeric>Cost</th></tr></thead>
        <tbody>
          {runs.map((run) => (
            <tr key={run.run_id}>
              <td className="adm-when"><a className="app-link" href={href('runs', run.run_id)}><Time at={run.created_at} /></a></td>
              <td><State run={run} /></td>
              <td title={run.user_id}>{run.user_name || run.user_id}</td>
              <td>{run.page ?? ''}</td>
              <td>{run.model ?? ''}</td>
              <td data-numeric>{run.ended_at ? took(Date.parse(run.ended_at) - Date.parse(run.created_at)) : ''}</td>
              <td data-numeric>{run.usage.total_tokens || ''}</td>
              <td data-numeric>{dollars(run.usage.cost_usd)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** The state of a run, with the code of its error. */
export function State({ run }: { run: AdminRun }) {
  return <span className="ct-tag adm-state" data-state={run.state} title={run.error?.message}>{run.error ? run.error.code : run.state}</span>
}
