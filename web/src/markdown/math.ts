/**
 * Finds math in a model's text and puts it into code spans that begin with a mark, so that Markdown does not change it.
 * Math is `\(…\)`, `\[…\]`, `$$…$$`, and `$…$` as pandoc reads it, so that "$5 and $6" stays money. Code and addresses are
 * not changed.
 */

/** The first character of a code span that is math: inline, display, or still open. */
export const INLINE = '\u2061'
export const DISPLAY = '\u2062'
export const OPEN = '\u2063'

/** The most characters of a formula, and of one between single dollars; a longer one is text. */
const MAX_TEX = 10_000
const MAX_DOLLAR = 400

export interface Tex {
  tex: string
  display: boolean
  /** More text will follow. */
  open: boolean
}

/** The formula in a code span, or null if it is code. */
export function texOf(code: string): Tex | null {
  const display = code[0] === DISPLAY
  if (!display && code[0] !== INLINE) return null
  const open = code[1] === OPEN
  return { tex: code.slice(open ? 2 : 1).trim(), display, open }
}

/** The text with its math marked. While it streams, math that has no end yet is marked as open. */
export function markMath(text: string, streaming = false): string {
  if (!/[$\\]/.test(text)) return text
  return new Marker(text, streaming).run()
}

class Marker {
  private readonly text: string
  private readonly streaming: boolean
  private readonly table: boolean
  private readonly list: boolean
  private at = 0
  /** Delimiters that the rest of the text does not have, so that none is searched for twice. */
  private readonly missing = new Set<string>()
  private out = ''

  constructor(text: string, streaming: boolean) {
    // A backslash at the end may begin a delimiter.
    this.text = streaming ? text.replace(/(?<!\\)\\$/, '') : text
    this.streaming = streaming
    this.table = tableRule.test(text)
    this.list = /^ {0,3}(?:[-*+]|\d{1,9}[.)])\s/m.test(text)
  }

  run(): string {
    const { text } = this
    while (this.at < text.length) {
      const next = this.block() ?? this.span() ?? this.math()
      if (next === undefined) this.take(this.at + 1)
      else if (next === 'end') break
    }
    return this.out
  }

  /** Copies the text up to an index. */
  private take(to: number): true {
    this.out += this.text.slice(this.at, to)
    this.at = to
    return true
  }

  /** Fenced and indented code, at the beginning of a line. */
  private block(): true | undefined {
    const { text, at } = this
    if (at > 0 && text[at - 1] !== '\n') return undefined
    const fence = /^[ \t>]*(`{3,}|~{3,})[^\n]*\n?/.exec(text.slice(at, at + 400))
    if (fence && !(fence[1]![0] === '`' && fence[0].slice(fence[0].indexOf(fence[1]!) + fence[1]!.length).includes('`'))) {
      const close = new RegExp(`^[ \\t>]*${fence[1]![0]}{${fence[1]!.length},}[ \\t]*$`, 'm')
      const rest = text.slice(at + fence[0].length)
      const end = close.exec(rest)
      return this.take(end ? at + fence[0].length + end.index + end[0].length : text.length)
    }
    if (this.list || !/^(?: {4}|\t)/.test(text.slice(at, at + 4)) || text.slice(text.lastIndexOf('\n', at - 2) + 1, at).trim() !== '') return undefined
    const end = text.indexOf('\n', at)
    return this.take(end < 0 ? text.length : end)
  }

  /** Code spans, addresses, and escaped characters. */
  private span(): true | undefined {
    const { text, at } = this
    const c = text[at]
    if (c === '`') return this.code()
    if (c === '\\' && !'([$'.includes(text[at + 1] ?? '')) return this.take(Math.min(text.length, at + 2))
    if (c === '\\' && text[at + 1] === '$') return this.take(at + 2)
    if (c === 'h' || c === '<' || c === ']') {
      const address = /^(?:https?:\/\/[^\s<]+|<[a-z][a-z0-9+.-]*:[^\s>]*>|\]\([^\s()]*\))/i.exec(text.slice(at, at + 2000))
      if (address) return this.take(at + address[0].length)
    }
    return undefined
  }

  /** A code span. Without an end it is text, unless more text will follow. */
  private code(): true {
    const { text, at } = this
    const ticks = /^`+/.exec(text.slice(at))![0]
    let end = this.missing.has(ticks) ? -1 : at
    do end = end < 0 ? -1 : text.indexOf(ticks, end + runAt(text, end))
    while (end >= 0 && runAt(text, end) !== ticks.length)
    if (end >= 0) return this.take(end + ticks.length)
    this.missing.add(ticks)
    if (!this.streaming) return this.take(at + ticks.length)
    const paragraph = /\n[ \t]*\n/.exec(text.slice(at))
    return this.take(paragraph ? at + paragraph.index : text.length)
  }

  private math(): true | 'end' | undefined {
    const { text, at } = this
    if (text[at] === '\\' && text[at + 1] === '(') return this.delimited('\\(', '\\)', false)
    if (text[at] === '\\' && text[at + 1] === '[') return this.delimited('\\[', '\\]', true)
    if (text.startsWith('$$', at)) return this.delimited('$$', '$$', true)
    return text[at] === '$' ? this.dollar() : undefined
  }

  private delimited(open: string, close: string, display: boolean): true | 'end' {
    const { text, at } = this
    const from = at + open.length
    const end = this.missing.has(close) ? -1 : closing(text.slice(0, from + MAX_TEX), from, close)
    if (end < 0 && !text.includes(close, from)) this.missing.add(close)
    if (end >= 0 && text.slice(from, end).trim() !== '') return this.emit(text.slice(from, end), display, end + close.length)
    if (end < 0 && this.streaming && text.length - from <= MAX_TEX) return this.emitOpen(text.slice(from).replace(/\$$/, ''), display)
    // Without an end it is text, and is shown completely.
    this.out += open === '$$' ? '\\$\\$' : `\\\\${open[1] === '[' ? '\\[' : '('}`
    this.at = from
    return true
  }

  /** `$…$`: no space inside its ends, no word before it, no letter or digit after it, and not an amount of money. */
  private dollar(): true | 'end' | undefined {
    const { text, at } = this
    const before = text[at - 1] ?? ''
    const first = text[at + 1] ?? ''
    if (/[\p{L}\p{N}$\\]/u.test(before) || first === '' || /[\s$]/.test(first)) return undefined
    const line = text.slice(at + 1, at + 1 + MAX_DOLLAR).split(/\n[ \t]*\n|`/, 1)[0]!
    for (let end = nextDollar(line, 0); end >= 0; end = nextDollar(line, end + 1)) {
      if (/\s/.test(line[end - 1]!) || line[end + 1] === '$') continue
      const tex = line.slice(0, end)
      if (/[\p{L}\p{N}]/u.test(line[end + 1] ?? '') || isMoney(tex)) return undefined
      return this.emit(tex, false, at + 1 + end + 1)
    }
    return this.streaming && at + 1 + line.length === text.length && /[\\^_{]/.test(line) && !isMoney(line) ? this.emitOpen(line, false) : undefined
  }

  private emit(tex: string, display: boolean, to: number): true {
    this.out += span(tex, display ? DISPLAY : INLINE, this.table)
    this.at = to
    return true
  }

  private emitOpen(tex: string, display: boolean): 'end' {
    if (tex.trim() !== '') this.out += span(tex, (display ? DISPLAY : INLINE) + OPEN, this.table)
    this.at = this.text.length
    return 'end'
  }
}

