import { checkSize, hiddenWords, Names, Undrawable } from './words'

interface Node {
  text: string
  open: string
  close: string
}

type Step = { kind: 'node'; id: string } | { kind: 'edge'; from: string; to: string; line: string; words: string } | { kind: 'begin'; id: string; words: string } | { kind: 'end' } | { kind: 'as is'; text: string }

/** A flowchart in the one form that the renderer reads: a statement a line, an edge between two nodes, names of letters and digits. */
export function flowchart(source: string): string {
  return new Reader(source).read()
}

/** How a shape begins and ends in a source, longer ones first, and its form for the renderer, which has no slanted boxes. */
const SHAPES: [open: string, close: string, drawnOpen: string, drawnClose: string][] = [
  ['(((', ')))', '(((', ')))'], ['([', '])', '([', '])'], ['((', '))', '((', '))'], ['(-', '-)', '([', '])'], ['[[', ']]', '[[', ']]'], ['[(', ')]', '[(', ')]'],
  ['[/', '\\]', '[/', '\\]'], ['[/', '/]', '[', ']'], ['[\\', '/]', '[\\', '/]'], ['[\\', '\\]', '[', ']'], ['{{', '}}', '{{', '}}'], ['[', ']', '[', ']'], ['(', ')', '(', ')'], ['{', '}', '{', '}'], ['>', ']', '>', ']'],
]

