import type { Block, DocumentApi, DocumentRecord } from '../api/documents'

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

/**
 * Undoes a decision. Accepted changes are undone in the service; the proposals
 * are pending again, with the present ids of their blocks.
 */
export async function undo(api: DocumentApi, documentId: string, decision: Decision): Promise<Proposal[]> {
  if (decision.kind === 'revert') return decision.proposals
  const back: Proposal[] = []
  if (decision.title) await api.rename(documentId, decision.title.old)
  const renamed = new Map<string, string>()
  for (const { block, after } of decision.proposals) {
    const place = renamed.get(after) ?? after
    let { id } = block
    if (block.state === 'pending_edit') await api.updateBlock(id, { content: block.current ?? '', ...(block.new_meta && { meta: block.meta ?? {} }), ...(block.new_position !== undefined && { after_block_id: place }) })
    else if (block.state === 'pending_new') await api.removeBlock(id)
    else if (block.state === 'pending_move') await api.updateBlock(id, { after_block_id: place })
    else {
      ;({ id } = await api.addBlock(documentId, { type: block.type, content: block.current ?? '', ...(block.meta && { meta: block.meta }), after_block_id: place }))
      renamed.set(block.id, id)
    }
    back.push({ block: { ...block, id }, after: place })
  }
  return back
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
  return all.filter((p) => !decided.includes(p)).map((p) => ({ ...p, after: placeOf(p.after, decided, ids) }))
}

/** The block after which something comes, where that may be a new one that the service does not have, or has with another id. */
function placeOf(after: string, proposals: readonly Proposal[], ids: ReadonlyMap<string, string>): string {
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

/** Applies a proposal of this page. It returns the block that it adds, if any. */
export async function apply(api: DocumentApi, documentId: string, { block, after }: Proposal, before: readonly Block[]): Promise<Block | void> {
  switch (block.state) {
    case 'pending_new':
      return api.addBlock(documentId, { type: block.type, content: block.new ?? '', ...(block.new_meta ?? block.meta ? { meta: block.new_meta ?? block.meta } : {}), after_block_id: after })
    case 'pending_edit':
      return void await api.updateBlock(block.id, { content: block.new ?? '', ...(block.new_meta && { meta: block.new_meta }), ...(block.new_position !== undefined && { after_block_id: targetOf(block, before) }) })
    case 'pending_delete':
      return void await api.removeBlock(block.id)
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
