import type { Element, ElementContent, Root, Text } from 'hast'
import { createContext, useContext, useEffect, useId, useMemo, useRef, useState, type ReactNode } from 'react'
import { later } from '../components/later'
import { OWN_ESCAPE } from '../state/keys'
import { cut } from '../state/values/cut'
import { useLabels } from '../state/tray'
import type { SourceCardProps } from './SourceCard'

const SourceCard = later<SourceCardProps>(() => import('./SourceCard'))

/** The source to which a number in brackets refers. */
export interface Source {
  number: number
  title: string
  /** The text of the entry. */
  detail: string
  /** Its address; empty if unknown. */
  url: string
}

/** The most sources of one answer, and the most characters of an entry. */
const MAX_SOURCES = 200
const MAX_DETAIL = 400

/**
 * The sources of an answer by their numbers: entries of a list in the answer itself, which take precedence, and of the lists
 * that its tools returned. A number with different entries of two tools is ambiguous and has no source.
 */
export function sourcesOf(outputs: readonly string[], text: string): ReadonlyMap<number, Source> {
  const found = new Map<number, Source | null>()
  for (const output of outputs) {
    for (const source of listed(output)) {
      const before = found.get(source.number)
      if (before === undefined) found.set(source.number, source)
      else if (before !== null && before.url !== source.url) found.set(source.number, null)
    }
  }
  const all = [...found.values()].filter((s) => s !== null)
  for (const own of ownList(text)) {
    const same = all.find((s) => s.url !== '' && (s.url === own.url || (own.title !== '' && own.title.includes(s.title) && s.title.length > 12)))
    found.set(own.number, same ? { ...same, number: own.number } : own)
  }
  return new Map([...found].filter((entry): entry is [number, Source] => entry[1] !== null).slice(0, MAX_SOURCES))
}

