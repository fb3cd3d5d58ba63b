import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { beginningOf } from '../src/components/Time'
import { firstWords } from '../src/documents/places'
import { trimmed } from '../src/state/values/cut'
import { block } from './blocks'

/** A text of which the n-th code unit is the first half of an emoji. */
const until = (n: number) => `${'x'.repeat(n - 1)}😀 and more`

it('a text that is cut for a place ends in no half of a character', () => {
  expect(beginningOf(until(60))).toBe('x'.repeat(59))
  expect(beginningOf(until(59))).toBe(`${'x'.repeat(58)}😀`)
  expect(firstWords(block('b', { current: until(40) }))).toBe('x'.repeat(39))
})

/** The same table as Go's tests. */
const blanks = JSON.parse(readFileSync('../schemas/text/testdata/blank.json', 'utf8')) as { name: string; text: string; blank: boolean }[]

it.each(blanks)('$name is empty where the service refuses it: $blank', ({ text, blank }) => {
  expect(trimmed(text)).toBe(blank ? '' : text.trim())
})
