import type { DocumentRecord } from '../api/documents'
import { keepText, keptText } from '../state/kept'
import type { Decision, Proposal } from './undo'

/** What the page itself knows of a document: proposals that the service no longer has, and decisions that can be undone. */
export interface Decided {
  proposals: readonly Proposal[]
  decisions: readonly Decision[]
  /** A title that is proposed again; empty if none is. */
  title: string
}

export const nothingDecided: Decided = { proposals: [], decisions: [], title: '' }

/** Characters of one document that are kept over a reload; a browser keeps about five million for a whole page. */
const MAX_KEPT = 1_000_000

const version = 1

/** The key of a document in the tab's storage; empty when nothing is stored. `name` is the beginning of the store's keys. */
export function keyOf(name: string, document: DocumentRecord): string {
  return name && `${name}:decisions:${JSON.stringify([document.owner ?? '', document.id])}`
}

/** Keeps over a reload what the page knows of a document. What is too large loses its oldest decisions, then its proposals. */
export function keep(key: string, revision: number, { proposals, decisions, title }: Decided): void {
  const kept = { version, revision, proposals, title, decisions: [] as Decision[] }
  let room = MAX_KEPT - JSON.stringify(kept).length
  const fits = room >= 0
  for (const decision of decisions.toReversed()) {
    room -= JSON.stringify(decision).length + 1
    if (room < 0) break
    kept.decisions.unshift(decision)
  }
  const some = proposals.length + decisions.length > 0 || title !== ''
  keepText('sessionStorage', key, some && fits ? JSON.stringify(kept) : null)
}

/**
 * What was kept of a document. Its decisions can be undone only while the document is as it was: an undo must not
 * overwrite what has changed since. Proposals are read anyway, since the user decides about them. Without a revision it is what
 * another pane of the same page has kept.
 */
export function readKept(key: string, revision?: number): Decided {
  try {
    const kept = JSON.parse(keptText('sessionStorage', key) ?? '{}') as Partial<Decided & { version: number; revision: number }>
    if (kept.version !== version) return nothingDecided
    return { proposals: kept.proposals ?? [], decisions: revision === undefined || kept.revision === revision ? (kept.decisions ?? []) : [], title: kept.title ?? '' }
  } catch {
    return nothingDecided
  }
}
