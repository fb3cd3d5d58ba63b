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
  /** The earlier title, if a new title was decided too. */
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

/** Applies a proposal of this page. */
export async function apply(api: DocumentApi, documentId: string, { block, after }: Proposal, before: readonly Block[]): Promise<unknown> {
  switch (block.state) {
    case 'pending_new':
      return api.addBlock(documentId, { type: block.type, content: block.new ?? '', ...(block.new_meta ?? block.meta ? { meta: block.new_meta ?? block.meta } : {}), after_block_id: after })
    case 'pending_edit':
      return api.updateBlock(block.id, { content: block.new ?? '', ...(block.new_meta && { meta: block.new_meta }), ...(block.new_position !== undefined && { after_block_id: targetOf(block, before) }) })
    case 'pending_delete':
      return api.removeBlock(block.id)
    case 'pending_move':
      return api.updateBlock(block.id, { after_block_id: targetOf(block, before) })
    default:
      return undefined
  }
}

/** The block after which a moved one comes. */
export function targetOf(block: Block, blocks: readonly Block[]): string {
  const to = block.new_position ?? block.position
  return blocks.filter((b) => b.id !== block.id && b.position < to).sort((a, b) => (a.position < b.position ? -1 : 1)).at(-1)?.id ?? ''
}

/** The document with the proposals of this page; the service's proposals for a block take precedence. */
export function withProposals(document: DocumentRecord | null, proposals: readonly Proposal[]): DocumentRecord | null {
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
