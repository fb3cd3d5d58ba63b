/**
 * A text of a diagram, safe at every place of a source: what has a meaning there is replaced by private characters, which shownWords
 * puts back into the SVG. Quotes around the text are removed, entities are decoded, and line breaks stay.
 */
export function hiddenWords(text: string): string {
  const bare = text.trim().replace(/^"([\s\S]*)"$/, '$1').replace(/^`([\s\S]*)`$/, '$1').trim()
  const decoded = bare.replace(/[#&](?:#?(\d{1,7})|#x([\da-f]{1,6})|(quot|amp|lt|gt|nbsp|apos));/gi, (whole, decimal?: string, hex?: string, name?: string) => {
    if (name) return NAMED[name.toLowerCase()] ?? whole
    const code = decimal ? Number(decimal) : Number.parseInt(hex ?? '', 16)
    return code > 31 && code <= 0x10ffff ? String.fromCodePoint(code) : whole
  })
  // The renderer draws these tags; every other one is text.
  const parts = decoded.split(/(<br\s*\/?>|\\n|\s*\n\s*|<\/?(?:b|strong|i|em|u|s|del)>)/i)
  return parts.map((part, i) => (i % 2 === 0 ? part.replace(/[[\](){}|"<>;:&%#/\\~]/g, (c) => String.fromCharCode(FIRST + c.charCodeAt(0))) : /^<(?!br)/i.test(part) ? part.toLowerCase() : '<br>')).join('') || '\u200B'
}

/** The SVG of a source with its texts as they were written. */
export function shownWords(svg: string): string {
  return svg.replace(/[\uE000-\uE07F]/g, (c) => {
    const shown = String.fromCharCode(c.charCodeAt(0) - FIRST)
    return ESCAPED[shown] ?? shown
  })
}

const FIRST = 0xe000
const NAMED: Record<string, string> = { quot: '"', amp: '&', lt: '<', gt: '>', nbsp: '\u00A0', apos: "'" }
const ESCAPED: Record<string, string> = { '"': '&quot;', '&': '&amp;', '<': '&lt;', '>': '&gt;' }

/** Thrown for a source that cannot be drawn whole; it is shown as text instead. */
export class Undrawable extends Error {}

/** The most links of a diagram, and of its other parts. The time to draw one grows faster than they do, the page stands still meanwhile, and a short source may have many. */
const MOST = { links: 250, others: 400 }

/** Throws for a diagram with too many parts. */
export function checkSize(links: number, others: number): void {
  if (links > MOST.links || others > MOST.others) throw new Undrawable('it has too many parts')
}

/** Names for what a source names, which every rule of the renderer reads as one name. */
export class Names {
  private readonly known = new Map<string, string>()
  constructor(private readonly prefix: string) {}

  of(name: string): string {
    const made = this.known.get(name) ?? `${this.prefix}${this.known.size}`
    this.known.set(name, made)
    return made
  }
}
