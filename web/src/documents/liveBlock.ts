import type { Block } from '../api/documents'

export interface LiveBlock extends Block {
  /** Set while the model writes into it. */
  writing: boolean
  /** Set while the block is only planned. */
  planned?: boolean
}

/** Withdraws the text that was written into the block at an index; a new block is removed. */
export function withdraw(blocks: LiveBlock[], at: number): void {
  const block = blocks[at]
  if (!block) return
  if (block.current === undefined) blocks.splice(at, 1)
  else blocks[at] = { ...block, new: undefined, new_meta: undefined, new_position: undefined, state: 'clean', writing: false, planned: false }
}
