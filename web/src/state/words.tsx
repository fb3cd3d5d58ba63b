import { createContext, useContext, useMemo, type ReactNode } from 'react'
import type { Labels } from '../labels/tray'

/** Words that differ from the package's own, which are loaded only with what shows them. */
export const Words = createContext<Partial<Labels>>({})

/** Provides words to the components below it; missing ones are inherited. */
export function LabelsProvider({ labels, children }: { labels?: Partial<Labels>; children: ReactNode }) {
  const above = useContext(Words)
  const all = useMemo(() => (labels ? { ...above, ...labels } : above), [above, labels])
  return <Words.Provider value={all}>{children}</Words.Provider>
}