const tableRule = /^[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/m

/** The index of a closing delimiter that is not escaped, across at most a few blank lines. */
function closing(text: string, from: number, close: string): number {
  for (let end = text.indexOf(close, from); end >= 0; end = text.indexOf(close, end + 1)) {
    let slashes = 0
    while (text[end - 1 - slashes] === '\\') slashes++
    if (slashes % 2 === 0) return (text.slice(from, end).match(/\n[ \t>]*(?=\n)/g)?.length ?? 0) > MAX_BLANK ? -1 : end
  }
  return -1
}

/** The most blank lines within a formula. */
const MAX_BLANK = 4

/** The number of backticks from an index on. */
function runAt(text: string, at: number): number {
  let end = at
  while (text[end] === '`') end++
  return end - at
}

function nextDollar(line: string, from: number): number {
  for (let i = from; i < line.length; i++) {
    if (line[i] === '\\') i++
    else if (line[i] === '$' && i > 0) return i
  }
  return -1
}

/** Whether the text after a dollar sign is an amount with words after it, such as "5 and" or "5, or 10". */
function isMoney(tex: string): boolean {
  return /^[\d.,]+(?:[kKmMbB]|bn)?(?:\s*[-–—/]|\s*$|[,.;:)]?\s+(?![-+*/=<>\\^_(]))/.test(tex) && !/[\\^_{}=]/.test(tex) && (/\s\p{L}{2}|[-–—/,;]\s*\d*$/u.test(tex) || /^[\d.,]+[-–—/]$/.test(tex))
}

/** A code span: one line, with as many backticks around it as it needs; in a table its bars are escaped, as GFM requires. */
function span(tex: string, mark: string, table: boolean): string {
  let line = tex.replace(/(?<!\\)%[^\n]*/g, '').replace(/\s*\n[ \t]*(?:>[ \t]?)*\s*/g, ' ').trim()
  if (table) line = line.replace(/\\\|/g, '\\Vert ').replace(/\|/g, '\\|').trim()
  const ticks = '`'.repeat(Math.max(0, ...[...line.matchAll(/`+/g)].map((m) => m[0].length)) + 1)
  return `${ticks}${mark}${line}${line.endsWith('`') ? ' ' : ''}${ticks}`
}

/** Whether a line opens display math that it does not close, or closes it; `open` is what closes the math before the line. */
export function displayAfter(line: string, open: string): string {
  let at = 0
  for (;;) {
    if (open !== '') {
      const end = closing(line, at, open)
      if (end < 0) return open
      at = end + open.length
      open = ''
    }
    const next = /(?<!\\)(?:\\\[|\$\$)|`+/g
    next.lastIndex = at
    const found = next.exec(line)
    if (!found) return ''
    at = found.index + found[0].length
    if (found[0][0] === '`') {
      const end = line.indexOf(found[0], at)
      if (end >= 0) at = end + found[0].length
    } else {
      open = found[0] === '$$' ? '$$' : '\\]'
    }
  }
}
