import { Component, memo, useMemo, useRef, useState, type ComponentProps, type MouseEvent, type ReactNode } from 'react'
import ReactMarkdown, { type Components } from 'react-markdown'
import rehypeSanitize, { defaultSchema } from 'rehype-sanitize'
import remarkGfm from 'remark-gfm'
import remend from 'remend'
import { CheckIcon, CopyIcon, ExternalIcon, ImageIcon } from '../components/icons'
import { useLabels } from '../state/ui'
import { OutsideLink } from './Link'
import { definitionsOf, emptySplit, fencedCode, hasFootnotes, splitMarkdown, tooDeep } from './split'

/**
 * Text of a model as Markdown. There is no raw HTML, no link but http, https and mailto, and no image is fetched before
 * the reader asks for it. While it streams, open marks at its end are closed.
 */
export const Markdown = memo(function Markdown({ text, streaming = false }: { text: string; streaming?: boolean }) {
  const last = useRef(emptySplit)
  const parts = useMemo(() => (last.current = splitMarkdown(text, last.current)), [text])
  // Footnotes count over the whole text, and stand at its end.
  const whole = useMemo(() => !streaming && hasFootnotes(text), [text, streaming])
  const split = whole ? { chunks: [text] } : parts
  const definitions = useMemo(() => (streaming || whole ? '' : definitionsOf(text)), [text, streaming, whole])
  return (
    <div className="ct-md" dir="auto" data-long={split.chunks.length > GROUP || undefined}>
      {Array.from({ length: Math.ceil(split.chunks.length / GROUP) }, (_, group) => (
        <div className="ct-md-group" key={group}>
          {split.chunks.slice(group * GROUP, (group + 1) * GROUP).map((chunk, i) => (
            <Chunk key={i} text={chunk} streaming={streaming && group * GROUP + i === split.chunks.length - 1} definitions={definitions !== '' && chunk.includes('[') ? definitions : ''} />
          ))}
        </div>
      ))}
    </div>
  )
})

/** Blocks that are laid out together; of a long text, groups out of sight are not laid out. */
const GROUP = 24

const Chunk = memo(function Chunk({ text, streaming, definitions }: { text: string; streaming: boolean; definitions: string }) {
  const labels = useLabels()
  const code = fencedCode(text)
  if (code) return <CodeBlock language={code.language} code={code.code} />
  if (tooDeep(text)) return <pre className="ct-plain">{text}</pre>
  const source = streaming ? remend(text) : definitions ? `${text}\n\n${definitions}` : text
  return (
    <Boundary text={text}>
      <ReactMarkdown
        remarkPlugins={plugins} rehypePlugins={rehypePlugins} remarkRehypeOptions={{ clobberPrefix: '', footnoteLabel: labels.footnotes, footnoteBackLabel: (n) => labels.footnoteBack(n + 1) }}
        components={components} urlTransform={safeUrl}
      >{source}</ReactMarkdown>
    </Boundary>
  )
})

/** Begins the ids of a text, which are its own: those of the page stay apart. */
const ID_PREFIX = 'ct-'

const plugins: ComponentProps<typeof ReactMarkdown>['remarkPlugins'] = [[remarkGfm, { singleTilde: false }]]
const rehypePlugins: ComponentProps<typeof ReactMarkdown>['rehypePlugins'] = [[rehypeSanitize, {
  ...defaultSchema, clobberPrefix: ID_PREFIX, protocols: { href: ['http', 'https', 'mailto'], src: ['http', 'https'] },
}]]

/** The address if it may be followed, else an empty one. */
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

