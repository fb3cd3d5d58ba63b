import { displayAfter } from './math'

/**
 * Cuts Markdown into blocks that can be parsed and rendered one by one, so that a long answer costs only its last block
 * while it grows. Cuts are at blank lines outside of code and math, never inside of a list or an indented part.
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

/** Splits text; given the split of a beginning of it, only what may have changed is cut again. */
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

/** Chunks at the end that more text may change. */
const UNSURE = 2

function cut(text: string, from: number, chunks: string[], starts: number[]): void {
  let start = from
  let open = ''
  let blank = false
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
    if (open === '' && blank && at > start && cuttable(line, list) && (math === '' || mathLines > MATH_LINES)) {
      chunks.push(text.slice(start, at))
      starts.push(start)
      start = at
      list = false
      math = ''
    }
    blank = false
    const mark = fence.exec(line)?.[1]
    if (open !== '') {
      if (mark && mark.startsWith(open) && line.trim() === mark) open = ''
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

/** Lines after which math that has no end is text. */
const MATH_LINES = 60

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

/** Whether a text has notes at its end that it refers to. */
export function hasFootnotes(text: string): boolean {
  return /^ {0,3}\[\^[^\]\s]{1,200}\]:/m.test(text) && !tooDeep(text)
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

/** Whether quotations and lists are nested deeper than anybody reads; laying that out would cost seconds. */
export function tooDeep(chunk: string): boolean {
  return /^(?:[ \t]{0,8}(?:>|[-*+]|\d{1,9}[.)])){30}/m.test(chunk)
}
