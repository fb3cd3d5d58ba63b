import { cut } from '../state/values/cut'

/** A table's cells as text: the first row is its head. */
export type Rows = string[][]

/** Compares cells: numbers by value, also with currency, percent and thousands signs; everything else as text. Empty cells are last. */
export function compareCells(a: string, b: string): number {
  const [x, y] = [numberOf(a), numberOf(b)]
  if (x !== null && y !== null) return x - y
  if (x !== null || y !== null) return x !== null ? -1 : 1
  return a.localeCompare(b, undefined, { numeric: true, sensitivity: 'base' })
}

/** The order of the rows by the cells of one column; rows with an empty cell are last in both directions. */
export function sortedBy(rows: Rows, column: number, descending: boolean): number[] {
  const cell = (i: number) => rows[i]![column]?.trim() ?? ''
  return rows.map((_, i) => i).sort((a, b) => {
    const [x, y] = [cell(a), cell(b)]
    if (x === '' || y === '') return x === y ? a - b : x === '' ? 1 : -1
    return (descending ? -compareCells(x, y) : compareCells(x, y)) || a - b
  })
}

export function numberOf(cell: string): number | null {
  const plain = cell.trim().replace(/^([-+−]?)\s*[$€£¥]/u, '$1').replace(/\s*[%€$£¥]$/u, '').replace(/^−/, '-').replace(/(?<=\d)[,  '](?=\d{3}(?:\D|$))/g, '')
  return /^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/i.test(plain) ? Number(plain) : null
}

/** Formulas that may load or start something. */
export const CALL = /^\s*(?:[=@＝＠]|[-+－＋].*(?:\p{L}[\p{L}\d._]*\s*\(|[|!]))/su

/** A formula gets an apostrophe in front, which makes it a text for spreadsheets. Others that begin with a sign, such as -/-, stay as they are. */
const inert = (cell: string) => (CALL.test(cell) ? `'${cell}` : cell)

/** Where a spreadsheet that separates cells by other signs may begin a cell, also after quotes: not at an item of a list. */
const OTHER_CELL = /(?<=[;\t]"*|[\n\r](?!\s*[-+] )"*)/

/** The rows as CSV (RFC 4180). No cell is a formula that may load or start something, also where a spreadsheet separates them by other signs. */
export function toCsv(rows: Rows): string {
  return rows.map((row) => row.map((cell) => {
    const safe = inert(cell).split(OTHER_CELL).map(inert).join('')
    return /[",\n\r]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe
  }).join(',')).join('\r\n')
}

/** The rows as an HTML table, for word processors and spreadsheets. No cell is a formula that may load or start something. */
export function toHtml([head = [], ...body]: Rows): string {
  const row = (cells: string[], tag: string) => `<tr>${cells.map((c) => `<${tag}>${escaped(inert(c))}</${tag}>`).join('')}</tr>`
  return `<table><thead>${row(head, 'th')}</thead><tbody>${body.map((r) => row(r, 'td')).join('')}</tbody></table>`
}

/** The name of a table, from its head. */
export const nameOf = (table: string, head: readonly string[] = []) => [table, cut(head.filter(Boolean).join(', '), 80)].filter(Boolean).join(': ')

/** Text as HTML. */
export function escaped(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')
}