const ADDRESS = /https?:\/\/[^\s<>()[\]]+[^\s<>()[\].,;:!?'"]/

/** Numbered entries with an address in one of the lines that follow. */
function listed(output: string): Source[] {
  const entries: Source[] = []
  const heads = [...output.matchAll(/^(\d{1,3})\. (\S[^\n]{0,300})$/gm)]
  heads.forEach((head, i) => {
    const rest = output.slice(head.index + head[0].length, heads[i + 1]?.index ?? output.length).slice(0, 4000)
    const url = ADDRESS.exec(rest)?.[0] ?? ''
    if (url === '') return
    const detail = cut(rest.split('\n').map((line) => line.trim()).filter((line) => line !== '' && line !== url).join(' · '), MAX_DETAIL)
    entries.push({ number: Number(head[1]), title: head[2]!.trim(), detail, url })
  })
  return entries
}

/** Lines of the answer that begin with a number in brackets. */
function ownList(text: string): Source[] {
  return [...text.matchAll(/^[ \t]*(?:[-*+][ \t]+)?\[(\d{1,3})\](?!:|\()[ \t]+(\S[^\n]{3,600})$/gm)].map((m) => {
    const url = ADDRESS.exec(m[2]!)?.[0] ?? doiOf(m[2]!)
    const title = m[2]!.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(ADDRESS, '').replace(/[*_`]/g, '').replace(/[\s:–—-]+$/, '').trim()
    return { number: Number(m[1]), title: cut(title, 300), detail: '', url }
  })
}

function doiOf(text: string): string {
  const doi = /\b10\.\d{4,9}\/[^\s<>"]+[^\s<>".,;)]/.exec(text)?.[0]
  return doi ? `https://doi.org/${doi}` : ''
}

const none: ReadonlyMap<number, Source> = new Map()
const Context = createContext(none)

/** Provides sources to the Markdown below it. */
export function SourcesProvider({ outputs, text, children }: { outputs: readonly string[]; text: string; children: ReactNode }) {
  const cited = /\[\d{1,3}(?:[\],]|\s*[–-])/.test(text)
  const key = cited ? outputs.map((o) => o.length).join() : ''
  const lines = cited && /^[ \t]*(?:[-*+][ \t]+)?\[\d/m.test(text) ? text : ''
  const found = useMemo(() => (cited ? sourcesOf(outputs, lines) : none), [cited, key, lines])
  // Equal sources are the same value, so that complete text is not drawn again while more arrives.
  const sources = useRef(found)
  if (!sameSources(sources.current, found)) sources.current = found
  return <Context.Provider value={sources.current}>{children}</Context.Provider>
}

function sameSources(a: ReadonlyMap<number, Source>, b: ReadonlyMap<number, Source>): boolean {
  return a === b || (a.size === b.size && [...a].every(([number, one]) => {
    const other = b.get(number)
    return other !== undefined && one.title === other.title && one.detail === other.detail && one.url === other.url
  }))
}

export function useSources(): ReadonlyMap<number, Source> {
  return useContext(Context)
}

const NUMBERS = /\[(\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*)\]/g
const LEFT_ALONE = new Set(['code', 'pre', 'a', 'cite'])

/** Turns numbers in brackets that refer to a source into elements `cite`. */
export function rehypeCitations({ sources }: { sources: ReadonlyMap<number, Source> }) {
  return (tree: Root) => {
    if (sources.size > 0) visit(tree, sources)
  }
}

function visit(node: Root | Element, sources: ReadonlyMap<number, Source>): void {
  const children: ElementContent[] = []
  for (const child of node.children as ElementContent[]) {
    if (child.type === 'text') children.push(...cited(child, sources))
    else {
      if (child.type === 'element' && !LEFT_ALONE.has(child.tagName)) visit(child, sources)
      children.push(child)
    }
  }
  node.children = children
}

function cited(text: Text, sources: ReadonlyMap<number, Source>): ElementContent[] {
  const parts: ElementContent[] = []
  let at = 0
  for (const match of text.value.matchAll(NUMBERS)) {
    const numbers = numbersOf(match[1]!)
    if (!numbers.every((n) => sources.has(n))) continue
    const last = parts.at(-1)
    const between = text.value.slice(at, match.index)
    if (last?.type === 'element' && between.trim() === '' && !between.includes('\n')) {
      // Brackets one after the other are one group.
      last.properties.dataNumbers = [...new Set([...String(last.properties.dataNumbers).split(','), ...numbers])].join()
      last.children = [{ type: 'text', value: `${(last.children[0] as Text).value}${between}${match[0]}` }]
      at = match.index + match[0].length
      continue
    }
    if (match.index > at) parts.push({ type: 'text', value: text.value.slice(at, match.index) })
    parts.push({ type: 'element', tagName: 'cite', properties: { dataNumbers: numbers.join() }, children: [{ type: 'text', value: match[0] }] })
    at = match.index + match[0].length
  }
  if (at === 0) return [text]
  if (at < text.value.length) parts.push({ type: 'text', value: text.value.slice(at) })
  return parts
}

/** The most sources in one pair of brackets. */
const MAX_RANGE = 20

function numbersOf(text: string): number[] {
  return text.split(/[,;]/).flatMap((part) => {
    const [from = 0, to = from] = part.split(/[–-]/).map(Number)
    return to < from || to - from >= MAX_RANGE ? [from, to] : Array.from({ length: to - from + 1 }, (_, i) => from + i)
  })
}

/** Numbers of sources; each shows a card with its source while the pointer is on it, while it has the focus, or when it is pressed. */
export function Citations({ numbers }: { numbers: number[] }) {
  const labels = useLabels()
  const [all, setAll] = useState(false)
  // One more takes no more room than the button.
  const shown = all || numbers.length <= FIRST + 1 ? numbers : numbers.slice(0, FIRST)
  const more = numbers.length - shown.length
  return (
    <span className="ct-cites">
      {shown.map((n, i) => <Citation key={n} number={n} focused={all && i === FIRST} />)}
      {more > 0 && <span className="ct-cite"><button type="button" aria-label={labels.moreSources(more)} onClick={() => setAll(true)}>+{more}</button></span>}
    </span>
  )
}

/** The sources of a group that are shown before the reader asks for all. */
const FIRST = 3

/** focused gives it the focus when it appears, which was on the button that it replaces. */
function Citation({ number, focused }: { number: number; focused: boolean }) {
  const labels = useLabels()
  const source = useSources().get(number)
  const id = useId()
  const button = useRef<HTMLButtonElement>(null)
  const [open, setOpen] = useState<'' | 'hover' | 'pressed'>('')
  const leaving = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => {
    if (focused) button.current?.focus()
    return () => clearTimeout(leaving.current)
  }, [focused])
  if (!source) return <>[{number}]</>
  const enter = () => {
    clearTimeout(leaving.current)
    setOpen((now) => now || 'hover')
  }
  const leave = () => {
    leaving.current = setTimeout(() => setOpen((now) => (now === 'hover' ? '' : now)), LEAVE_AFTER)
  }
  return (
    <span className="ct-cite" onPointerEnter={(e) => e.pointerType === 'mouse' && enter()} onPointerLeave={leave} onBlur={(e) => !e.currentTarget.contains(e.relatedTarget) && setOpen('')}>
      <button ref={button} type="button" {...(open && OWN_ESCAPE)} aria-label={labels.source(number, source.title)} aria-expanded={open !== ''} aria-controls={open ? id : undefined} onClick={() => setOpen((now) => (now === 'pressed' ? '' : 'pressed'))}>{number}</button>
      {open !== '' && <SourceCard id={id} source={source} button={button} onClose={() => setOpen('')} />}
    </span>
  )
}

/** How long a card waits for the pointer, in milliseconds. */
const LEAVE_AFTER = 150
