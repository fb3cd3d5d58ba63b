import { displayAfter } from './math'

/**
 * Cuts Markdown into blocks that can be parsed and rendered one by one, so that a long answer costs only its last block
 * while it grows. Cuts are at blank lines outside code and math, and around fenced code, but never inside a list or an indented part.
 * A block longer than LONG is also cut before a heading and before an item of its list.
 */
export interface Split {
  text: string
  chunks: string[]
  /** Where each chunk begins in the text. */
  starts: number[]
}

export const emptySplit: Split = { text: '', chunks: [], starts: [] }

const listItem = /^ {0,3}(?:[-*+]|\d{1,9}[.)])\s/
const fence = /^ {0,3}(`{3,}|~{3,})/

/** Splits text. Given the split of an earlier, shorter text, only the part that may have changed is split again. */
export function splitMarkdown(text: string, before: Split = emptySplit): Split {
  let from = 0
  let chunks: string[] = []
  let starts: number[] = []
  if (before.chunks.length > UNSURE && text.length >= before.text.length && text.startsWith(before.text)) {
    const keep = before.chunks.length - UNSURE
    from = before.starts[keep]!
    chunks = before.chunks.slice(0, keep)
    starts = before.starts.slice(0, keep)
  }
  cut(text, from, chunks, starts)
  return { text, chunks, starts }
}

/** The number of chunks at the end that more text may change. */
const UNSURE = 2

function cut(text: string, from: number, chunks: string[], starts: number[]): void {
  let start = from
  let open = ''
  let blank = false
  /** Code has just ended. */
  let closed = false
  let list = false
  let math = ''
  let mathLines = 0
  for (let at = from; at < text.length; ) {
    const end = text.indexOf('\n', at)
    const next = end < 0 ? text.length : end + 1
    const line = text.slice(at, end < 0 ? text.length : end)
    if (open === '' && line.trim() === '') {
      blank = true
      at = next
      continue
    }
    const ends = ((blank || closed) && cuttable(line, list)) || (!list && /^(?:```|~~~)/.test(line)) || (at - start > LONG && divides(line, list))
    if (open === '' && at > start && ends && (math === '' || mathLines > MATH_LINES)) {
      chunks.push(text.slice(start, at))
      starts.push(start)
      start = at
      list = false
      math = ''
    }
    blank = closed = false
    const mark = fence.exec(line)?.[1]
    if (open !== '') {
      if (mark && mark.startsWith(open) && line.trim() === mark) {
        open = ''
        closed = !list
      }
    } else if (mark) {
      open = mark
    } else {
      math = displayAfter(line, math)
      mathLines = math === '' ? 0 : mathLines + 1
    }
    if (at === start) list = listItem.test(line)
    at = next
  }
  if (start < text.length) {
    chunks.push(text.slice(start))
    starts.push(start)
  }
}

/** Lines after which math without an end is text. */
const MATH_LINES = 60

/** Characters after which a chunk ends at the next possible place. */
const LONG = 8_000

/** Whether a line begins a heading, or an item of the list that the chunk is. */
function divides(line: string, list: boolean): boolean {
  return /^#{1,6}\s/.test(line) || (list && /^(?:[-*+]|\d{1,9}[.)])\s/.test(line))
}

/** Whether a line after a blank one may begin a chunk. */
function cuttable(line: string, list: boolean): boolean {
  if (/^(?: {2,}|\t)/.test(line)) return false
  return !(list && listItem.test(line))
}

const definition = /^ {0,3}\[[^\]\n]{1,200}\]:[ \t]*\S[^\n]{0,2000}$/gm

/** The link definitions of a text, which each of its chunks needs. */
export function definitionsOf(text: string): string {
  return (text.match(definition) ?? []).slice(0, MAX_DEFINITIONS).join('\n')
}

const MAX_DEFINITIONS = 200

/** Whether a text has footnotes to which it refers. */
export function hasFootnotes(text: string): boolean {
  return /^ {0,3}\[\^[^\]\s]{1,200}\]:/m.test(text) && !tooMuch(text, MAX_WHOLE)
}

/** A chunk that is nothing but fenced code; parsing it as Markdown would cost its length at every token. */
export function fencedCode(chunk: string): { language: string; code: string } | null {
  const head = /^ {0,3}(`{3,}|~{3,})[ \t]*([^\s`]{0,40})[^\n`]*\n/.exec(chunk)
  if (!head) return null
  const [all, mark = '', language = ''] = head
  const rest = chunk.slice(all.length).trimEnd()
  const close = new RegExp(`(?:^|\\n) {0,3}${mark[0] === '`' ? '`' : '~'}{${mark.length},}[ \\t]*$`).exec(rest)
  const code = close ? rest.slice(0, close.index) : rest
  return new RegExp(`(?:^|\\n) {0,3}${mark}`).test(code) ? null : { language, code }
}

/** Whether a chunk is nested too deeply, or has so many marks that parsing it would take seconds: the cost grows with their square. */
export function tooMuch(chunk: string, most = MAX_WEIGHT): boolean {
  return chunk.length > most * 16 || weightOf(chunk) > most || /^(?:[ \t]{0,8}(?:>|[-*+]|\d{1,9}[.)])){30}/m.test(chunk) || /^[ \t]{60,}(?:[-*+]|\d{1,9}[.)])[ \t]/m.test(chunk)
}

/** The most marks of a chunk, and of a text that is parsed as a whole. */
const MAX_WEIGHT = 4_000
export const MAX_WHOLE = 20_000

/** The number of marks and lines of a text; the bars of a table count less. */
function weightOf(text: string): number {
  let weight = 0
  for (let i = 0; i < text.length; i++) weight += WEIGHTS[text.charCodeAt(i)] ?? 0
  return weight
}

const WEIGHTS: Record<number, number> = { [0x7c]: 0.25, ...Object.fromEntries([...'\n[]<*_`$&~\\!'].map((mark) => [mark.charCodeAt(0), 1])) }
