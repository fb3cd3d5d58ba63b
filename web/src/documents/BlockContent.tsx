import Papa from 'papaparse'
import { lazy, memo, Suspense, useMemo } from 'react'
import type { Props } from '../api/types'
import { useAllLabels } from '../state/allLabels'
import { Markdown } from '../markdown/Markdown'
import { nameOf } from '../markdown/grid'
import { TableFrame } from '../markdown/TableFrame'

const Chart = lazy(() => import('./Chart'))
const DataGrid = lazy(() => import('../markdown/DataGrid'))

/** Rows of a table that are shown. */
const MAX_ROWS = 10_000

/** A block's content by its type; unknown types are shown as text. */
export const BlockContent = memo(function BlockContent({ type, content, meta, streaming = false }: { type: string; content: string; meta?: Props; streaming?: boolean }) {
  const labels = useAllLabels()
  if (type === 'md') return <Markdown text={content} streaming={streaming} />
  if (type === 'csv') return <CsvTable content={content} streaming={streaming} />
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

/** The rows of CSV; one more than `most` shows that there are more. */
export function csvRows(content: string, most: number): string[][] {
  return Papa.parse<string[]>(content.trim(), { skipEmptyLines: true, preview: most }).data
}

function CsvTable({ content, streaming = false }: { content: string; streaming?: boolean }) {
  const labels = useAllLabels()
  const rows = useMemo(() => csvRows(content, MAX_ROWS + 2), [content])
  const shown = useMemo(() => rows.slice(0, MAX_ROWS + 1), [rows])
  if (shown.length === 0) return null
  return (
    <>
      <TableFrame rows={() => shown} title={labels.tableRows(shown.length - 1)} tools={!streaming}>
        <Suspense fallback={<p className="ct-muted ct-center">{labels.loading}</p>}><DataGrid rows={shown} label={nameOf(labels.table, shown[0])} /></Suspense>
      </TableFrame>
      {rows.length > MAX_ROWS + 1 && <p className="ct-muted">{labels.tableFirst(MAX_ROWS)}</p>}
    </>
  )
}

function Image({ type, content, meta }: { type: string; content: string; meta?: Props }) {
  const labels = useAllLabels()
  const data = content.replace(/\s+/g, '')
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(data)) return <p className="ct-muted">{labels.imageNone}</p>
  const mime = type === 'image/jpg' ? 'image/jpeg' : type
  return <img className="ct-media" src={`data:${mime};base64,${data}`} alt={typeof meta?.alt === 'string' ? meta.alt : labels.image} width={size(meta?.width)} height={size(meta?.height)} />
}

function size(value: unknown): number | undefined {
  return typeof value === 'number' && value > 0 && value < 20_000 ? value : undefined
}
