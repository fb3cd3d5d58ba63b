import type { ReactNode } from 'react'
import type { Article, Report, Stream } from './api'
import type { Labels } from '../labels/tray'
import { laterLabels } from '../labels/later'
import { useAllLabels } from '../state/allLabels'
import { OutsideLink } from '../markdown/Link'
import { Markdown, safeUrl } from '../markdown/Markdown'
import { registerPayloadHandler } from '../payloads/registry'

/** Cards of the service's own payload types. They are registered only by this function. */
export function registerBundledPayloads(): void {
  registerPayloadHandler<Articles>('pubmed_search_results', { render: (d) => <ArticleList data={d} />, renderOptions: { panelWidth: '640px', headerTitle: titleOf('cardPubMed') } })
  registerPayloadHandler<Articles>('article_search_results', { render: (d) => <ArticleList data={d} />, renderOptions: { panelWidth: '640px', headerTitle: titleOf('cardArticles') } })
  registerPayloadHandler<PubMedArticle>('pubmed_article', { render: (d) => <PubMedCard data={d} />, renderOptions: { panelWidth: '640px', headerTitle: titleOf('cardArticle') } })
  registerPayloadHandler<{ query: string; results: WebResult[] }>('web_search_results', { render: (d) => <WebResults data={d} />, renderOptions: { panelWidth: '560px', headerTitle: titleOf('cardWeb') } })
  registerPayloadHandler<{ url: string; title?: string; content: string; truncated?: boolean }>('webpage_content', { render: (d) => <WebPage data={d} />, renderOptions: { panelWidth: '680px', headerTitle: titleOf('cardPage') } })
  registerPayloadHandler<{ reports: Report[] }>('report_list', { render: (d) => <Reports reports={d.reports} />, renderOptions: { panelWidth: '520px', headerTitle: titleOf('cardReports') } })
  registerPayloadHandler<{ report: Report }>('report_summary', { render: (d) => <ReportCard report={d.report} />, renderOptions: { panelWidth: '640px', headerTitle: titleOf('cardReport') } })
  registerPayloadHandler<{ streams: Stream[] }>('stream_list', { render: (d) => <Streams streams={d.streams} />, renderOptions: { panelWidth: '520px', headerTitle: titleOf('cardStreams') } })
  registerPayloadHandler<{ stream: Stream; reports?: Report[] }>('stream_details', { render: (d) => <StreamCard data={d} />, renderOptions: { panelWidth: '560px', headerTitle: titleOf('cardStream') } })
  registerPayloadHandler<SchemaProposal>('schema_proposal', { render: (d) => <SchemaProposalCard data={d} />, renderOptions: { panelWidth: '520px', headerTitle: titleOf('cardSchema') } })
  registerPayloadHandler<{ query: string; source?: string; explanation?: string }>('query_suggestion', { inline: (d) => <QueryCard data={d} />, render: (d) => <QueryCard data={d} />, renderOptions: { panelWidth: '480px', headerTitle: titleOf('cardQuery') } })
  registerPayloadHandler<{ suggestions: StreamSuggestion[] }>('stream_suggestions', { render: (d) => <Suggestions data={d} />, renderOptions: { panelWidth: '520px', headerTitle: titleOf('cardSuggestions') } })
  registerPayloadHandler<{ results: Validation[]; summary?: string }>('validation_results', { inline: (d) => <Validations data={d} />, render: (d) => <Validations data={d} />, renderOptions: { panelWidth: '480px', headerTitle: titleOf('cardValidation') } })
  registerPayloadHandler<{ categories: Category[] }>('presentation_categories', { render: (d) => <Categories data={d} />, renderOptions: { panelWidth: '460px', headerTitle: titleOf('cardCategories') } })
  registerPayloadHandler<Column>('ai_column_suggestion', { inline: (d) => <ColumnCard data={d} />, render: (d) => <ColumnCard data={d} />, renderOptions: { panelWidth: '440px', headerTitle: titleOf('cardColumn') } })
}

