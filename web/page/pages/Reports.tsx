import { useEffect, useMemo, useState } from 'react'
import { Markdown, payloadHandlerFor, Skeleton, useChatContext, useClientTool, type PayloadHandlers } from '../../src'
import type { Article, Category, Column, Report, ResearchApi } from '../../src/research'
import type { PageTray } from '../App'
import { useLoaded } from '../load'
import { go, href } from '../route'

type SetTray = (tray: PageTray) => void

/** The list of reports, and one report with its tabs. */
export function ReportsPage({ api, route, setTray }: { api: ResearchApi; route: string[]; setTray: SetTray }) {
  const id = Number(route[1])
  if (id > 0) return <ReportPage key={id} api={api} id={id} tab={route[2] === 'articles' ? 'articles' : 'summary'} setTray={setTray} />
  return <ReportListPage api={api} stream={route[1] === 'stream' ? Number(route[2]) || undefined : undefined} setTray={setTray} />
}

function ReportListPage({ api, stream, setTray }: { api: ResearchApi; stream?: number; setTray: SetTray }) {
  const { data, problem } = useLoaded(`reports:${stream ?? ''}`, () => api.listReports(stream))
  useEffect(() => {
    setTray({
      context: { current_page: 'reports', ...(stream && { stream_id: stream }) },
      starters: [{ label: 'Research base editing and gold', hint: 'Two searches at once, with sources' }, { label: 'Order 2 printed copies of report 1', hint: 'Asks you before it does so' }, { label: 'Summarize report 1' }, { label: 'What can you do?', message: 'help' }],
    })
  }, [stream, setTray])
  return (
    <>
      <div className="app-head"><div><h1>Reports</h1><p className="ct-muted">{stream ? <>Of stream {stream}. <a href={href('reports')}>All reports</a></> : 'What the streams found, newest first.'}</p></div></div>
      {problem && <p className="ct-note" data-tone="error">{problem}</p>}
      <div className="app-list">
        {!data && !problem && Array.from({ length: 5 }, (_, i) => <div className="app-card" key={i}><Skeleton lines={2} /></div>)}
        {data?.items.map((report) => (
          <a className="app-card app-row" href={href('reports', report.report_id)} key={report.report_id}>
            <div><h2>{report.title}</h2><p className="app-clamp">{report.summary}</p></div>
            <p className="app-card-meta"><span>{day(report.published_at)}</span><span>{report.article_count} articles</span><span className="ct-tag">Stream {report.stream_id}</span></p>
          </a>
        ))}
      </div>
    </>
  )
}

function ReportPage({ api, id, tab, setTray }: { api: ResearchApi; id: number; tab: 'summary' | 'articles'; setTray: SetTray }) {
  const { data: report, problem } = useLoaded(`report:${id}`, () => api.getReport(id))
  const [article, setArticle] = useState<Article | null>(null)
  const [categories, setCategories] = useState<Category[] | null>(null)
  const [columns, setColumns] = useState<Column[]>([])
  const handlers = useMemo<PayloadHandlers>(() => ({
    presentation_categories: {
      ...payloadHandlerFor('presentation_categories')!, onAccept: (data: { categories: Category[] }) => setCategories(data.categories), onReject: () => undefined,
    },
    ai_column_suggestion: { ...payloadHandlerFor('ai_column_suggestion')!, onAccept: (data: Column) => setColumns((before) => [...before, data]), onReject: () => undefined },
  }), [])
  useEffect(() => {
    setTray({
      context: {
        current_page: 'reports', active_tab: tab, report_id: id, ...(report && { stream_id: report.stream_id }),
        ...(article && { current_article: { article_id: article.article_id, pmid: article.pmid, title: article.title } }),
      },
      starters: tab === 'articles'
        ? [{ label: 'Categorize the articles' }, { label: 'Add a column for study design' }, { label: `Open article ${report?.articles?.[0]?.article_id ?? 1}` }, { label: 'Find articles about safety' }]
        : [{ label: `Summarize report ${id}` }, { label: 'What does this report say?' }, { label: 'List the reports' }],
      payloadHandlers: tab === 'articles' ? handlers : undefined,
    })
  }, [id, tab, report, article, handlers, setTray])
  if (problem) return <p className="ct-note" data-tone="error">{problem}</p>
  if (!report) return <Skeleton lines={9} />
  return (
    <>
      <p className="app-crumbs"><a href={href('reports')}>Reports</a> / Report {id}</p>
      <div className="app-head"><div><h1>{report.title}</h1><p className="ct-muted">{day(report.published_at)} · {report.article_count} articles · stream {report.stream_id}</p></div></div>
      <div className="app-tabs" role="tablist" aria-label="Report">
        {(['summary', 'articles'] as const).map((name) => (
          <button key={name} type="button" role="tab" id={`tab-${name}`} aria-selected={tab === name} aria-controls="tab-panel" onClick={() => go('reports', id, name)}>{name === 'summary' ? 'Summary' : `Articles (${report.articles?.length ?? 0})`}</button>
        ))}
      </div>
      <div role="tabpanel" id="tab-panel" aria-labelledby={`tab-${tab}`}>
        {tab === 'summary'
          ? <div className="app-prose"><Markdown text={report.summary} /></div>
          : <Articles report={report} categories={categories} columns={columns} chosen={article} onChoose={setArticle} onUngroup={() => setCategories(null)} />}
      </div>
    </>
  )
}