/** A part of a name is no part of a link: `a-b` is a name, `a-->b` is not. */
const NAME = /(?:[\p{L}\p{N}\p{M}_.*+?!$'/\\]|-(?![->.])|=(?!=))+/uy
const STATEMENT = /(subgraph|end|direction|classDef|class|style|linkStyle|click|accTitle|accDescr)(?=[\s;:]|$)([^\n;]*)/y
const LINKS: [link: RegExp, begin: RegExp, rest: RegExp, line: string][] = [
  [/([xo<]?)--+([-xo>])/y, /([xo<]?)--/y, /\s*--+([-xo>])/g, '--'], [/([xo<]?)==+([=xo>])/y, /([xo<]?)==/y, /\s*==+([=xo>])/g, '=='], [/([xo<]?)-?\.+-([xo>]?)/y, /([xo<]?)-\./y, /\s*\.+-([xo>]?)/g, '-.'],
]

class Reader {
  private at = 0
  private readonly nodes = new Map<string, Node>()
  private readonly steps: Step[] = []
  private readonly names = new Names('n')
  private readonly classes = new Names('c')
  private links = 0
  private depth = 0
  private isHidden = false

  constructor(private readonly source: string) {}

  read(): string {
    const head = this.take(/\s*(?:graph|flowchart(?:-elk)?)(?=[\s;]|$)[ \t]*(TD|TB|LR|BT|RL|[<>^v])?[ \t]*(?=[\n;]|$)/iy)
    if (!head) throw new Undrawable('this is no flowchart')
    for (;;) {
      this.take(/[\s;]*/y)
      if (this.at >= this.source.length) break
      this.statement()
      if (this.at < this.source.length && !this.take(/[ \t]*(?=[\n;])/y)) throw new Undrawable(`this cannot be read: ${this.source.slice(this.at, this.at + 40)}`)
    }
    if (this.depth > 0) throw new Undrawable('a group has no end')
    checkSize(this.links, this.nodes.size + this.steps.filter((step) => step.kind === 'begin').length)
    const direction = { '>': 'LR', '<': 'RL', '^': 'BT', v: 'TD' }[head[1] ?? ''] ?? head[1]?.toUpperCase() ?? 'TD'
    return [`flowchart ${direction}`, ...this.lines()].join('\n')
  }

  /** What matches here, which is then behind. */
  private take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.at
    const found = pattern.exec(this.source)
    if (found) this.at = pattern.lastIndex
    return found
  }

  private statement(): void {
    const found = this.take(STATEMENT)
    if (found) return this.keyword(found[1]!, found[2]!.trim())
    let from = this.group()
    for (;;) {
      this.take(/[ \t]*/y)
      const link = this.link()
      if (!link) return
      this.take(/\s*/y)
      const to = this.group()
      checkSize((this.links += from.length * to.length), this.nodes.size)
      for (const a of from) for (const b of to) this.steps.push({ kind: 'edge', from: a, to: b, ...link })
      from = to
    }
  }

  private keyword(word: string, rest: string): void {
    switch (word) {
      case 'subgraph': {
        const [, id, , words] = /^([^\s["]+)\s*(\[([\s\S]*)\])$/.exec(rest) ?? []
        this.depth++
        this.steps.push({ kind: 'begin', id: this.names.of(id ?? rest), words: words ?? rest })
        return
      }
      case 'end':
        if (this.depth-- === 0) throw new Undrawable('an end without a group')
        this.steps.push({ kind: 'end' })
        return
      case 'direction':
        if (this.depth > 0) this.steps.push({ kind: 'as is', text: `direction ${rest}` })
        return
      case 'classDef':
      case 'style': {
        const [, of, looks] = /^([^\s]+)\s+(.+)$/.exec(rest) ?? []
        if (of && looks) for (const name of of.split(',')) this.steps.push({ kind: 'as is', text: `${word} ${word === 'style' ? this.names.of(name.trim()) : this.classes.of(name.trim())} ${readable(looks)}` })
        return
      }
      case 'class': {
        const [, of, name] = /^(.+?)\s+(\S+)$/.exec(rest) ?? []
        if (of && name) this.steps.push({ kind: 'as is', text: `class ${of.split(',').map((id) => this.names.of(id.trim())).join(',')} ${this.classes.of(name)}` })
        return
      }
      case 'linkStyle':
        this.steps.push({ kind: 'as is', text: `linkStyle ${rest}` })
    }
  }

  /** One or more nodes with `&` between them. */
  private group(): string[] {
    const ids = [this.node()]
    while (this.take(/\s*&\s*/y)) ids.push(this.node())
    return ids
  }

  private node(): string {
    const name = this.take(NAME)?.[0]
    if (!name) throw new Undrawable(`a name is missing: ${this.source.slice(this.at, this.at + 40)}`)
    const id = this.names.of(name)
    const shape = this.shape()
    if (shape || !this.nodes.has(id)) this.nodes.set(id, shape ?? { text: name, open: '[', close: ']' })
    this.steps.push({ kind: 'node', id })
    const styled = this.take(/:::(\w+(?:-\w+)*)/y)
    if (styled) this.steps.push({ kind: 'as is', text: `class ${id} ${this.classes.of(styled[1]!)}` })
    return id
  }

  private shape(): Node | null {
    const begin = this.at
    for (const [open, close, drawnOpen, drawnClose] of SHAPES) {
      if (!this.source.startsWith(open, begin)) continue
      this.at = begin + open.length
      const text = this.take(/\s*"([^"]*)"\s*/y)?.[1] ?? this.upTo(open, close)
      if (text !== null && this.source.startsWith(close, this.at)) {
        this.at += close.length
        return { text, open: drawnOpen, close: drawnClose }
      }
    }
    this.at = begin
    if (this.source[begin] === '@' || SHAPES.some(([open]) => open !== '>' && this.source.startsWith(open, begin))) throw new Undrawable('this shape is not known')
    return null
  }

  /** The text before the end of a shape, in which brackets of the same kind are in pairs. */
  private upTo(open: string, close: string): string | null {
    let inner = 0
    for (let i = this.at; i < this.source.length && this.source[i] !== '\n'; i++) {
      if (inner === 0 && this.source.startsWith(close, i)) {
        const text = this.source.slice(this.at, i)
        this.at = i
        return text
      }
      if (close.length > 1) continue
      if (this.source[i] === open) inner++
      else if (this.source[i] === close) inner--
    }
    return null
  }

  private link(): { line: string; words: string } | null {
    if (this.take(/~~~+/y)) {
      this.isHidden = true
      return { line: '', words: '' }
    }
    for (const [whole, begin, rest, line] of LINKS) {
      const found = this.take(whole)
      if (found) return { line: lineOf(line, found[1]!, found[2]!), words: this.take(/[ \t]*\|([^|]*)\|/y)?.[1] ?? '' }
      const half = this.take(begin)
      if (!half) continue
      rest.lastIndex = this.at
      const end = rest.exec(this.source)
      if (!end) throw new Undrawable('a link has no end')
      const words = this.source.slice(this.at, end.index)
      this.at = rest.lastIndex
      return { line: lineOf(line, half[1]!, end[1]!), words }
    }
    return null
  }

  /** The statements, with each node in full where it is first mentioned, and again in the first group that mentions it. */
  private lines(): string[] {
    const known = new Set<string>()
    const placed = new Set<string>()
    let depth = 0
    return this.steps.flatMap((step) => {
      switch (step.kind) {
        case 'node': {
          const { text, open, close } = this.nodes.get(step.id)!
          if (known.has(step.id) && (depth === 0 || placed.has(step.id))) return []
          known.add(step.id)
          if (depth > 0) placed.add(step.id)
          return `${step.id}${open}${hiddenWords(text)}${close}`
        }
        case 'edge':
          return step.line ? `${step.from} ${step.line}${step.words.trim() ? `|${hiddenWords(step.words)}|` : ''} ${step.to}` : []
        case 'begin':
          depth++
          return `subgraph ${step.id} [${hiddenWords(step.words)}]`
        case 'end':
          depth--
          return 'end'
        case 'as is':
          // A link that is not drawn has a number too.
          return this.isHidden && step.text.startsWith('linkStyle') ? [] : step.text
      }
    })
  }
}

/** A link of a kind for the renderer, which knows arrows but no crosses or circles. */
function lineOf(kind: string, from: string, to: string): string {
  const hasArrow = /[xo>]/.test(to)
  return `${from && hasArrow ? '<' : ''}${{ '--': hasArrow ? '-->' : '---', '==': hasArrow ? '==>' : '===', '-.': hasArrow ? '-.->' : '-.-' }[kind]}`
}

/** Styles with a colour of the text that can be read on their background. */
function readable(looks: string): string {
  const hex = /(?:^|,)\s*fill\s*:\s*#([\da-f]{3}|[\da-f]{6})\b/i.exec(looks)?.[1]
  if (!hex || /(?:^|,)\s*color\s*:/i.test(looks)) return looks
  const [r, g, b] = (hex.length === 3 ? [...hex].map((c) => c + c) : hex.match(/../g)!).map((c) => Number.parseInt(c, 16)) as [number, number, number]
  return `${looks.replace(/;\s*$/, '')},color:${r * 0.299 + g * 0.587 + b * 0.114 > 140 ? '#1a1d23' : '#ffffff'}`
}
