import type { Element } from 'hast'
import type { Components } from 'hast-util-to-jsx-runtime'
import { createContext, memo, useContext, useMemo, useRef, useState, type MouseEvent, type ReactNode } from 'react'
import remend from 'remend'
import { ExternalIcon, ImageIcon } from '../components/icons'
import { Boundary } from '../state/Boundary'
import { useLabels } from '../state/tray'
import { CodeBlock } from './Code'
import { elementsOf } from './elements'
import { OutsideLink } from './Link'
import { markMath, texOf } from './math'
import { Formula } from './Formula'
import { KeptSelection } from './KeptSelection'
import { MarkdownPartsProvider, useMarkdownParts, type MarkdownParts } from './plugins'
import { Citations, rehypeCitations, useSources } from './sources'
import { definitionsOf, emptySplit, fencedCode, hasFootnotes, MAX_WHOLE, splitMarkdown, tooMuch } from './split'
import { MarkdownTable } from './Table'
import { ID_PREFIX, safeUrl, treeOf, type TreePlugin } from './tree'

export { safeUrl }

export interface MarkdownProps extends MarkdownParts {
  text: string
  /** More text will follow. */
  streaming?: boolean | undefined
}

/**
 * A model's text as Markdown, with math, coloured code, diagrams and tables. Raw HTML is dropped, links are http, https or
 * mailto, and an image is fetched only when the reader asks for it. While the text streams, open marks at its end are closed.
 */
export const Markdown = memo(function Markdown({ components, plugins, ...props }: MarkdownProps) {
  if (!components && !plugins) return <Answer {...props} />
  return <MarkdownPartsProvider components={components} plugins={plugins}><Answer {...props} /></MarkdownPartsProvider>
})

function Answer({ text, streaming = false }: MarkdownProps) {
  const last = useRef(emptySplit)
  const parts = useMemo(() => (last.current = splitMarkdown(text, last.current)), [text])
  // Footnotes are numbered over the whole text, and are shown at its end.
  const whole = useMemo(() => !streaming && hasFootnotes(text), [text, streaming])
  const split = whole ? { chunks: [text] } : parts
  const definitions = useMemo(() => (streaming || whole ? '' : definitionsOf(text)), [text, streaming, whole])
  return (
    <KeptSelection className="ct-md" dir="auto" data-long={split.chunks.length > GROUP || undefined}>
      {Array.from({ length: Math.ceil(split.chunks.length / GROUP) }, (_, group) => (
        <div className="ct-md-group" key={group}>
          {split.chunks.slice(group * GROUP, (group + 1) * GROUP).map((chunk, i) => (
            <Chunk key={i} text={chunk} streaming={streaming && group * GROUP + i === split.chunks.length - 1} definitions={definitions !== '' && chunk.includes('[') ? definitions : ''} most={whole ? MAX_WHOLE : undefined} />
          ))}
        </div>
      ))}
    </KeptSelection>
  )
}

/** Blocks that are laid out together. Groups of a long text that are out of sight are not laid out. */
const GROUP = 8

interface ChunkProps {
  text: string
  streaming: boolean
  definitions: string
  /** The most marks that the block may have. */
  most?: number
  /** Changes the tree after it has been made safe. */
  more?: readonly TreePlugin[]
}

/** One block of Markdown, whose tree is changed by plugins before it is shown. */
export function MarkdownChunk({ text, plugins }: { text: string; plugins: readonly TreePlugin[] }) {
  return <Chunk text={text} streaming={false} definitions="" more={plugins} />
}

const Chunk = memo(function Chunk({ text, streaming, definitions, most, more = nothing }: ChunkProps) {
  const code = fencedCode(text)
  if (code) return <CodeBlock language={code.language} code={code.code} streaming={streaming} />
  if (tooMuch(text, most)) return <pre className="ct-plain">{text}</pre>
  const marked = markMath(text, streaming)
  const source = streaming ? remend(marked, { katex: false }) : definitions ? `${marked}\n\n${definitions}` : marked
  // Text that the parser cannot handle is shown unchanged.
  return <Boundary instead={<pre className="ct-plain">{text}</pre>}><Growing.Provider value={streaming}><Tree source={source} more={more} /></Growing.Provider></Boundary>
})

function Tree({ source, more }: { source: string; more: readonly TreePlugin[] }) {
  const labels = useLabels()
  const sources = useSources()
  // Only footnotes have words. A function among the labels may be a new one at each render of the page.
  const words = hasFootnotes(source) ? labels.footnoteBack : undefined
  const tree = useMemo(() => treeOf(source, labels, [...more, rehypeCitations({ sources })]), [source, labels.footnotes, words, more, sources])
  return elementsOf(tree, shown)
}

