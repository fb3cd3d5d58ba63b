import { diffArrays } from 'diff'
import type { Element, ElementContent, Root } from 'hast'
import { fromMarkdown } from 'mdast-util-from-markdown'
import { gfmFromMarkdown } from 'mdast-util-gfm'
import { gfm } from 'micromark-extension-gfm'
import { markMath, texOf } from '../markdown/math'

/** The most words of both texts that are compared. */
const MAX_WORDS = 20_000

/** A piece of a text, and how it has changed. */
export interface Change {
  kind: 'same' | 'ins' | 'del'
  text: string
}

/** The words of one text beside those of another. Spaces count for nothing; they stay with the word before them. */
export function changedWords(before: string[], after: string[]): Change[] {
  if (before.length + after.length > MAX_WORDS) return [...before.map((text) => ({ kind: 'del', text }) as const), ...after.map((text) => ({ kind: 'ins', text }) as const)]
  const same = (a: string, b: string) => a.trim() === b.trim()
  const parts = diffArrays(before, after, { comparator: same, timeout: 500 }) ?? [{ value: before, removed: true, added: false }, { value: after, removed: false, added: true }]
  // Words that both texts have are taken from the later one; before a word that is gone they keep the space of the earlier one.
  let [was, is] = [0, 0]
  return parts.flatMap(({ value, added, removed }, part) => value.map((_, i): Change => {
    if (removed) return { kind: 'del', text: before[was++]! }
    if (added) return { kind: 'ins', text: after[is++]! }
    const [old, text] = [before[was++]!, after[is++]!]
    return { kind: 'same', text: i === value.length - 1 && parts[part + 1]?.removed && !/\s$/.test(text) ? old : text }
  }))
}

export function wordsOf(text: string): string[] {
  return text.match(/(?:[\p{L}\p{N}\p{M}_]+|[^\s\p{L}\p{N}\p{M}_])\s*|^\s+/gu) ?? []
}

interface Node {
  type: string
  value?: string
  children?: Node[]
}

/** The words that a reader sees of Markdown; a formula is one word. */
export function wordsOfMarkdown(markdown: string): string[] {
  const words: string[] = []
  const take = (node: Node): void => {
    if (node.type === 'inlineCode' && texOf(node.value ?? '')) words.push(node.value!)
    else if ((node.type === 'text' || node.type === 'inlineCode') && node.value?.trim()) words.push(...wordsOf(node.value))
    node.children?.forEach(take)
  }
  take(fromMarkdown(markMath(markdown), { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] }) as Node)
  return words
}

interface Unit {
  parent: Root | Element
  child: ElementContent
  words: string[]
}

/** Marks the words in a tree that another text lacks, and inserts the words that only the other text has. */
export function rehypeChanges({ before }: { before: string[] }) {
  return (tree: Root) => {
    const units: Unit[] = []
    collect(tree, units)
    const changes = changedWords(before, units.flatMap((u) => u.words))
    let at = 0
    units.forEach((unit, i) => {
      const mine: Change[] = []
      for (let left = unit.words.length; left > 0 || (i === units.length - 1 && at < changes.length); at++) {
        const change = changes[at]
        if (!change) break
        mine.push(change)
        if (change.kind !== 'del') left--
      }
      const shown = mine.some((c) => c.kind !== 'same') ? joined(mine).map((c) => drawn(c, unit)) : [unit.child]
      const children = unit.parent.children as ElementContent[]
      children.splice(children.indexOf(unit.child), 1, ...shown)
    })
  }
}

function collect(node: Root | Element, units: Unit[]): void {
  for (const child of node.children as ElementContent[]) {
    if (child.type === 'text' && child.value.trim() !== '') units.push({ parent: node, child, words: wordsOf(child.value) })
    else if (child.type === 'element') {
      const only = child.children[0]
      if (child.tagName === 'code' && only?.type === 'text' && texOf(only.value)) units.push({ parent: node, child, words: [only.value] })
      else collect(child, units)
    }
  }
}

/** Joins adjacent changes of the same kind; a formula is not joined. */
function joined(changes: Change[]): Change[] {
  const pieces: Change[] = []
  for (const change of changes) {
    const last = pieces.at(-1)
    if (last && last.kind === change.kind && !texOf(change.text) && !texOf(last.text)) last.text += change.text
    else pieces.push({ ...change })
  }
  return pieces
}

function drawn({ kind, text }: Change, unit: Unit): ElementContent {
  const formula = texOf(text) !== null
  const content: ElementContent = formula ? { type: 'element', tagName: 'code', properties: {}, children: [{ type: 'text', value: text }] } : { type: 'text', value: text }
  return kind === 'same' ? (formula ? unit.child : content) : { type: 'element', tagName: kind, properties: {}, children: [content] }
}
