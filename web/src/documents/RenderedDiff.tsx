import { diffArrays } from 'diff'
import { useMemo, type ReactNode } from 'react'
import type { Props } from '../api/types'
import { Markdown, MarkdownChunk } from '../markdown/Markdown'
import type { TreePlugin } from '../markdown/tree'
import { fencedCode, splitMarkdown } from '../markdown/split'
import { useAllLabels } from '../state/allLabels'
import { BlockContent, csvRows } from './BlockContent'
import { changedWords, rehypeChanges, wordsOf, wordsOfMarkdown, type Change } from './words'

/** The most characters of both texts that are compared. */
const DIFF_LIMIT = 200_000

export interface RenderedDiffProps {
  type: string
  before: string
  after: string
  meta?: Props
  newMeta?: Props
}

/** The difference that a change makes to a block, rendered like the block. */
export function RenderedDiff({ type, before, after, meta, newMeta }: RenderedDiffProps) {
  const labels = useAllLabels()
  if (before.length + after.length > DIFF_LIMIT) return <Beside type={type} before={before} after={after} meta={meta} newMeta={newMeta} />
  if (type === 'md') return <MarkdownDiff before={before} after={after} />
  if (type === 'csv') return <CsvDiff before={before} after={after} />
  if (type.startsWith('text')) return <pre className="ct-plain ct-changes" dir="auto"><Words changes={changedWords(wordsOf(before), wordsOf(after))} /></pre>
  if (!type.endsWith('chart')) return <Beside type={type} before={before} after={after} meta={meta} newMeta={newMeta} />
  return (
    <>
      <Beside type={type} before={before} after={after} meta={meta} newMeta={newMeta} />
      {before !== after && <details className="ct-chart"><summary>{labels.dataChanges}</summary><CsvDiff before={before} after={after} /></details>}
    </>
  )
}

/** Both versions, side by side if there is room. */
function Beside({ type, before, after, meta, newMeta }: RenderedDiffProps) {
  const labels = useAllLabels()
  return (
    <div className="ct-beside">
      <figure data-change="del"><figcaption>{labels.viewCurrent}</figcaption><BlockContent type={type} content={before} meta={meta} /></figure>
      <figure data-change="ins"><figcaption>{labels.viewNew}</figcaption><BlockContent type={type} content={after} meta={newMeta ?? meta} /></figure>
    </div>
  )
}

function Words({ changes }: { changes: Change[] }): ReactNode {
  return changes.map(({ kind, text }, i) => (kind === 'ins' ? <ins key={i}>{text}</ins> : kind === 'del' ? <del key={i}>{text}</del> : text))
}

interface Piece {
  before?: string
  after?: string
}

/** The blocks of both texts, side by side where they are the same or one became the other. */
function piecesOf(before: string, after: string): Piece[] {
  const cut = (text: string) => splitMarkdown(text).chunks.map((chunk) => chunk.trim())
  const pieces: Piece[] = []
  let removed: string[] = []
  const flush = () => {
    pieces.push(...removed.map((text) => ({ before: text })))
    removed = []
  }
  for (const part of diffArrays(cut(before), cut(after))) {
    if (part.removed) removed.push(...part.value)
    else if (part.added) {
      for (const text of part.value) {
        const at = removed.findIndex((old) => kindOf(old) === kindOf(text))
        pieces.push(...removed.splice(0, Math.max(0, at)).map((old) => ({ before: old })))
        pieces.push(at < 0 ? { after: text } : { before: removed.shift(), after: text })
      }
    } else {
      flush()
      pieces.push(...part.value.map((text) => ({ before: text, after: text })))
    }
  }
  flush()
  return pieces
}

function kindOf(chunk: string): string {
  if (fencedCode(chunk)) return 'code'
  return /^#{1,6} /.test(chunk) ? 'heading' : /^ {0,3}(?:[-*+]|\d{1,9}[.)])\s/.test(chunk) ? 'list' : chunk.includes('|') && /^\s*\|?\s*:?-+/m.test(chunk) ? 'table' : 'text'
}

function MarkdownDiff({ before, after }: { before: string; after: string }) {
  const pieces = useMemo(() => piecesOf(before, after), [before, after])
  return <div className="ct-changes">{pieces.map((piece, i) => <PieceView key={i} piece={piece} />)}</div>
}

function PieceView({ piece: { before, after } }: { piece: Piece }) {
  const words = useMemo(() => (before !== undefined && after !== undefined && before !== after ? wordsOfMarkdown(before) : null), [before, after])
  const plugin = useMemo<TreePlugin[]>(() => (words ? [rehypeChanges({ before: words })] : []), [words])
  if (before === undefined || after === undefined) {
    return before === undefined ? <ins className="ct-change"><Markdown text={after ?? ''} /></ins> : <del className="ct-change"><Markdown text={before} /></del>
  }
  if (before === after) return <Markdown text={after} />
  const [old, now] = [fencedCode(before), fencedCode(after)]
  if (old && now) return <pre className="ct-plain ct-changes" dir="ltr"><Words changes={changedWords(wordsOf(old.code), wordsOf(now.code))} /></pre>
  return <div className="ct-md" dir="auto"><MarkdownChunk text={after} plugins={plugin} /></div>
}

/** Rows of a table that are compared. */
const MAX_ROWS = 500

function CsvDiff({ before, after }: { before: string; after: string }) {
  const labels = useAllLabels()
  const rows = useMemo(() => rowChanges(csvRows(before, MAX_ROWS), csvRows(after, MAX_ROWS)), [before, after])
  return (
    <div className="ct-frame"><div className="ct-table ct-changes" tabIndex={0} role="group" aria-label={labels.table}>
      <table><tbody>
        {rows.map(({ old, now }, i) => (
          <tr key={i} data-change={old && now ? undefined : old ? 'del' : 'ins'}>
            {Array.from({ length: Math.max(old?.length ?? 0, now?.length ?? 0) }, (_, j) => {
              const [was, is] = [old?.[j] ?? '', now?.[j] ?? '']
              const cell = !old ? <ins>{is}</ins> : !now ? <del>{was}</del> : was === is ? is : <>{was && <del>{was}</del>} {is && <ins>{is}</ins>}</>
              return i === 0 && now ? <th key={j} scope="col">{cell}</th> : <td key={j}>{cell}</td>
            })}
          </tr>
        ))}
      </tbody></table>
    </div></div>
  )
}

interface RowChange {
  old?: string[]
  now?: string[]
}

/** Compares rows by their place; rows with different content are the same row if their first cells are equal. */
function rowChanges(before: string[][], after: string[][]): RowChange[] {
  const equal = (a: string[], b: string[]) => a.join('\0') === b.join('\0')
  const found: RowChange[] = []
  let removed: string[][] = []
  for (const part of diffArrays(before, after, { comparator: equal })) {
    if (part.removed) removed.push(...part.value)
    else if (part.added) {
      for (const now of part.value) {
        const at = removed.findIndex((old) => old[0] === now[0])
        found.push(...removed.splice(0, Math.max(0, at)).map((old) => ({ old })))
        found.push(at < 0 ? { now } : { old: removed.shift(), now })
      }
    } else {
      found.push(...removed.map((old) => ({ old })), ...part.value.map((row) => ({ old: row, now: row })))
      removed = []
    }
  }
  return [...found, ...removed.map((old) => ({ old }))]
}
