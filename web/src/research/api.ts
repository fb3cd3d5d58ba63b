import { jsonOf, queryOf, type Send } from '../api/client'
import type { components } from '../api/openapi'

type Schemas = components['schemas']

export type Stream = Schemas['Stream']
export type StreamUpdate = Schemas['StreamUpdate']
export type StreamList = Schemas['StreamList']
export type Report = Schemas['Report']
export type ReportList = Schemas['ReportList']
export type Article = Schemas['Article']

/** The research data of the service. */
export interface ResearchApi {
  listStreams(): Promise<StreamList>
  getStream(id: number): Promise<Stream>
  putStream(id: number, update: StreamUpdate): Promise<Stream>
  listReports(streamId?: number): Promise<ReportList>
  getReport(id: number): Promise<Report>
}

/** Makes the client of the research data, which sends as a client of chats does. */
export function createResearchApi({ send }: { send: Send }): ResearchApi {
  const json = jsonOf(send)
  return {
    listStreams: () => json('GET', '/api/streams'),
    getStream: (id) => json('GET', `/api/streams/${id}`),
    putStream: (id, update) => json('PUT', `/api/streams/${id}`, update),
    listReports: (stream) => json('GET', `/api/reports${queryOf({ stream_id: stream })}`),
    getReport: (id) => json('GET', `/api/reports/${id}`),
  }
}
