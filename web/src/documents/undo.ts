import type { Block, DocumentApi, DocumentRecord } from '../api/documents'
import { ApiError } from '../api/errors'

/**
 * A change that is proposed only in this page, after its decision was undone:
 * the service no longer has it. `after` is the block before it, empty at the
 * front.
 */
export interface Proposal {
  block: Block
  after: string
}

/** A decision that can be undone. */
export interface Decision {
  kind: 'accept' | 'revert'
  proposals: Proposal[]
  /** The earlier and the proposed title, if a new title was decided too. */
  title?: { old: string; proposed: string }
}

/** The pending changes of a document. */
export function pendingOf(blocks: readonly Block[]): Proposal[] {
  return blocks.flatMap((block, i) => (block.state === 'clean' ? [] : [{ block, after: blocks[i - 1]?.id ?? '' }]))
}

/** Whether a block is only planned: it is accepted once it has content. */
export const isPlanned = (block: Block): boolean => block.state === 'pending_new' && !block.new && (!block.meta || 'plan' in block.meta)

/**
 * Undoes a decision. Accepted changes are undone in the service; the proposals are pending again, with the present ids of their
 * blocks. `now` is the document as it was read: what has changed since the decision, or has another change that waits, is left
 * as it is. It adds to `back`, the proposals of the page, what is pending again, and takes from `left` what it has undone, also
 * where it fails; `step` is called after each of them.
 */
export async function undo(api: DocumentApi, documentId: string, decision: Decision, back: Proposal[] = [], left: Proposal[] = [...decision.proposals], now?: DocumentRecord, step = () => {}): Promise<Proposal[]> {
  if (decision.kind === 'revert') {
    back.push(...left.splice(0))
    return back
  }
  if (decision.title && (!now || now.title === decision.title.proposed)) await api.rename(documentId, decision.title.old)
  const stored = now && new Map(now.blocks?.map((b) => [b.id, b]))
  for (; left.length > 0; left.shift()) {
    const { block, after } = left[0]!
    const place = placeOf(after, back, new Map())
    const put = !stored || place === '' || stored.has(place) ? { after_block_id: place } : {}
    const here = stored?.get(block.id)
    const match = here ? [here.revision] as const : []
    let { id } = block
    if (block.state === 'pending_new') {
      if (here && isChanged(here, block)) continue
      if (here || !stored) await api.removeBlock(id, ...match)
      stored?.delete(id)
    } else if (block.state === 'pending_delete') {
      ;({ id } = await api.addBlock(documentId, { type: block.type, content: block.current ?? '', ...(block.meta && { meta: block.meta }), ...put }))
      stored?.set(id, block)
      left.forEach((p, i) => p.after === block.id && (left[i] = { ...p, after: id }))
    } else {
      if (stored && (!here || isChanged(here, block))) continue
      const content = block.state === 'pending_edit' && { content: block.current ?? '', ...(block.new_meta && { meta: block.meta ?? {} }) }
      await api.updateBlock(id, { ...content, ...((block.new_position !== undefined || !content) && put) }, ...match)
    }
    back.push({ block: { ...block, id }, after })
    step()
  }
  return back
}

/** Whether a document shows what a decision has accepted; not if it was read before, or has changed since. */
export function showsAccepted({ title: now, blocks = [] }: DocumentRecord, { title, proposals }: Decision): boolean {
  return (!title || now === title.proposed) && proposals.every(({ block }) => {
    const here = blocks.find((b) => b.id === block.id)
    return block.state === 'pending_delete' ? !here : here && !isChanged(here, block)
  })
}

/** Whether a block is no longer as it was when its change was accepted. */
function isChanged(here: Block, accepted: Block): boolean {
  return here.state !== 'clean' || here.current !== (accepted.new ?? accepted.current)
}

/**
 * Decides about all pending changes of a document in the service, unless it has some that the page does not show: `shown` is what
 * it shows. While this page's run writes, the document changes with each piece, and nothing is compared.
 */
export async function settleAll(api: DocumentApi, kind: Decision['kind'], shown: DocumentRecord, writing: boolean): Promise<unknown> {
  const settle = kind === 'accept' ? api.acceptAll : api.revertAll
  try {
    return await settle(shown.id, writing ? undefined : shown.revision)
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 412) throw error
    const now = await api.get(shown.id)
    // What is dropped need not have been read to its end. What this page's run has written is shown before it is read.
    const isShown = (block: Block) => shown.blocks?.some((b) => b.id === block.id && b.state !== 'clean' && (kind === 'revert' || b.revision === block.revision || (b.state === block.state && b.new === block.new)))
    if (now.new_title !== shown.new_title || now.blocks?.some((b) => b.state !== 'clean' && !isShown(b))) throw error
    return settle(shown.id, now.revision)
  }
}

