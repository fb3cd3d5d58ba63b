import { useState } from 'react'

/** A state that begins again when what it is of changes. */
export function useStateOf<T>(of: unknown, first: T): [T, (value: T) => void] {
  const [held, hold] = useState({ of, value: first })
  if (held.of !== of) hold({ of, value: first })
  // What it was of before is over.
  return [held.value, (value) => hold((last) => (last.of === of ? { of, value } : last))]
}
