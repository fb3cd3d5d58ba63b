import type { ReactNode } from 'react'
import { SortIcon } from '../components/icons'

/** The head of a column, with a button that sorts by it if there is something to sort. */
export function SortHead({ order, numeric, centered, long, label, onSort, children }: { order: 'asc' | 'desc' | false; numeric?: boolean; centered?: boolean; long?: boolean; label: string; onSort?: () => void; children: ReactNode }) {
  return (
    <th scope="col" data-numeric={numeric || undefined} data-centered={centered || undefined} data-long={long || undefined} aria-sort={order === 'asc' ? 'ascending' : order === 'desc' ? 'descending' : undefined}>
      <span className="ct-sort-head">
        <span>{children}</span>
        {onSort && <button type="button" className="ct-sort" data-order={order || undefined} onClick={onSort} aria-label={label} title={label}><SortIcon /></button>}
      </span>
    </th>
  )
}
