import type { Block } from '../api/documents'
import { cut } from '../state/values/cut'
import { targetOf } from './undo'

/** Where a block that is proposed to be moved goes: after another block, or to the front. */
export interface Place<B extends Block> {
  block: B
  after: B | undefined
}

/** The places that moves propose, by the index of the block before which each is shown; the last is after all blocks. */
export function placesOf<B extends Block>(blocks: readonly B[]): Map<number, Place<B>[]> {
  const places = new Map<number, Place<B>[]>()
  for (const block of blocks.filter(moves).sort((a, b) => (a.new_position! < b.new_position! ? -1 : 1))) {
    const to = block.new_position!
    const next = blocks.findIndex((b) => b.position > to)
    const at = next >= 0 ? next : blocks.findLastIndex((b) => b.position !== '') + 1
    const after = targetOf(block, blocks.filter((b) => b.position !== ''))
    places.set(at, [...(places.get(at) ?? []), { block, after: blocks.find((b) => b.id === after) }])
  }
  return places
}

const moves = (block: Block) => block.new_position !== undefined && (block.state === 'pending_move' || block.state === 'pending_edit')

/** The beginning of a block, without the marks of Markdown. */
export function firstWords(block: Block): string {
  return cut((block.new ?? block.current ?? '').slice(0, 200).replace(/[#*`_]/g, '').trim().split('\n')[0]!, 40)
}