interface Articles { query: string; total: number; articles: Partial<Article>[] }
interface PubMedArticle { pmid: string; title: string; authors: string[]; journal?: string; year?: number; doi?: string; abstract?: { label?: string; text: string }[]; mesh_terms?: string[]; url: string }
interface WebResult { title: string; url: string; snippet: string; engine?: string; published_at?: string }
export interface SchemaProposal { stream_id?: number; title?: string; rationale?: string; changes: Record<string, unknown> }
export interface StreamSuggestion { name: string; purpose: string; topics?: string[]; query?: string; rationale?: string }
interface Validation { item: string; status: 'valid' | 'warning' | 'invalid'; message?: string }
export interface Category { name: string; description?: string; article_ids?: number[]; pmids?: string[] }
export interface Column { name: string; description: string; type: string; prompt: string; options?: string[] }

function Link({ url, children = '' }: { url: string; children?: string }) {
  const safe = safeUrl(url)
  return safe ? <OutsideLink href={safe} text={children}>{children}</OutsideLink> : <>{children}</>
}

function List({ lead, children }: { lead?: ReactNode; children: ReactNode }) {
  return <>{lead && <p className="ct-panel-lead">{lead}</p>}<div className="ct-card-list">{children}</div></>
}

function ArticleList({ data }: { data: Articles }) {
  const labels = useAllLabels()
  return (
    <List lead={<>{labels.foundOf(data.articles.length, data.total)} · <strong>{data.query}</strong></>}>
      {data.articles.map((a, i) => <ArticleCard key={a.article_id ?? a.pmid ?? i} article={a} />)}
    </List>
  )
}

/** An article with its authors, journal and abstract. */
export function ArticleCard({ article: a }: { article: Partial<Article> }) {
  const labels = useAllLabels()
  const url = a.url ?? (a.pmid ? `https://pubmed.ncbi.nlm.nih.gov/${a.pmid}/` : a.doi ? `https://doi.org/${a.doi}` : '')
  return (
    <div className="ct-card">
      <h3>{url ? <Link url={url}>{a.title}</Link> : a.title}</h3>
      <p className="ct-card-meta">{[authors(a.authors, labels), a.journal, a.year || '', a.pmid && `PMID ${a.pmid}`].filter(Boolean).join(' · ')} {a.category && <span className="ct-tag">{a.category}</span>}</p>
      {a.abstract && <details><summary>{labels.abstract}</summary><p>{a.abstract}</p></details>}
    </div>
  )
}

function authors(list: string[] = [], labels: Labels): string {
  return list.length > 3 ? labels.andOthers(list.slice(0, 3).join(', ')) : list.join(', ')
}

function PubMedCard({ data: a }: { data: PubMedArticle }) {
  return (
    <div className="ct-card">
      <h3><Link url={a.url}>{a.title}</Link></h3>
      <p className="ct-card-meta">{[a.authors.join(', '), a.journal, a.year, `PMID ${a.pmid}`].filter(Boolean).join(' · ')}</p>
      {a.abstract?.map((part, i) => <p key={i}>{part.label && <strong>{part.label}. </strong>}{part.text}</p>)}
      {a.mesh_terms && <p className="ct-tags">{a.mesh_terms.map((t) => <span className="ct-tag" key={t}>{t}</span>)}</p>}
    </div>
  )
}

function WebResults({ data }: { data: { query: string; results: WebResult[] } }) {
  return (
    <List lead={<strong>{data.query}</strong>}>
      {data.results.map((r, i) => <div className="ct-card" key={i}><h3><Link url={r.url}>{r.title}</Link></h3><p className="ct-card-meta">{r.url}</p><p>{r.snippet}</p></div>)}
    </List>
  )
}

function WebPage({ data }: { data: { url: string; title?: string; content: string; truncated?: boolean } }) {
  const labels = useAllLabels()
  return <><p className="ct-panel-lead"><Link url={data.url}>{data.title || data.url}</Link>{data.truncated && ` (${labels.beginning})`}</p><Markdown text={data.content} /></>
}

function Reports({ reports }: { reports: Report[] }) {
  return <List>{reports.map((r) => <ReportHead key={r.report_id} report={r} />)}</List>
}

function ReportHead({ report: r }: { report: Report }) {
  const labels = useAllLabels()
  return <div className="ct-card"><h3>{r.title}</h3><p className="ct-card-meta">{labels.reportNumber(r.report_id)} · {day(r.published_at)} · {labels.articleCount(r.article_count)}</p><Markdown text={r.summary} /></div>
}

function ReportCard({ report }: { report: Report }) {
  return <List><ReportHead report={report} />{report.articles?.map((a) => <ArticleCard key={a.article_id} article={a} />)}</List>
}