const components: Components = {
  a: ({ href, id, children, node, 'aria-label': label }) => {
    if (!href) return <span className="ct-dead-link">{children}</span>
    if (href.startsWith('#')) return <a href={href} id={id} aria-label={label} onClick={follow}>{children}</a>
    return <OutsideLink href={href} text={textOf(node)}>{children}</OutsideLink>
  },
  img: ({ src, alt }) => <RemoteImage src={typeof src === 'string' ? src : ''} alt={alt ?? ''} />,
  pre: ({ node }) => {
    const code = node?.children[0]
    if (code?.type !== 'element') return null
    const classes = code.properties.className
    const language = Array.isArray(classes) ? String(classes[0] ?? '').replace(/^language-/, '') : ''
    const text = code.children.map((c) => (c.type === 'text' ? c.value : '')).join('').replace(/\n$/, '')
    return <CodeBlock language={language} code={text} />
  },
  table: ({ children }) => <div className="ct-table" tabIndex={0} role="group"><table>{children}</table></div>,
  input: ({ checked, type }) => (type === 'checkbox' ? <input type="checkbox" checked={checked ?? false} disabled readOnly aria-label={checked ? '✓' : '–'} /> : null),
}

type Node = NonNullable<Parameters<Extract<Components['a'], (...args: never) => unknown>>[0]['node']>

/** What a reader sees of an element as text, descriptions of images too. */
function textOf(node: Node | Node['children'][number] | undefined): string {
  if (node?.type === 'text') return node.value
  if (node?.type !== 'element') return ''
  return typeof node.properties.alt === 'string' ? node.properties.alt : node.children.map(textOf).join('')
}

/** Goes to a footnote or back. The page's address stays as it is: it may be the page's route. */
function follow(e: MouseEvent<HTMLAnchorElement>): void {
  e.preventDefault()
  const id = ID_PREFIX + decodeURIComponent(e.currentTarget.hash.slice(1))
  const target = [...(e.currentTarget.closest('.ct-md')?.querySelectorAll<HTMLElement>('[id]') ?? [])].find((element) => element.id === id)
  if (!target) return
  target.scrollIntoView({ block: 'nearest' })
  const link = target.matches('a') ? target : target.querySelector<HTMLElement>('a[href^="#"]')
  link?.focus({ preventScroll: true })
}

/** An image of the model's choosing: a button until the reader asks for it. */
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

/** Code with its language and a button that copies it. */
export function CodeBlock({ language, code }: { language: string; code: string }) {
  return (
    <div className="ct-code">
      <div className="ct-code-head"><span>{language}</span><CopyButton text={code} code /></div>
      <pre dir="ltr" tabIndex={0}><code>{code}</code></pre>
    </div>
  )
}

export function CopyButton({ text, code = false }: { text: string; code?: boolean }) {
  const labels = useLabels()
  const [copied, setCopied] = useState(false)
  const copy = () => {
    void copyText(text).then((done) => {
      if (!done) return
      setCopied(true)
      setTimeout(() => setCopied(false), COPIED_FOR)
    })
  }
  const name = copied ? labels.copied : code ? labels.copyCode : labels.copy
  return <button type="button" className="ct-icon-button ct-copy" onClick={copy} aria-label={name} title={name}>{copied ? <CheckIcon /> : <CopyIcon />}</button>
}

const COPIED_FOR = 1_500

/** Copies text; on pages without TLS through a hidden field. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const before = document.activeElement
    const field = document.createElement('textarea')
    field.value = text
    field.className = 'ct-offscreen'
    document.body.append(field)
    field.select()
    const done = document.execCommand('copy')
    field.remove()
    if (before instanceof HTMLElement) before.focus({ preventScroll: true })
    return done
  }
}

/** Text that the parser cannot take is shown as it is. */
class Boundary extends Component<{ text: string; children: ReactNode }, { failed: string | null }> {
  override state = { failed: null as string | null }

  override componentDidCatch() {
    this.setState({ failed: this.props.text })
  }

  static getDerivedStateFromError() {
    return { failed: '' }
  }

  override render() {
    if (this.state.failed === null) return this.props.children
    return <pre className="ct-plain">{this.props.text}</pre>
  }
}
