import { lazy, Suspense, useMemo, useState } from 'react'
import { Skeleton } from '../../../src'
import { useLoaded } from '../../load'
import type { AdminApi, Stats, Total } from './api'
import { count, dollars } from './words'

const Chart = lazy(() => import('../../../src/documents/Chart'))

const DAY = 86_400_000
const ranges = [[7, 'Last 7 days'], [30, 'Last 30 days'], [90, 'Last 90 days'], [366, 'Last year']] as const

const bars = (title: string, field: string) => ({
  description: title, height: 180, mark: { type: 'bar', tooltip: true },
  encoding: { x: { field: 'day', type: 'ordinal', title: null }, y: { field, type: 'quantitative', title, axis: { tickMinStep: field === 'cost' ? 0.001 : 1, format: '~r' } } },
})
const costSpec = bars('Cost in dollars', 'cost'), runsSpec = bars('Runs', 'runs'), failedSpec = bars('Failed runs', 'failed'), fallbackSpec = bars('Fallbacks', 'fallbacks')

/** What all users used by day, model, page and user, with the errors and fallbacks. */
export function UsageView({ api }: { api: AdminApi }) {
  const [days, setDays] = useState(30)
  const { data, problem } = useLoaded(`stats ${days}`, () => api.stats(new Date(Date.now() - (days - 1) * DAY).toISOString().slice(0, 10), ''))
  const csv = useMemo(() => ['day,cost,runs,failed,fallbacks', ...(data ? allDays(data) : []).map((d) => [d.name, d.cost_usd ?? 0, d.runs, d.failed, d.fallbacks].join(','))].join('\n'), [data])
  const charts = [['Cost', costSpec], ['Runs', runsSpec], ['Errors', failedSpec], ['Fallbacks', fallbackSpec]] as const
  return (
    <>
      <div className="app-head">
        <div><h1>Usage</h1><p className="ct-muted">Runs count on the day on which they ended (UTC).</p></div>
        <div className="ct-row"><select className="ct-input" aria-label="Days" value={days} onChange={(e) => setDays(Number(e.target.value))}>{ranges.map(([n, label]) => <option key={n} value={n}>{label}</option>)}</select></div>
      </div>
      {problem && <p className="ct-note" data-tone="error" role="alert">{problem}</p>}
      {!data && !problem && <Skeleton lines={9} />}
      {data && data.days.length === 0 && <p className="ct-muted">No runs ended on these days.</p>}
      {data && data.days.length > 0 && (
        <>
          <div className="adm-charts">
            {charts.map(([title, spec]) => <section key={title} className="app-card"><h2>{title}</h2><Suspense fallback={<Skeleton lines={4} />}><Chart csv={csv} spec={spec} /></Suspense></section>)}
          </div>
          <Totals title="Models" rows={data.models} />
          <Totals title="Pages" rows={data.pages} empty="not a page of the service" />
          <Totals title="Users" rows={data.users} plain note={data.users_from ? `Counted from ${data.users_from}: there are too many before.` : undefined} />
          <Totals title="Errors" rows={data.errors} />
          <Totals title="Days" rows={data.days} />
        </>
      )}
    </>
  )
}

/** The days of the range, also those on which no run ended. */
function allDays({ from, to, days }: Stats): Total[] {
  const known = new Map(days.map((d) => [d.name, d]))
  const all: Total[] = []
  for (let at = Date.parse(from); at <= Date.parse(to); at += DAY) {
    const name = new Date(at).toISOString().slice(0, 10)
    all.push(known.get(name) ?? { name, runs: 0, failed: 0, cancelled: 0, fallbacks: 0, input_tokens: 0, output_tokens: 0 })
  }
  return all
}

function Totals({ title, rows, empty = '–', plain = false, note }: { title: string; rows: Total[]; empty?: string; plain?: boolean; note?: string }) {
  if (rows.length === 0) return null
  return (
    <section className="adm-totals">
      <h2>{title}</h2>
      {note && <p className="ct-muted">{note}</p>}
      <div className="ct-table" tabIndex={0} role="region" aria-label={title}>
        <table>
          <thead><tr><th scope="col">Name</th><th scope="col" data-numeric>Runs</th>{!plain && <><th scope="col" data-numeric>Failed</th><th scope="col" data-numeric>Cancelled</th><th scope="col" data-numeric>Fallbacks</th></>}<th scope="col" data-numeric>Tokens in</th><th scope="col" data-numeric>Tokens out</th><th scope="col" data-numeric>Cost</th></tr></thead>
          <tbody>{rows.map((r) => <tr key={r.name}><th scope="row">{r.name || empty}</th><td data-numeric>{count(r.runs)}</td>{!plain && <><td data-numeric>{count(r.failed)}</td><td data-numeric>{count(r.cancelled)}</td><td data-numeric>{count(r.fallbacks)}</td></>}<td data-numeric>{count(r.input_tokens)}</td><td data-numeric>{count(r.output_tokens)}</td><td data-numeric>{dollars(r.cost_usd)}</td></tr>)}</tbody>
        </table>
      </div>
    </section>
  )
}
