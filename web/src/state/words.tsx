import { createContext, useContext, useMemo, useState, type ReactNode } from 'react'
import type { Labels } from '../labels/tray'
import { same } from './same'

/** Words that differ from the package's own, which are loaded only with what shows them. */
export const Words = createContext<Partial<Labels>>({})

/** Provides words to the components below it; missing ones are inherited. */
export function LabelsProvider({ labels, children }: { labels?: Partial<Labels>; children: ReactNode }) {
  const above = useContext(Words)
  // A page may write its words into its markup, which makes a new object at each render.
  const [own, setOwn] = useState(labels)
  if (!same(own, labels)) setOwn(labels)
  const all = useMemo(() => (own ? { ...above, ...own } : above), [above, own])
  return <Words.Provider value={all}>{children}</Words.Provider>
}
