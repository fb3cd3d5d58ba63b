import { useEffect, useState } from 'react'
import { Skeleton } from '../../../src'
import { useLoaded } from '../../load'
import type { AdminApi, RunEvent } from './api'
import { took } from './words'

/** The longest pause of a replay, in milliseconds: nobody waits for an approval again. */
const PAUSE = 3_000

/** The events of a run, a page at a time. A page can be replayed at the speed at which its events came. */
export function Events({ api, id }: { api: AdminApi; id: string }) {
  const [starts, setStarts] = useState([0])
  const after = starts[starts.length - 1]!
  const { data, problem } = useLoaded(`events ${id} ${after}`, () => api.events(id, after))
  const [shown, setShown] = useState<number | null>(null) // of a replay
  const items = data?.items ?? []
  useEffect(() => {
    if (shown === null || shown >= items.length) return
    const wait = shown === 0 ? 0 : Math.min(PAUSE, Date.parse(items[shown]!.at) - Date.parse(items[shown - 1]!.at))
    const timer = window.setTimeout(() => setShown(shown + 1), wait)
    return () => window.clearTimeout(timer)
  }, [shown, items])
  if (problem) return <p className="ct-note" data-tone="error" role="alert">{problem}</p>
  if (!data) return <Skeleton lines={6} />
  if (items.length === 0) return <p className="ct-muted">No events are stored.</p>
  const playing = shown !== null && shown < items.length
  const seen = items.slice(0, shown ?? items.length)
  const turn = (to: number[]) => {
    setShown(null)
    setStarts(to)
  }
  return (
    <>
      <div className="ct-row adm-pages">
        <button type="button" className="ct-button" onClick={() => setShown(playing ? null : 0)}>{playing ? 'Stop' : 'Replay'}</button>
        <button type="button" className="ct-button" disabled={starts.length === 1} onClick={() => turn(starts.slice(0, -1))}>Earlier</button>
        <button type="button" className="ct-button" disabled={!data.next} onClick={() => data.next && turn([...starts, data.next])}>Later</button>
      </div>
      {shown !== null && <p className="adm-replay" aria-label="Text so far">{seen.map(textOf).join('')}</p>}
      <ol className="adm-events" start={1} tabIndex={0} aria-label="Events">
        {seen.map((e, i) => (
          <li key={e.sequence}>
            <span className="ct-muted">{e.sequence}</span><span className="ct-muted">{i === 0 ? '' : `+${took(Date.parse(e.at) - Date.parse(items[i - 1]!.at))}`}</span>
            <code>{e.event ? JSON.stringify(e.event) : 'no frame in this dialect'}</code>
          </li>
        ))}
      </ol>
    </>
  )
}

function textOf(e: RunEvent): string {
  return e.event?.type === 'text_delta' && typeof e.event.text === 'string' ? e.event.text : ''
}
