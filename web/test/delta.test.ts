import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { MessageFrame, Props } from '../src/api/types'
import { applyDelta, emptyFold, fold, Refused } from '../src/state/values/delta'

// The same tables as Go's tests.
const table = <T>(name: string) => JSON.parse(readFileSync(`../app/apptest/delta/testdata/${name}`, 'utf8')) as T[]

interface Row {
  name: string
  props: Props
  path?: string
  action?: string
  frame?: Props
  frame_json?: string
  want?: Props
  depth?: number
  refused?: boolean
}

describe('the table of delta rules', () => {
  const rows = table<Row>('delta.json')
  it('has its rows', () => expect(rows.length).toBeGreaterThanOrEqual(50))
  it.each(rows)('$name', (row) => {
    const frame = row.frame_json ? (JSON.parse(row.frame_json) as Props) : row.frame!
    const before = JSON.stringify(row.props)
    const apply = () => applyDelta(row.props, row.path ?? '', row.action, frame)
    if (row.refused) {
      expect(apply).toThrow(Refused)
    } else if (row.depth) {
      let at: unknown = apply()
      for (let i = 0; i < row.depth; i++) at = (at as Props).a
      expect(at).toBe(1)
    } else {
      expect(apply()).toEqual(row.want)
    }
    expect(JSON.stringify(row.props)).toBe(before)
    expect(({} as Props).x).toBeUndefined()
  })
})

interface FoldRow {
  name: string
  frames: (MessageFrame & { refused?: boolean })[]
  want: { id?: string; type: string; block?: string; thread?: string; closed?: boolean; props: Props }[]
}

describe('the table of folds', () => {
  it.each(table<FoldRow>('fold.json'))('$name', (row) => {
    let state = emptyFold
    for (const { refused, ...frame } of row.frames) {
      if (refused) expect(() => fold(state, frame)).toThrow(Refused)
      else state = fold(state, frame)
    }
    const got = state.messages.map(({ id, type, block, thread, closed, props }) => ({ id, type, block, thread, closed, props }))
    expect(got).toEqual(row.want.map((w) => ({ id: '', block: '', thread: '', closed: false, ...w })))
  })
})

it('gives the whole text for any split of it', () => {
  const whole = 'Größer 😀 than\n\nlife'
  for (let a = 0; a <= whole.length; a++) {
    for (let b = a; b <= whole.length; b++) {
      let state = emptyFold
      const pieces = [whole.slice(0, a), whole.slice(a, b), whole.slice(b)]
      pieces.forEach((content, i) => {
        state = fold(state, { type: 'text', chunk_id: `C${i + 1}`, message_id: 'M1', props: { content }, delta: true, metadata: { timestamp: 0, sequence: i + 1 } })
      })
      expect(state.messages[0]?.props.content).toBe(whole)
    }
  }
})