const nothing: readonly TreePlugin[] = []

/** Whether more of a block will follow. The component stays the same at its end, so that nothing is built twice. */
const Growing = createContext(false)

const shown: Partial<Components> = {
  a: ({ href, id, children, node, 'aria-label': label }) => {
    if (!href) return <span className="ct-dead-link">{children}</span>
    if (href.startsWith('#')) return <a href={href} id={id} aria-label={label} onClick={follow}>{children}</a>
    return <Link href={href} text={textOf(node)}>{children}</Link>
  },
  img: ({ src, alt }) => <Image src={typeof src === 'string' ? src : ''} alt={alt ?? ''} />,
  code: ({ children }) => {
    const tex = typeof children === 'string' ? texOf(children) : null
    return tex ? <Formula {...tex} /> : <code>{children}</code>
  },
  cite: ({ node }) => <Citations numbers={String(node?.properties.dataNumbers ?? '').split(',').map(Number)} />,
  pre: ({ node }) => <CodeBlock {...codeOf(node)} streaming={useContext(Growing)} />,
  table: ({ node, children }) => <MarkdownTable node={node} streaming={useContext(Growing)}>{children}</MarkdownTable>,
  input: ({ checked, type }) => (type === 'checkbox' ? <input type="checkbox" checked={checked ?? false} disabled readOnly aria-label={checked ? '✓' : '–'} /> : null),
}

function codeOf(node: Element | undefined): { language: string; code: string } {
  const code = node?.children[0]
  if (code?.type !== 'element') return { language: '', code: '' }
  const classes = code.properties.className
  const language = Array.isArray(classes) ? String(classes[0] ?? '').replace(/^language-/, '') : ''
  return { language, code: code.children.map((c) => (c.type === 'text' ? c.value : '')).join('').replace(/\n$/, '') }
}

function Link({ href, text, children }: { href: string; text: string; children: ReactNode }) {
  const { components } = useMarkdownParts({})
  const shown = <OutsideLink href={href} text={text}>{children}</OutsideLink>
  return components?.Link ? <span className="ct-own"><Boundary of={href} instead={shown}><components.Link href={href} text={text}>{shown}</components.Link></Boundary></span> : shown
}

function Image({ src, alt }: { src: string; alt: string }) {
  const { components } = useMarkdownParts({})
  const shown = <RemoteImage src={src} alt={alt} />
  return components?.Image && safeUrl(src) !== '' ? <span className="ct-own"><Boundary of={src} instead={shown}><components.Image src={src} alt={alt}>{shown}</components.Image></Boundary></span> : shown
}

/** The visible text of an element, including descriptions of images. */
function textOf(node: Element | Element['children'][number] | undefined): string {
  if (node?.type === 'text') return node.value
  if (node?.type !== 'element') return ''
  return typeof node.properties.alt === 'string' ? node.properties.alt : node.children.map(textOf).join('')
}

/** Scrolls to a footnote or back. The page's address is not changed, because it may be the page's route. */
function follow(e: MouseEvent<HTMLAnchorElement>): void {
  e.preventDefault()
  const id = ID_PREFIX + decodeURIComponent(e.currentTarget.hash.slice(1))
  const target = [...(e.currentTarget.closest('.ct-md')?.querySelectorAll<HTMLElement>('[id]') ?? [])].find((element) => element.id === id)
  if (!target) return
  target.scrollIntoView({ block: 'nearest' })
  const link = target.matches('a') ? target : target.querySelector<HTMLElement>('a[href^="#"]')
  link?.focus({ preventScroll: true })
}

/** An image that the model names: a button until the reader asks for it. */
function RemoteImage({ src, alt }: { src: string; alt: string }) {
  const labels = useLabels()
  const [shown, setShown] = useState<'no' | 'yes' | 'failed'>('no')
  const host = hostOf(src)
  if (!src || !host) return <span className="ct-dead-link">{alt || src}</span>
  if (shown === 'yes') return <img src={src} alt={alt} loading="lazy" referrerPolicy="no-referrer" onError={() => setShown('failed')} />
  return (
    <span className="ct-remote-image">
      <button type="button" className="ct-button ct-small" onClick={() => setShown('yes')}><ImageIcon />{alt ? `${alt} · ` : ''}{labels.imageShow(host)}</button>
      {shown === 'failed' && <OutsideLink href={src} text={alt}>{labels.imageFailed} <ExternalIcon /></OutsideLink>}
    </span>
  )
}

function hostOf(src: string): string {
  try {
    return new URL(src, globalThis.location?.href).host
  } catch {
    return ''
  }
}
