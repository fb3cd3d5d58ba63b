import { expect, it } from 'vitest'
import { keep, readKept } from '../src/documents/keptDecisions'
import type { Decision } from '../src/documents/undo'

it('keeps the newest decisions that have room, and writes none more than twice', () => {
  let written = 0
  const decision = (id: string, length: number): Decision => ({ kind: 'accept', proposals: [{ after: '', block: { id, type: 'md', new: 'x'.repeat(length), state: 'pending_new', position: '', revision: 1, toJSON() {
    written++
    return { id, length: 'x'.repeat(length) }
  } } as Decision['proposals'][0]['block'] }] })
  const kept = () => readKept('key', 1).decisions.map((d) => d.proposals[0]!.block.id)
  const small = Array.from({ length: 9 }, (_, i) => decision(`small${i}`, 100))
  keep('key', 1, { proposals: [], title: '', decisions: [decision('large', 2_000_000), ...small] })
  expect(kept()).toEqual(small.map((d) => d.proposals[0]!.block.id))
  written = 0
  keep('key', 1, { proposals: [], title: 'New', decisions: [...small, decision('large', 2_000_000)] })
  expect(written).toBeLessThan(3)
  expect(kept()).toEqual([])
  expect(readKept('key', 1).title).toBe('New')
  keep('key', 1, { proposals: decision('large', 2_000_000).proposals, title: '', decisions: small })
  expect(sessionStorage.getItem('key')).toBeNull()
})