function Streams({ streams }: { streams: Stream[] }) {
  const labels = useAllLabels()
  return <List>{streams.map((s) => <div className="ct-card" key={s.stream_id}><h3>{s.name}</h3><p className="ct-card-meta">{labels.streamNumber(s.stream_id)}</p><p>{s.purpose}</p></div>)}</List>
}

function StreamCard({ data: { stream, reports } }: { data: { stream: Stream; reports?: Report[] } }) {
  const labels = useAllLabels()
  return (
    <List>
      <div className="ct-card"><h3>{stream.name}</h3><p>{stream.purpose}</p><details><summary>{labels.schema}</summary><pre className="ct-json" tabIndex={0}>{JSON.stringify(stream.schema, null, 2)}</pre></details></div>
      {reports?.map((r) => <ReportHead key={r.report_id} report={r} />)}
    </List>
  )
}

/** Changes by dotted path; if the current values are given, new entries of lists are marked. */
export function SchemaProposalCard({ data, current }: { data: SchemaProposal; current?: (path: string) => unknown }) {
  return (
    <List lead={data.rationale}>
      {data.title && <h3>{data.title}</h3>}
      {Object.entries(data.changes).map(([path, value]) => (
        <div className="ct-card ct-change" key={path}>
          <code>{path}</code>
          <Value value={value} before={current?.(path)} />
        </div>
      ))}
    </List>
  )
}

function Value({ value, before }: { value: unknown; before?: unknown }) {
  if (!Array.isArray(value)) return <p>{typeof value === 'string' ? value : JSON.stringify(value)}</p>
  const was = new Set((Array.isArray(before) ? before : []).map((v) => JSON.stringify(v)))
  return (
    <div className="ct-tags">
      {value.map((v, i) => {
        const added = before !== undefined && !was.has(JSON.stringify(v))
        return <span className="ct-tag" data-tone={added ? 'added' : undefined} key={i}>{added && '+ '}{typeof v === 'string' ? v : JSON.stringify(v)}</span>
      })}
    </div>
  )
}

function QueryCard({ data }: { data: { query: string; source?: string; explanation?: string } }) {
  return <List lead={data.explanation}><div className="ct-card"><span className="ct-tag">{data.source ?? 'pubmed'}</span><pre className="ct-plain">{data.query}</pre></div></List>
}

function Suggestions({ data }: { data: { suggestions: StreamSuggestion[] } }) {
  return (
    <List>
      {data.suggestions.map((s, i) => (
        <div className="ct-card" key={i}><h3>{s.name}</h3><p>{s.purpose}</p>{s.topics && <p className="ct-tags">{s.topics.map((t) => <span className="ct-tag" key={t}>{t}</span>)}</p>}{s.rationale && <p className="ct-card-meta">{s.rationale}</p>}</div>
      ))}
    </List>
  )
}

function Validations({ data }: { data: { results: Validation[]; summary?: string } }) {
  const labels = useAllLabels()
  return <List lead={data.summary}>{data.results.map((r, i) => <div className="ct-card" key={i}><span className="ct-tag" data-tone={r.status}>{labels.validity(r.status)}</span> <code>{r.item}</code>{r.message && <p>{r.message}</p>}</div>)}</List>
}

function Categories({ data }: { data: { categories: Category[] } }) {
  const labels = useAllLabels()
  return <List>{data.categories.map((c, i) => <div className="ct-card" key={i}><h3>{c.name}</h3>{c.description && <p>{c.description}</p>}<p className="ct-card-meta">{labels.articleCount((c.article_ids?.length ?? 0) + (c.pmids?.length ?? 0))}</p></div>)}</List>
}

function ColumnCard({ data }: { data: Column }) {
  return <List lead={data.description}><div className="ct-card"><h3>{data.name} <span className="ct-tag">{data.type}</span></h3><p>{data.prompt}</p>{data.options && <p className="ct-tags">{data.options.map((o) => <span className="ct-tag" key={o}>{o}</span>)}</p>}</div></List>
}

function day(iso: string): string {
  return new Date(iso).toLocaleDateString(undefined, { day: 'numeric', month: 'short', year: 'numeric' })
}

/** Returns a function that returns the title of a card in the page's labels. */
function titleOf(key: keyof typeof laterLabels & `card${string}`) {
  return (labels: Partial<Labels>): string => labels[key] ?? laterLabels[key]
}
