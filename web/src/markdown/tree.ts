import type { Element, Root } from 'hast'
import { defaultSchema, sanitize, type Schema } from 'hast-util-sanitize'
import { fromMarkdown } from 'mdast-util-from-markdown'
import { gfmFromMarkdown } from 'mdast-util-gfm'
import { newlineToBreak } from 'mdast-util-newline-to-break'
import { toHast } from 'mdast-util-to-hast'
import { gfm } from 'micromark-extension-gfm'

/** Changes a tree in place, after it has been made safe. */
export type TreePlugin = (tree: Root) => void

/** The prefix of all ids in a text, so that they differ from those of the page. */
export const ID_PREFIX = 'ct-'

const schema: Schema = { ...defaultSchema, clobberPrefix: ID_PREFIX, protocols: { href: ['http', 'https', 'mailto'], src: ['http', 'https'] } }
const syntax = [gfm({ singleTilde: false })]
const nodes = [gfmFromMarkdown()]

export interface TreeWords {
  footnotes: string
  footnoteBack: (n: number) => string
}

/**
 * GitHub's Markdown as a tree of elements: tables, footnotes, tasks, strikethrough and bare addresses; a single newline is a line break.
 * HTML is dropped, and so are elements and attributes that are not on the list of safe ones. Plugins change the tree after that;
 * addresses are made safe last.
 */
export function treeOf(source: string, words: TreeWords, plugins: readonly TreePlugin[]): Root {
  const text = fromMarkdown(source, { extensions: syntax, mdastExtensions: nodes })
  newlineToBreak(text)
  const tree = sanitize(toHast(text, { clobberPrefix: '', footnoteLabel: words.footnotes, footnoteBackLabel: (n) => words.footnoteBack(n + 1) }), schema) as Root
  for (const plugin of plugins) plugin(tree)
  makeSafe(tree)
  return tree
}

function makeSafe(node: Root | Element): void {
  for (const child of node.children) {
    if (child.type !== 'element') continue
    // The headings of a text are one level below the tray's own heading.
    const [, level] = /^h([1-6])$/.exec(child.tagName) ?? []
    if (level) child.properties.ariaLevel = Math.min(6, Number(level) + 2)
    for (const name of ['href', 'src']) if (name in child.properties) child.properties[name] = safeUrl(String(child.properties[name] ?? ''))
    makeSafe(child)
  }
}

/** The address if a link may lead there, else an empty string. */
export function safeUrl(url: string): string {
  const trimmed = url.trim()
  if (trimmed.startsWith('#')) return trimmed
  try {
    const parsed = new URL(trimmed, 'https://relative.invalid')
    if (parsed.host === 'relative.invalid') return trimmed.startsWith('//') ? '' : trimmed
    return ['http:', 'https:', 'mailto:'].includes(parsed.protocol) ? trimmed : ''
  } catch {
    return ''
  }
}
