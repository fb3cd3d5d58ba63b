import { Skeleton } from '../../../src'
import type { AdminApi } from './api'
import { usePolled } from './usePolled'

/** The processes that serve the database, with their leases, and the MCP servers of the one that answers. */
export function ProcessesView({ api }: { api: AdminApi }) {
  const { data, problem } = usePolled('processes', async () => ({ replicas: (await api.replicas()).items, servers: (await api.mcpServers()).items }))
  if (problem && !data) return <p className="ct-note" data-tone="error" role="alert">{problem}</p>
  if (!data) return <Skeleton lines={6} />
  return (
    <>
      <div className="app-head"><div><h1>Processes</h1></div></div>
      {problem && <p className="ct-note" data-tone="error" role="alert">{problem}</p>}
      <div className="ct-table" tabIndex={0} role="region" aria-label="Processes">
        <table>
          <thead><tr><th scope="col">Process</th><th scope="col">State</th><th scope="col">Started</th><th scope="col">Lease ends</th><th scope="col" data-numeric>Open runs</th></tr></thead>
          <tbody>
            {data.replicas.map((r) => (
              <tr key={r.id}>
                <th scope="row">{r.name || r.id}{r.this && <span className="ct-tag">this one</span>}{r.name && <span className="ct-muted adm-id"> {r.id}</span>}</th>
                <td><span className="ct-tag adm-state" data-state={r.live ? 'completed' : 'failed'}>{r.live ? r.draining ? 'leaving' : 'live' : 'gone'}</span></td>
                <td>{r.started_at ? new Date(r.started_at).toLocaleString() : '–'}</td>
                <td>{r.expires_at && r.live ? new Date(r.expires_at).toLocaleTimeString() : '–'}</td>
                <td data-numeric>{r.open_runs}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <section className="adm-totals">
        <h2>MCP servers</h2>
        {data.servers.length === 0 && <p className="ct-muted">None is configured.</p>}
        {data.servers.map((s) => (
          <div className="app-card" key={s.name}>
            <h3>{s.name} <span className="ct-tag adm-state" data-state={s.connected ? 'completed' : 'failed'}>{s.connected ? 'connected' : 'not connected'}</span></h3>
            {s.error && <p className="ct-muted">{s.error}</p>}
            <p>{s.tools.length === 0 ? 'No tools.' : s.tools.join(', ')}</p>
          </div>
        ))}
      </section>
    </>
  )
}
