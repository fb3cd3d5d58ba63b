import { useRef, useState } from 'react'
import type { Block, DocumentRecord } from '../api/documents'
import type { LiveBlock } from './liveBlock'
import type { useDecided } from './useDecided'
import type { useReading } from './useReading'
import { applyAll, isPlanned, pendingOf, renamed, settleAll, showsAccepted, undo, without, type Decision, type Proposal } from './undo'

/** Decisions that can be undone, one after the other. */
const MAX_DECISIONS = 50

/** Accepts, reverts, and undoes that. Each change is decided about once; proposals of this page are carried out here, the others by the service. */
export function useDecisions({ place: { id, api }, read, act }: ReturnType<typeof useReading>, { decided, change, keepNow }: ReturnType<typeof useDecided>, proposed: DocumentRecord | null, blocks: readonly LiveBlock[]) {
  const document = read?.document
  const { proposals, decisions, title } = decided
  const pending = pendingOf(proposed?.blocks ?? [])
  const deciding = useRef(new Set<string>())
  const [undoing, setUndoing] = useState(false)
  /** The proposal of this page for a block. */
  const here = (block: Block) => proposals.find((p) => p.block.id === block.id && (document?.blocks ?? []).every((b) => b.id !== block.id || b.state === 'clean'))
  /** Until something is done, nothing else is decided about these: blocks, the document whose changes are all decided, or UNDO. */
  const once = (ids: string[], doing: () => Promise<boolean>) => {
    ids.forEach((one) => deciding.current.add(one))
    return doing().finally(() => ids.forEach((one) => deciding.current.delete(one)))
  }
  const carryOut = (decision: Decision, service: (() => Promise<unknown>) | null) => act(async () => {
    const own = decision.proposals.flatMap((p) => here(p.block) ?? [])
    await service?.()
    const ids = new Map<string, string>()
    const done: Proposal[] = decision.kind === 'accept' ? [] : own
    try {
      if (decision.kind === 'accept') await applyAll(api, id ?? '', own, proposals, document?.blocks ?? [], ids, done)
      if (decision.title) {
        if (decision.kind === 'accept' && !document?.new_title) await api.rename(id ?? '', decision.title.proposed)
        change(() => ({ title: '' }))
      }
    } finally {
      change((now) => ({ proposals: without(now.proposals, done, ids) }))
    }
    // A second click may decide about nothing more, which cannot be undone.
    if (decision.proposals.length > 0 || decision.title) change((now) => ({ decisions: [...now.decisions, renamed(decision, ids)].slice(-MAX_DECISIONS) }))
  })
  const decideOne = (kind: Decision['kind'], block: Block) => {
    if (deciding.current.has(block.id) || (kind === 'accept' && isPlanned(block))) return Promise.resolve(false)
    const one = pending.filter((p) => p.block.id === block.id)
    return once(one.map((p) => p.block.id), () => carryOut({ kind, proposals: one }, here(block) ? null : () => api[kind](block.id, block.revision)))
  }
  const decideAll = (kind: Decision['kind']) => {
    const all = id ?? ''
    if (deciding.current.has(all)) return Promise.resolve(false)
    const { title: old, new_title: next } = proposed ?? {}
    const writing = new Set(blocks.filter((b) => b.writing).map((b) => b.id))
    // An unfinished block cannot be proposed again.
    const whole = pending.filter((p) => !writing.has(p.block.id) && !deciding.current.has(p.block.id) && (kind === 'revert' || !isPlanned(p.block)))
    const decision: Decision = { kind, proposals: whole, ...(old !== undefined && next && next !== old && { title: { old, proposed: next } }) }
    return once([all, ...whole.map((p) => p.block.id)], () => carryOut(decision, () => settleAll(api, kind, { ...document!, blocks: [...blocks] }, writing.size > 0)))
  }
  const takeBack = async () => {
    const last = decisions.at(-1)
    if (!last || !id || !document || deciding.current.has(UNDO)) return false
    const back = [...proposals]
    const left = [...last.proposals]
    let whole = false
    const and = (all: readonly Proposal[]) => {
      const again = back.slice(proposals.length)
      return [...all.filter((p) => again.every((b) => b.block.id !== p.block.id)), ...again]
    }
    // The page may be left before the end.
    const step = () => keepNow({ proposals: and(proposals), decisions: [], title: last.title?.proposed ?? title })
    setUndoing(true)
    return once([UNDO], () => act(async () => {
      try {
        // The page may not have read yet what was decided.
        const now = last.kind === 'revert' || showsAccepted(document, last) ? document : await api.get(id)
        await undo(api, id, last, back, left, now, step)
        whole = true
      } finally {
        // What failed is undone with the next try.
        change((now) => ({
          ...(whole && last.title && { title: last.title.proposed }), proposals: and(now.proposals),
          decisions: now.decisions.flatMap((d) => (d !== last ? d : whole ? [] : { ...last, proposals: left })),
        }))
      }
    })).finally(() => setUndoing(false))
  }
  return { pending, here, decideOne, decideAll, undoable: decisions.at(-1)?.kind ?? null, undo: takeBack, undoing }
}

/** The id of an undo among those that are being decided. No block has it. */
const UNDO = ' undo'
