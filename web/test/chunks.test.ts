import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { SocketChunk } from '../src/api/types'
import { CHUNK_LIMITS, emptySocketFold, foldChunk, type SocketFold } from '../src/socket/chunks'

// The same table as Go's tests.
const rows = JSON.parse(readFileSync('../app/apptest/chunks/testdata/fold.json', 'utf8')) as { name: string; chunks: SocketChunk[]; want: unknown }[]

/** Without empty values, which the two languages write differently. */
function pruned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(pruned)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, v]) => [key, pruned(v)] as const).filter(([, v]) => v !== '' && v !== null && v !== undefined && !(typeof v === 'object' && Object.keys(v as object).length === 0)))
}

const foldAll = (chunks: SocketChunk[], from: SocketFold = emptySocketFold) => chunks.reduce(foldChunk, from)

describe('the table of chunks', () => {
  it('has its rows', () => expect(rows.length).toBeGreaterThanOrEqual(30))
  it.each(rows)('$name', ({ chunks, want }) => {
    const frozen = JSON.stringify(chunks)
    expect(pruned(JSON.parse(JSON.stringify(foldAll(chunks))))).toEqual(want)
    expect(JSON.stringify(chunks)).toBe(frozen)
  })
  it.each(rows)('$name, all of it twice', ({ chunks }) => {
    const once = foldAll(chunks)
    if (once.runs.length === 1) expect(foldAll(chunks, once)).toEqual(once)
  })
})

it('keeps a limited number, and all that are running', () => {
  let fold = emptySocketFold
  fold = foldChunk(fold, { type: 'status', content: 'x', run_id: 'open', chat_id: 'c', seq: 1 })
  for (let i = 0; i < CHUNK_LIMITS.runs + 5; i++) {
    fold = foldChunk(fold, { type: 'md', block_ids: `b${i}`, content: 'x', run_id: `r${i}`, seq: 1 })
    fold = foldChunk(fold, { type: 'run_end', run_id: `r${i}`, status: 'completed', seq: 2 })
  }
  expect(fold.runs.length).toBe(CHUNK_LIMITS.runs)
  expect(fold.runs[0]!.run_id).toBe('open')
  for (let i = 0; i < CHUNK_LIMITS.blocks + 50; i++) fold = foldChunk(fold, { type: 'md', block_ids: `x${i}`, content: 'x', end: i % 2 === 1, run_id: 'open', seq: 10 + i })
  expect(Object.keys(fold.blocks).length).toBeLessThanOrEqual(CHUNK_LIMITS.blocks)
})
