import type { DocumentRecord } from '../api/documents'
import type { Props } from '../api/types'
import type { SocketBlock, SocketFold } from '../socket/chunks'
import { withdraw, type LiveBlock } from './liveBlock'

/**
 * Overlays a document's blocks with the state of a socket. `read` is the step
 * of the socket at which the blocks were read: texts that had ended by then are
 * already in them.
 */
export function withChunks(blocks: LiveBlock[], document: DocumentRecord | null, view: SocketFold | undefined, read: number): LiveBlock[] {
  if (!view || !document) return blocks
  const shown = [...blocks]
  for (const written of Object.values(view.blocks)) {
    if (written.document_id !== document.id || ((written.state === 'done' || written.state === 'withdrawn') && written.step <= read)) continue
    const at = shown.findIndex((b) => b.id === written.id)
    const old = shown[at]
    if (written.state === 'withdrawn') {
      withdraw(shown, at)
    } else if (written.state === 'planned') {
      if (old && !old.new) shown[at] = { ...old, planned: true }
    } else if (old) {
      shown[at] = { ...old, ...proposalOf(written), state: old.current === undefined ? 'pending_new' : 'pending_edit', planned: false }
    } else {
      shown.push({ id: written.id, position: '', revision: 0, state: 'pending_new', ...proposalOf(written) })
    }
  }
  return shown
}

/** Whether what the newest run of a socket wrote into a document was withdrawn. */
export function withdrawnIn(view: SocketFold | undefined, documentId: string | null): boolean {
  const newest = view?.runs.at(-1)?.run_id
  return Object.values(view?.blocks ?? {}).some((b) => b.state === 'withdrawn' && b.document_id === documentId && b.run_id === newest)
}

function proposalOf({ type, content, meta, state }: SocketBlock) {
  const header = objectOf(meta)
  return { type, new: content, writing: state === 'writing', ...(header && { new_meta: header }) }
}

function objectOf(json: string): Props | undefined {
  if (!json) return undefined
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Props) : undefined
  } catch {
    return undefined
  }
}
