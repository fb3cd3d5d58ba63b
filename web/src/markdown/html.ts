import type { Element, ElementContent, RootContent } from 'hast'
import { CALL, escaped } from './grid'
import { markMath, texOf } from './math'
import { definitionsOf, emptySplit, hasFootnotes, MAX_WHOLE, splitMarkdown, tooMuch } from './split'
import { treeOf, type TreeWords } from './tree'

/** Markdown as HTML for other programs, without anything that they would load: an image is a link. Math is TeX between dollar signs. */
export function htmlOf(markdown: string, words: TreeWords): string {
  const whole = hasFootnotes(markdown)
  const chunks = whole ? [markdown] : splitMarkdown(markdown, emptySplit).chunks
  const definitions = whole ? '' : definitionsOf(markdown)
  return chunks.map((chunk) => (tooMuch(chunk, whole ? MAX_WHOLE : undefined) ? `<pre>${escaped(chunk)}</pre>` : treeOf(`${markMath(chunk)}\n\n${definitions}`, words, []).children.map(written).join(''))).join('')
}

function written(node: RootContent | ElementContent): string {
  if (node.type === 'text') return escaped(node.value)
  if (node.type !== 'element') return ''
  const { tagName: tag, properties: { href, src, alt, checked, start, align, dataFootnoteBackref: back } } = node
  if (back !== undefined) return ''
  if (tag === 'br' || tag === 'hr') return `<${tag}>`
  if (tag === 'input') return checked ? '☑ ' : '☐ '
  if (tag === 'img') return link(src, escaped(String(alt || src)))
  const inner = node.children.map(written).join('')
  if (tag === 'a') return link(href, inner)
  const tex = tag === 'code' ? texOf(textIn(node)) : null
  if (tex) return escaped(tex.display ? `$$${tex.tex}$$` : `$${tex.tex}$`)
  const formula = /^t[dh]$/.test(tag) && CALL.test(textIn(node)) // a spreadsheet would run it
  return `<${tag}${attribute('start', start)}${attribute('align', align)}>${formula ? "'" : ''}${inner}</${tag}>`
}

function link(to: unknown, inner: string): string {
  const address = String(to ?? '')
  if (address === '' || address.startsWith('#')) return inner
  const resolved = document.createElement('a')
  resolved.href = address
  return `<a${attribute('href', resolved.href)}>${inner}</a>`
}

const attribute = (name: string, value: unknown) => (value === undefined || value === null ? '' : ` ${name}="${escaped(String(value)).replace(/"/g, '&quot;')}"`)

const textIn = (node: Element): string => node.children.map((child) => (child.type === 'text' ? child.value : child.type === 'element' ? textIn(child) : '')).join('')