/**
 * Applies proposals of this page, which are some of `all`. It adds to `ids` what takes the place of a block, the id that a new
 * one gets or the block before a removed one, and to `done` the proposals that it has applied, also where it fails.
 */
export async function applyAll(api: DocumentApi, documentId: string, some: readonly Proposal[], all: readonly Proposal[], before: readonly Block[], ids: Map<string, string>, done: Proposal[]): Promise<void> {
  for (const proposal of some) {
    const { block } = proposal
    const after = placeOf(proposal.after, all, ids)
    const made = await apply(api, documentId, { block, after }, before)
    if (made ?? block.state === 'pending_delete') ids.set(block.id, made?.id ?? after)
    done.push(proposal)
  }
}

/** The proposals without some that were decided: what came after one of these comes after its block, or else where it was. */
export function without(all: readonly Proposal[], decided: readonly Proposal[], ids: ReadonlyMap<string, string>): Proposal[] {
  // Another decision, which has ended meanwhile, may have made others of them.
  return all.filter((p) => decided.every((d) => d.block.id !== p.block.id)).map((p) => ({ ...p, after: placeOf(p.after, decided, ids) }))
}

/** The proposals after a block has moved up before a new one, which only this page proposes. */
export function movedUp(all: readonly Proposal[], id: string, before: Proposal): Proposal[] {
  const at = all.indexOf(before)
  return all.map((p, i) => (p === before ? { ...p, after: id } : i > at && p.after === id ? { ...p, after: before.block.id } : p))
}

/** The block after which something comes, where that may be a new one that the service does not have, or has with another id. */
export function placeOf(after: string, proposals: readonly Proposal[], ids: ReadonlyMap<string, string>): string {
  const made = ids.get(after)
  const before = proposals.find((p) => p.block.id === after && p.block.state === 'pending_new')
  return made ?? (before ? placeOf(before.after, proposals.filter((p) => p !== before), ids) : after)
}

/** A decision with the ids that its new blocks got. */
export function renamed(decision: Decision, ids: ReadonlyMap<string, string>): Decision {
  const made = new Set(decision.proposals.flatMap(({ block }) => (block.state === 'pending_new' ? block.id : [])))
  const now = (id: string) => (made.has(id) && ids.get(id)) || id
  return { ...decision, proposals: decision.proposals.map(({ block, after }) => ({ block: { ...block, id: now(block.id) }, after: now(after) })) }
}

/** Applies a proposal of this page to what the user has seen before it. It returns the block that it adds, if any. */
export async function apply(api: DocumentApi, documentId: string, { block, after }: Proposal, before: readonly Block[]): Promise<Block | void> {
  const seen = before.find((b) => b.id === block.id)?.revision
  switch (block.state) {
    case 'pending_new':
      return api.addBlock(documentId, { type: block.type, content: block.new ?? '', ...(block.new_meta ?? block.meta ? { meta: block.new_meta ?? block.meta } : {}), after_block_id: after })
    case 'pending_edit':
      return void await api.updateBlock(block.id, { content: block.new ?? '', ...(block.new_meta && { meta: block.new_meta }), ...(block.new_position !== undefined && { after_block_id: targetOf(block, before) }) }, seen)
    case 'pending_delete':
      return void await api.removeBlock(block.id, seen)
    case 'pending_move':
      return void await api.updateBlock(block.id, { after_block_id: targetOf(block, before) })
    default:
      return undefined
  }
}

/** The block after which a moved one comes. */
export function targetOf(block: Block, blocks: readonly Block[]): string {
  const to = block.new_position ?? block.position
  return blocks.filter((b) => b.id !== block.id && b.position < to).sort((a, b) => (a.position < b.position ? -1 : 1)).at(-1)?.id ?? ''
}

/** The document with the proposals of this page, and its title if that is another one; the service's proposals for a block and the title take precedence. */
export function withProposals(document: DocumentRecord | null, proposals: readonly Proposal[], title = ''): DocumentRecord | null {
  if (document && title && !document.new_title && title !== document.title) document = { ...document, new_title: title }
  if (!document || proposals.length === 0) return document
  const blocks = [...(document.blocks ?? [])]
  for (const { block, after } of proposals) {
    const at = blocks.findIndex((b) => b.id === block.id)
    const now = blocks[at]
    if (now) {
      if (now.state === 'clean') blocks[at] = { ...now, state: block.state, new: block.new, new_meta: block.new_meta, new_position: block.new_position }
    } else if (block.state === 'pending_new') {
      blocks.splice(blocks.findIndex((b) => b.id === after) + 1, 0, { ...block, current: undefined })
    }
  }
  return { ...document, blocks }
}
