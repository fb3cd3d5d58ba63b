import type { components } from '../../../src/api/openapi'
import { jsonOf, queryOf } from '../../../src/api/client'
import type { ChatApi } from '../../../src'

type Schemas = components['schemas']
export type AdminRun = Schemas['AdminRun']
export type Span = Schemas['AdminSpan']
export type Timeline = Schemas['AdminTimeline']
export type RunEvent = Schemas['AdminEvent']
export type Total = Schemas['AdminTotal']
export type Stats = Schemas['AdminStats']

/** Which runs are listed; empty texts match all. */
export interface Filter {
  state: string
  user: string
  page: string
  model: string
  error: string
  from: string
  to: string
}

export const noFilter: Filter = { state: '', user: '', page: '', model: '', error: '', from: '', to: '' }

export type AdminApi = ReturnType<typeof createAdminApi>

/** The part of the service for admins; it sends its requests as the chat does. */
export function createAdminApi({ send }: ChatApi) {
  const json = jsonOf(send)
  const run = (id: string) => `/api/admin/runs/${encodeURIComponent(id)}`
  return {
    runs: (filter: Filter, cursor: string, limit: number) => json<Schemas['AdminRunList']>('GET', `/api/admin/runs${queryOf({ ...filter, cursor, limit })}`),
    timeline: (id: string) => json<Timeline>('GET', `${run(id)}/timeline`),
    events: (id: string, after: number) => json<Schemas['AdminEventList']>('GET', `${run(id)}/events${queryOf({ after, limit: 200 })}`),
    diagnostics: (id: string) => json<Schemas['Diagnostics']>('GET', `${run(id)}/diagnostics`),
    stats: (from: string, to: string) => json<Stats>('GET', `/api/admin/stats${queryOf({ from, to })}`),
    replicas: () => json<Schemas['AdminReplicaList']>('GET', '/api/admin/replicas'),
    mcpServers: () => json<Schemas['AdminMCPServerList']>('GET', '/api/admin/mcp_servers'),
  }
}
