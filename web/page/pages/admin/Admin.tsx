import { useMemo } from 'react'
import type { ChatApi, User } from '../../../src'
import { href, useRoute } from '../../route'
import './admin.css'
import { createAdminApi } from './api'
import { ProcessesView } from './Processes'
import { RunView } from './Run'
import { RunsView } from './Runs'
import { UsageView } from './Usage'

const nav = [['runs', 'Runs'], ['usage', 'Usage'], ['processes', 'Processes']] as const

/** The page of the operator: all runs, what each did, usage, and the processes. The service decides who may see it. */
export function Admin({ api, user }: { api: ChatApi; user: User }) {
  const route = useRoute()
  const admin = useMemo(() => createAdminApi(api), [api])
  const view = nav.some(([name]) => name === route[0]) ? route[0]! : 'runs'
  const allowed = user.roles.includes('admin')
  return (
    <div className="ct-root app" data-theme="auto">
      <header className="app-bar">
        <a className="app-brand" href="/"><img src="/assets/icon.svg" alt="" width="24" height="24" />chattray</a>
        <nav aria-label="Views">
          {allowed && nav.map(([name, label]) => <a key={name} href={href(name)} aria-current={view === name ? 'page' : undefined}>{label}</a>)}
        </nav>
        <span className="app-user" title={user.user_id}>{user.name}</span>
      </header>
      <div className="app-body">
        <main className="app-main adm" tabIndex={-1}>
          {!allowed ? <><h1>For admins</h1><p className="ct-muted">You need the role “admin” to see the runs of all users.</p></>
            : view === 'usage' ? <UsageView api={admin} />
              : view === 'processes' ? <ProcessesView api={admin} />
                : route[1] ? <RunView key={route[1]} api={admin} id={route[1]} contents={user.may.diagnostics} />
                  : <RunsView api={admin} />}
        </main>
      </div>
    </div>
  )
}
