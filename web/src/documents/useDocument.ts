import { useEffect, useMemo } from 'react'
import type { Block, DocumentRecord } from '../api/documents'
import type { SocketFold } from '../socket/chunks'
import { useChatState } from '../state/context'
import { useEnd } from '../state/useEnd'
import type { LiveBlock } from './liveBlock'
import { isPlanned, movedUp, placeOf, withProposals, type Decision } from './undo'
import { useDecided } from './useDecided'
import { useDecisions } from './useDecisions'
import { useReading } from './useReading'
import { withChunks, withdrawnIn } from './withChunks'
import { noFrames, stepsOf, withdrawnBy, withRun } from './withRun'

export interface DocumentState {
  document: DocumentRecord | null
  /** Blocks in order, with the text that the current run writes into them. */
  blocks: LiveBlock[]
  /** How many changes wait for the user, without blocks that are only planned. */
  pending: number
  problem: string
  loading: boolean
  /** Whether the user, here or elsewhere, withdrew what the newest run was writing. */
  withdrawn: boolean
  reload: () => Promise<void>
  /** The following functions report whether they succeeded; `problem` has the reason if not. */
  accept: (block: Block) => Promise<boolean>
  revert: (block: Block) => Promise<boolean>
  acceptAll: () => Promise<boolean>
  revertAll: () => Promise<boolean>
  edit: (block: Block, content: string) => Promise<boolean>
  remove: (block: Block) => Promise<boolean>
  move: (block: Block, afterId: string) => Promise<boolean>
  add: (type: string, content: string, afterId?: string) => Promise<boolean>
  rename: (title: string) => Promise<boolean>
  /** The last decision, which can still be undone; null when there is none. */
  undoable: Decision['kind'] | null
  /** Undoes the last decision: its changes are pending again. It does nothing while `undoing`. */
  undo: () => Promise<boolean>
  /** Whether a decision is being undone: the next one waits until the document has been read again. */
  undoing: boolean
}

/** A document with its blocks, kept up to date with the chat's run, and with what a socket shows. */
export function useDocument(id: string | null, view?: SocketFold): DocumentState {
  const { run, isLoading } = useChatState()
  const told = view?.steps ?? 0
  const reading = useReading(id, run, told)
  const { place: { api }, read, problem, loading, reload, act } = reading
  const document = read?.document ?? null

  // The document may have changed when a tool begins or ends, or a block is closed.
  const step = run ? stepsOf(run) : ''
  useEffect(() => {
    if (step !== '') void reload()
  }, [step, reload])
  useEffect(() => {
    if (told > 0) void reload()
  }, [told, reload])
  useEnd(isLoading, () => void reload())

  const decided = useDecided(document)
  const { change, revision, decided: { proposals, title } } = decided
  // Another pane has changed the document.
  const isOld = document !== null && document.revision < revision
  useEffect(() => {
    if (isOld) void reload()
  }, [isOld, revision, reload])
  const proposed = useMemo(() => withProposals(document, proposals, title), [document, proposals, title])
  // What a run does not write stays the same object, so that it is not drawn with each of its frames.
  const still = useMemo(() => (proposed?.blocks ?? []).map((b) => ({ ...b, writing: false })), [proposed])
  const blocks = useMemo(() => withChunks(withRun(still, proposed, run, read?.frames ?? noFrames), proposed, view, read?.steps ?? 0), [proposed, still, run, view, read])
  const { pending, here, decideOne, decideAll, ...undo } = useDecisions(reading, decided, proposed, blocks)
  const isWritten = ({ id: block }: Block) => blocks.some((b) => b.id === block && b.writing)
  return {
    document: proposed, blocks, problem, loading, reload,
    withdrawn: withdrawnIn(view, id) || (run !== null && withdrawnBy(run)),
    pending: pending.filter((p) => !isPlanned(p.block)).length + (proposed?.new_title ? 1 : 0),
    accept: (b) => decideOne('accept', b),
    // Its revision changes while it is written, and an unfinished text need not be restored.
    revert: (b) => (isWritten(b) ? act(() => api.revert(b.id)) : decideOne('revert', b)),
    acceptAll: () => decideAll('accept'),
    revertAll: () => decideAll('revert'),
    ...undo,
    edit: (b, content) => act(() => api.updateBlock(b.id, { content }, b.revision)),
    remove: (b) => act(() => api.removeBlock(b.id, isWritten(b) ? undefined : b.revision)),
    // The service does not have the blocks that only this page proposes.
    move: (b, after) => {
      const at = blocks.findIndex((other) => other.id === b.id)
      const above = at > 0 && (blocks[at - 2]?.id ?? '') === after ? here(blocks[at - 1]!) : undefined
      if (above?.block.state !== 'pending_new') return act(() => api.updateBlock(b.id, { after_block_id: placeOf(after, proposals, new Map()) }, b.revision))
      change((now) => ({ proposals: movedUp(now.proposals, b.id, above) }))
      return Promise.resolve(true)
    },
    add: (type, content, after) => act(() => api.addBlock(id ?? '', { type, content, ...(after !== undefined && { after_block_id: after }) })),
    rename: (name) => act(() => api.rename(id ?? '', name)),
  }
}
