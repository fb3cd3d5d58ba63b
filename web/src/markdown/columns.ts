import { numberOf, type Rows } from './grid'

/** Whether a column has only numbers and empty cells. */
export function isNumeric(rows: Rows, column: number): boolean {
  let some = false
  for (const row of rows) {
    const cell = row[column]?.trim() ?? ''
    if (cell === '' || cell === '–' || cell === '-') continue
    if (numberOf(cell) === null) return false
    some = true
  }
  return some
}
