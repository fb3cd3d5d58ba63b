import { useState } from 'react'
import { Skeleton } from '../../../src'
import { useLoaded } from '../../load'
import { href } from '../../route'
import type { AdminApi, Timeline } from './api'
import { Events } from './Events'
import { State } from './Runs'
import { usePolled } from './usePolled'
import { Waterfall } from './Waterfall'
import { count, dollars, took } from './words'

const tabs = [['timeline', 'Timeline'], ['events', 'Events'], ['prompt', 'Prompt']] as const

/** One run. What users and models have written is shown only to those who may see it. */
export function RunView({ api, id, contents }: { api: AdminApi; id: string; contents: boolean }) {
  const [tab, setTab] = useState<(typeof tabs)[number][0]>('timeline')
  const [ended, setEnded] = useState(false)
  const { data, problem } = usePolled(`timeline ${id}`, async () => {
    const timeline = await api.timeline(id)
    setEnded(timeline.run.ended_at !== undefined)
    return timeline
  }, !ended)
  return (
    <>
      <p className="app-crumbs"><a href={href('runs')}>Runs</a></p>
      <div className="app-head"><div><h1>Run</h1><p className="ct-muted adm-id">{id}</p></div></div>
      {problem && <p className="ct-note" data-tone="error" role="alert">{problem}</p>}
      {!data && !problem && <Skeleton lines={9} />}
      {data && <Facts timeline={data} />}
      {data && contents && (
        <div className="app-tabs" role="group" aria-label="What is shown">
          {tabs.map(([name, label]) => <button key={name} type="button" aria-pressed={tab === name} data-chosen={tab === name} onClick={() => setTab(name)}>{label}</button>)}
        </div>
      )}
      {data && tab === 'timeline' && <Waterfall timeline={data} />}
      {data && tab === 'events' && <Events api={api} id={id} />}
      {data && tab === 'prompt' && <Prompt api={api} id={id} />}
    </>
  )
}

function Facts({ timeline: { run, attempts, log_dropped: dropped, truncated } }: { timeline: Timeline }) {
  const rows: [string, React.ReactNode][] = [
    ['State', <State key="state" run={run} />],
    ['User', run.user_name ? `${run.user_name} (${run.user_id})` : run.user_id],
    ['Page', run.page], ['Model', run.model],
    ['Began', new Date(run.created_at).toLocaleString()],
    ['Took', run.ended_at && took(Date.parse(run.ended_at) - Date.parse(run.created_at))],
    ['Tokens', `${count(run.usage.input_tokens)} in, ${count(run.usage.output_tokens)} out`],
    ['Cost', dollars(run.usage.cost_usd)],
    ['Error', run.error?.message],
    ['Attempts', attempts.map((a) => `${a.number}${a.replica ? ` at ${a.replica}` : ''}`).join('; ')],
  ]
  return (
    <>
      <dl className="adm-facts">{rows.filter(([, value]) => value).map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>
      {dropped && <p className="ct-note">The log of this run was deleted because of its age. Only its tools are left.</p>}
      {truncated && <p className="ct-note">This run did more than is shown here.</p>}
    </>
  )
}

/** The trace: what the model was sent, and what it replied. */
function Prompt({ api, id }: { api: AdminApi; id: string }) {
  const { data, problem } = useLoaded(`prompt ${id}`, () => api.diagnostics(id))
  if (problem) return <p className="ct-note" role="status">There is no trace: a run has one from its end until its log is deleted.</p>
  if (!data) return <Skeleton lines={6} />
  return (
    <div className="adm-prompt">
      <h2>System prompt</h2>
      <pre tabIndex={0} aria-label="System prompt">{data.system_prompt || '–'}</pre>
      <h2>Messages</h2>
      {data.messages.map((m, i) => <details key={i} open={i === data.messages.length - 1}><summary>{m.role}</summary><pre tabIndex={0}>{m.content}</pre></details>)}
      <h2>Replies</h2>
      {data.iterations.map((it, i) => <details key={i}><summary>{i + 1}: {it.stop_reason}, {took(it.duration_ms)}</summary><pre tabIndex={0}>{it.reply || '–'}</pre></details>)}
    </div>
  )
}
