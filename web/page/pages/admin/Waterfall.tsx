import type { Span, Timeline } from './api'
import { took } from './words'

const names: Record<Span['kind'], string> = { queue: 'Queue', model: 'Model', tool: 'Tool', approval: 'Approval', client_tool: 'Tool of the page' }
/** Spans that are drawn. */
const SHOWN = 300

/** A run as bars over its time, one a line: what ran side by side is below each other. It is a table for those who cannot see the bars. */
export function Waterfall({ timeline: { run, spans, commits, attempts } }: { timeline: Timeline }) {
  const begin = Date.parse(run.created_at)
  const times = [...spans.flatMap((s) => [s.started_at, s.ended_at]), run.ended_at].filter((t) => t !== undefined).map((t) => Date.parse(t))
  const end = Math.max(begin + 1, ...(run.ended_at ? [] : [Date.now()]), ...times)
  const at = (time: string) => (100 * (Date.parse(time) - begin)) / (end - begin)
  if (spans.length === 0) return <p className="ct-muted">Nothing has happened yet.</p>
  return (
    <div className="ct-table adm-waterfall" tabIndex={0} role="region" aria-label="Timeline">
      <table>
        <caption className="ct-sr">What the run did, in order of time, over {took(end - begin)}</caption>
        <thead><tr><th scope="col">Step</th><th scope="col" data-numeric>After</th><th scope="col" data-numeric>Took</th><th scope="col" className="adm-bars"><span className="adm-scale"><span>0</span><span>{took((end - begin) / 2)}</span><span>{took(end - begin)}</span></span></th></tr></thead>
        <tbody>
          <tr>
            <th scope="row">On disk</th><td /><td />
            <td className="adm-bars"><span className="adm-track">{commits.slice(0, SHOWN).map((c, i) => <i key={i} className="adm-mark" style={{ insetInlineStart: `${at(c.at)}%` }} title={`${c.what.replace('_', ' ')}${c.name ? ` ${c.name}` : ''}, ${took(Date.parse(c.at) - begin)}`} />)}</span></td>
          </tr>
          {spans.slice(0, SHOWN).map((s, i) => {
            const left = at(s.started_at), right = s.ended_at ? at(s.ended_at) : s.outcome === 'broken_off' ? left : 100
            const first = s.first_token_at ? at(s.first_token_at) : undefined
            return (
              <tr key={i}>
                <th scope="row">
                  {s.thread ? <span className="adm-thread" aria-hidden="true">↳ </span> : null}{names[s.kind]}{s.name && <span className="ct-muted"> {s.name}</span>}
                  {attempts.length > 1 && <span className="ct-tag">attempt {s.attempt}</span>}
                  {s.is_error && <span className="ct-tag adm-state" data-state="failed">failed</span>}
                </th>
                <td data-numeric>{took(Date.parse(s.started_at) - begin)}</td>
                <td data-numeric>{s.ended_at ? took(Date.parse(s.ended_at) - Date.parse(s.started_at)) : s.outcome === 'broken_off' ? 'broken off' : 'running'}<span className="ct-sr">{detailOf(s)}</span></td>
                <td className="adm-bars" title={detailOf(s)}>
                  <span className="adm-track">
                    <i className="adm-bar" data-kind={s.kind} data-failed={s.is_error ?? false} data-open={!s.ended_at} style={{ insetInlineStart: `${left}%`, width: `${Math.max(0, right - left)}%` }} />
                    {first !== undefined && <i className="adm-token" style={{ insetInlineStart: `${first}%` }} />}
                  </span>
                </td>
              </tr>
            )
          })}
        </tbody>
      </table>
      {spans.length > SHOWN && <p className="ct-muted">The first {SHOWN} of {spans.length} steps.</p>}
    </div>
  )
}

/** What a bar shows beside its place. */
function detailOf(s: Span): string {
  const parts: string[] = []
  if (s.first_token_at) parts.push(`first token after ${took(Date.parse(s.first_token_at) - Date.parse(s.started_at))}`)
  if (s.usage) parts.push(`${s.usage.input_tokens} tokens in, ${s.usage.output_tokens} out`)
  if (s.outcome) parts.push(s.outcome.replace('_', ' '))
  return parts.join(', ')
}
