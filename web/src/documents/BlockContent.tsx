import Papa from 'papaparse'
import { lazy, memo, Suspense, useMemo } from 'react'
import type { Props } from '../api/types'
import { useLabels } from '../state/ui'
import { Markdown } from '../markdown/Markdown'

const Chart = lazy(() => import('./Chart'))

/** Rows of a table that are shown. */
const MAX_ROWS = 500

/** A block's content by its type; types that nobody knows are shown as text. */
export const BlockContent = memo(function BlockContent({ type, content, meta, streaming = false }: { type: string; content: string; meta?: Props; streaming?: boolean }) {
  const labels = useLabels()
  if (type === 'md') return <Markdown text={content} streaming={streaming} />
  if (type === 'csv') return <CsvTable content={content} />
  if (/^image\/(png|jpe?g|gif|webp)$/.test(type)) return <Image type={type} content={content} meta={meta} />
  if (type === 'interactive_chart' || type === 'interative_chart') {
    return (
      <figure className="ct-chart">
        {streaming ? <p className="ct-muted">{labels.chartWriting}</p> : (
          <Suspense fallback={<p className="ct-muted">{labels.chartLoading}</p>}><Chart csv={content} spec={meta ?? {}} /></Suspense>
        )}
        <details><summary>{labels.chartData}</summary><CsvTable content={content} /></details>
      </figure>
    )
  }
  return <pre className="ct-plain" dir="auto">{content}</pre>
})

function CsvTable({ content }: { content: string }) {
  const labels = useLabels()
  const rows = useMemo(() => Papa.parse<string[]>(content.trim(), { skipEmptyLines: true, preview: MAX_ROWS + 2 }).data, [content])
  const [head, ...body] = rows
  if (!head) return null
  return (
    <>
      <div className="ct-table" tabIndex={0} role="group" aria-label={labels.table}>
        <table>
          <thead><tr>{head.map((cell, i) => <th key={i} scope="col">{cell}</th>)}</tr></thead>
          <tbody>{body.slice(0, MAX_ROWS).map((row, i) => <tr key={i}>{row.map((cell, j) => <td key={j} align={cell !== '' && Number.isFinite(Number(cell)) ? 'right' : undefined}>{cell}</td>)}</tr>)}</tbody>
        </table>
      </div>
      {body.length > MAX_ROWS && <p className="ct-muted">{labels.tableFirst(MAX_ROWS)}</p>}
    </>
  )
}

function Image({ type, content, meta }: { type: string; content: string; meta?: Props }) {
  const labels = useLabels()
  const data = content.replace(/\s+/g, '')
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(data)) return <p className="ct-muted">{labels.imageNone}</p>
  const mime = type === 'image/jpg' ? 'image/jpeg' : type
  return <img className="ct-media" src={`data:${mime};base64,${data}`} alt={typeof meta?.alt === 'string' ? meta.alt : labels.image} width={size(meta?.width)} height={size(meta?.height)} />
}

function size(value: unknown): number | undefined {
  return typeof value === 'number' && value > 0 && value < 20_000 ? value : undefined
}
