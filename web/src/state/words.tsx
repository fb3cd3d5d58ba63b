import { createContext, useContext, useMemo, useState, type ReactNode } from 'react'
import type { Labels } from '../labels/tray'
import { same } from './values/same'

/** Words that differ from the package's own, which are loaded only with what shows them. */
export const Words = createContext<Partial<Labels>>({})

/** The package's words, replaced by those of the page. Where a function of the page throws, the package's own is called instead. */
export function wordsOf<T extends Partial<Labels>>(usual: T, own: Partial<Labels>): T {
  const all: Record<string, unknown> = { ...usual }
  for (const [name, word] of Object.entries(own)) {
    const instead = all[name]
    all[name] = typeof word !== 'function' || typeof instead !== 'function' ? word : (...given: unknown[]) => {
      try {
        return (word as (...all: unknown[]) => unknown).apply(all, given)
      } catch (error) {
        console.error(error)
        return instead(...given)
      }
    }
  }
  return all as T
}

/** Provides words to the components below it; missing ones are inherited. */
export function LabelsProvider({ labels, children }: { labels?: Partial<Labels>; children: ReactNode }) {
  const above = useContext(Words)
  // A page may write its words into its markup, which makes a new object at each render.
  const [own, setOwn] = useState(labels)
  if (!same(own, labels)) setOwn(labels)
  const all = useMemo(() => (own ? { ...above, ...own } : above), [above, own])
  return <Words.Provider value={all}>{children}</Words.Provider>
}
