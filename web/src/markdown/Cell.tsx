import type { ReactNode } from 'react'

/** The content of a table's cell in the direction of its text. Where that has no letters, such as a range of years, it has the direction of the table. */
export function Cell({ text, children }: { text: string; children: ReactNode }) {
  return /\p{L}/u.test(text) ? <span dir="auto">{children}</span> : children
}
