import { createSortedRowModel, rowSortingFeature, tableFeatures, useTable, type ColumnDef } from '@tanstack/react-table'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useLayoutEffect, useMemo, useRef } from 'react'
import { useLabels } from '../state/tray'
import { isNumeric } from './columns'
import { compareCells, type Rows } from './grid'
import { Scroller } from './Scroller'
import { SortHead } from './SortHead'

const features = tableFeatures({ rowSortingFeature, sortedRowModel: createSortedRowModel() })

/** The number of rows from which only those in view are rendered. */
const VIRTUAL = 100
/** The height of a row, in pixels, until one is rendered. */
const ROW = 34

/** A sortable table of text that renders only the rows in view. */
export default function DataGrid({ rows, label }: { rows: Rows; label: string }) {
  const labels = useLabels()
  const grid = useRef<HTMLTableElement>(null)
  const [head = [], body] = useMemo(() => [rows[0], rows.slice(1)], [rows])
  const columns = useMemo<ColumnDef<typeof features, string[]>[]>(() => head.map((name, i) => ({
    id: String(i), header: name, accessorFn: (row) => row[i]?.trim() || undefined, sortUndefined: 'last', sortFn: (a, b, id) => compareCells(String(a.getValue(id)), String(b.getValue(id))),
  })), [head])
  const numeric = useMemo(() => head.map((_, i) => isNumeric(body, i)), [head, body])
  const table = useTable({ features, data: body, columns, enableSortingRemoval: true })
  const { rows: sorted } = table.getRowModel()
  const virtual = sorted.length > VIRTUAL
  const height = useRef(ROW)
  const list = useVirtualizer({ count: virtual ? sorted.length : 0, getScrollElement: () => grid.current?.parentElement ?? null, estimateSize: () => height.current, overscan: 12 })
  // It follows the font and the theme. With another height for the rows out of view, those in view would move as they are scrolled.
  useLayoutEffect(() => {
    const now = virtual && grid.current?.querySelector('tbody [aria-rowindex]')?.getBoundingClientRect().height
    if (!now || now === height.current) return
    height.current = now
    list.measure()
  })
  const items = list.getVirtualItems()
  const shown = virtual ? items.map((item) => sorted[item.index]!) : sorted
  const above = items[0]?.start ?? 0
  const below = virtual ? list.getTotalSize() - (items.at(-1)?.end ?? 0) : 0
  return (
    <Scroller className="ct-table ct-grid" label={label}>
      <table ref={grid} aria-rowcount={rows.length} data-virtual={virtual || undefined}>
        <thead>
          <tr>
            {table.getHeaderGroups()[0]?.headers.map((header, i) => {
              const order = header.column.getIsSorted()
              return <SortHead key={header.id} order={order} numeric={numeric[i]} label={labels.sortBy(head[i] || String(i + 1))} onSort={() => header.column.toggleSorting(order === false ? false : order === 'asc' ? true : undefined)}>{head[i]}</SortHead>
            })}
          </tr>
        </thead>
        <tbody>
          {above > 0 && <tr aria-hidden="true"><td colSpan={head.length} style={{ height: above }} className="ct-grid-space" /></tr>}
          {shown.map((row) => (
            <tr key={row.id} aria-rowindex={Number(row.id) + 2}>{head.map((_, i) => <td key={i} data-numeric={numeric[i] || undefined}>{row.original[i]}</td>)}</tr>
          ))}
          {below > 0 && <tr aria-hidden="true"><td colSpan={head.length} style={{ height: below }} className="ct-grid-space" /></tr>}
        </tbody>
      </table>
    </Scroller>
  )
}