function Articles({ report, categories, columns, chosen, onChoose, onUngroup }: {
  report: Report
  categories: Category[] | null
  columns: Column[]
  chosen: Article | null
  onChoose: (article: Article | null) => void
  onUngroup: () => void
}) {
  const articles = report.articles ?? []
  const inGroup = (c: Category, a: Article) => c.article_ids?.includes(a.article_id) || (a.pmid !== undefined && c.pmids?.includes(a.pmid))
  const groups = categories
    ? [...categories.map((c) => ({ name: c.name, articles: articles.filter((a) => inGroup(c, a)) })), { name: 'Other', articles: articles.filter((a) => !categories.some((c) => inGroup(c, a))) }].filter((g) => g.articles.length > 0)
    : [{ name: '', articles }]
  return (
    <>
      <OpenArticle articles={articles} onChoose={onChoose} />
      {categories && <p className="ct-row app-grouped"><span>Grouped as the assistant proposed.</span><button type="button" className="ct-button ct-small" onClick={onUngroup}>Ungroup</button></p>}
      {groups.map((group) => (
        <section key={group.name}>
          {group.name && <h2 className="app-group">{group.name} <span className="ct-tag">{group.articles.length}</span></h2>}
          <ArticleTable articles={group.articles} columns={columns} chosen={chosen} onChoose={onChoose} />
        </section>
      ))}
    </>
  )
}

/** Lets the model open an article in the table, as a click does. */
function OpenArticle({ articles, onChoose }: { articles: Article[]; onChoose: (article: Article) => void }) {
  useClientTool<{ article_id: number }>({
    name: 'open_article', description: 'Opens an article of the report on the user’s screen and gives its abstract.',
    input_schema: { type: 'object', properties: { article_id: { type: 'integer', description: 'As in the report.' } }, required: ['article_id'] },
    handler: ({ article_id: id }) => {
      const article = articles.find((a) => a.article_id === id)
      if (!article) throw new Error(`This report has no article ${id}; it has ${articles.map((a) => a.article_id).join(', ')}.`)
      onChoose(article)
      return { title: article.title, year: article.year, abstract: article.abstract ?? '' }
    },
  })
  return null
}

function ArticleTable({ articles, columns, chosen, onChoose }: { articles: Article[]; columns: Column[]; chosen: Article | null; onChoose: (article: Article | null) => void }) {
  const { sendMessage } = useChatContext()
  return (
    <div className="ct-table app-articles" tabIndex={0} role="group" aria-label="Articles">
      <table>
        <thead><tr><th scope="col">Article</th><th scope="col">Year</th><th scope="col">Category</th>{columns.map((c) => <th scope="col" key={c.name} title={c.description}>{c.name}</th>)}</tr></thead>
        <tbody>
          {articles.map((a) => (
            <tr key={a.article_id} data-chosen={chosen?.article_id === a.article_id}>
              <td>
                <button type="button" className="app-link" aria-pressed={chosen?.article_id === a.article_id} onClick={() => onChoose(chosen?.article_id === a.article_id ? null : a)}>{a.title}</button>
                <div className="ct-card-meta">{a.authors.slice(0, 3).join(', ')}{a.journal && ` · ${a.journal}`}</div>
                {chosen?.article_id === a.article_id && a.abstract && <p>{a.abstract}</p>}
              </td>
              <td>{a.year || '–'}</td>
              <td>{a.category && <span className="ct-tag">{a.category}</span>}</td>
              {columns.map((c) => <td key={c.name}><button type="button" className="ct-button ct-small" onClick={() => void sendMessage(`${c.prompt}\n\n${a.title}${a.pmid ? ` (PMID ${a.pmid})` : ''}`)}>Ask</button></td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function day(iso: string): string {
  return new Date(iso).toLocaleDateString(undefined, { day: 'numeric', month: 'short', year: 'numeric' })
}
