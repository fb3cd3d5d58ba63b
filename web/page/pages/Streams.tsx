import { useEffect } from 'react'
import { Skeleton } from '../../src'
import type { ResearchApi } from '../../src/research'
import type { PageTray } from '../App'
import { useLoaded } from '../load'
import { go, href } from '../route'

/** The research streams. The context tells the tray which one is open. */
export function StreamsPage({ api, route, setTray }: { api: ResearchApi; route: string[]; setTray: (tray: PageTray) => void }) {
  const { data, problem } = useLoaded('streams', () => api.listStreams())
  const chosen = Number(route[1]) || undefined
  useEffect(() => {
    setTray({
      context: { current_page: 'streams', ...(chosen && { stream_id: chosen }) },
      starters: [
        { label: 'Create a report with a chart about gold', hint: 'A document that you review block by block' },
        { label: 'Research base editing and gold', hint: 'Two searches at once, with sources' },
        chosen ? { label: `Tell me about stream ${chosen}`, hint: 'Reads what this page shows' } : { label: 'Order 2 printed copies of report 1', hint: 'Asks you before it does so' },
        { label: 'What can you do?', message: 'help' },
      ],
    })
  }, [chosen, setTray])
  return (
    <>
      <div className="app-head"><div><h1>Research streams</h1><p className="ct-muted">Standing questions that new publications are checked against.</p></div></div>
      {problem && <p className="ct-note" data-tone="error">{problem}</p>}
      <div className="app-grid">
        {!data && !problem && Array.from({ length: 6 }, (_, i) => <div className="app-card" key={i}><Skeleton lines={5} /></div>)}
        {data?.items.map((stream) => (
          <article className="app-card" key={stream.stream_id} data-chosen={chosen === stream.stream_id}>
            <h2><button type="button" onClick={() => go('streams', stream.stream_id)}>{stream.name}</button></h2>
            <p>{stream.purpose}</p>
            <p className="app-card-foot">
              <a href={href('reports', 'stream', stream.stream_id)}>Reports</a>
              <a href={href('edit', stream.stream_id)}>Edit</a>
              <span className="ct-tag">Stream {stream.stream_id}</span>
            </p>
          </article>
        ))}
      </div>
    </>
  )
}
