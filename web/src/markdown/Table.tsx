import type { Element, ElementContent, Root } from 'hast'
import { Children, cloneElement, isValidElement, useMemo, useState, type ReactElement, type ReactNode } from 'react'
import { useLabels } from '../state/tray'
import { nameOf, sortedBy, type Rows } from './grid'
import { Scroller } from './Scroller'
import { SortHead } from './SortHead'
import { TableFrame } from './TableFrame'
import { texOf } from './math'

type Parent = ReactElement<{ children?: ReactNode }>

/** A table of an answer. It can be sorted once it is complete. */
export function MarkdownTable({ node, streaming, children }: { node?: Element; streaming: boolean; children?: ReactNode }) {
  const labels = useLabels()
  const [sort, setSort] = useState<{ column: number; descending: boolean } | null>(null)
  const count = node ? bodyOf(node).length : 0
  const order = useMemo(() => (sort && node ? sortedBy(rowsOf(node).slice(1), sort.column, sort.descending) : null), [sort, node])
  // The first column names the rows: a narrow view scrolls rather than press it to a word a line.
  const wide = node && bodyOf(node).some((row) => textOf(under(row, 'td')[0]).length > LONG)
  const [head, body] = elements(children)
  const cells = elements(elements(head?.props.children)[0]?.props.children)
  const lines = elements(body?.props.children)
  return (
    <TableFrame title={labels.tableRows(count)} tools={!streaming} rows={() => (node ? rowsOf(node) : [])}>
      <Scroller className="ct-table" label={nameOf(labels.table, node && headOf(node).map(textOf))}>
        <table>
          <thead>
            <tr>
              {cells.map((cell, i) => {
                const name = textOf(head && node ? headOf(node)[i] : undefined)
                const own = cell.props as { children?: ReactNode; style?: { textAlign?: string } }
                const numeric = own.style?.textAlign === 'right'
                const now = sort?.column === i ? (sort.descending ? 'desc' : 'asc') : false
                return <SortHead key={i} order={now} numeric={numeric} centered={own.style?.textAlign === 'center'} long={name.length > LONG || (i === 0 && wide)} label={labels.sortBy(name || String(i + 1))} onSort={streaming || count < 2 ? undefined : () => setSort(now === 'desc' ? null : { column: i, descending: now === 'asc' })}>{own.children}</SortHead>
              })}
            </tr>
          </thead>
          {body && cloneElement(body, undefined, order ? order.map((i) => lines[i]) : lines)}
        </table>
      </Scroller>
    </TableFrame>
  )
}

/** The length in characters from which a column's head is wrapped, and the first column has room for words. */
const LONG = 20

function elements(children: ReactNode): Parent[] {
  return Children.toArray(children).filter((child): child is Parent => isValidElement(child))
}

function under(node: Element | undefined, name: string): Element[] {
  return (node?.children ?? []).filter((child): child is Element => child.type === 'element' && child.tagName === name)
}

function headOf(table: Element): Element[] {
  return under(under(under(table, 'thead')[0], 'tr')[0], 'th')
}

function bodyOf(table: Element): Element[] {
  return under(under(table, 'tbody')[0], 'tr')
}

/** The visible texts of the cells; for a formula, its TeX. */
function rowsOf(table: Element): Rows {
  return [headOf(table).map(textOf), ...bodyOf(table).map((row) => under(row, 'td').map(textOf))]
}

function textOf(node: Root | ElementContent | undefined): string {
  if (node?.type === 'text') return node.value
  if (node?.type !== 'element') return ''
  if (node.tagName === 'br') return '\n'
  if (typeof node.properties.alt === 'string') return node.properties.alt
  const text = node.children.map(textOf).join('')
  return node.tagName === 'code' ? (texOf(text)?.tex ?? text) : text
}
