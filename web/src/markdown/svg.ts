/**
 * Shows the text of an SVG in a shadow root, under a policy that forbids inline styles: its style elements become style sheets of
 * the root, and its style attributes are set by script. Scripts, links and references to other resources are dropped.
 */
export function showSvg(host: HTMLElement, text: string): void {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' })
  const styles: string[] = []
  const bare = text
    .replace(/<style\b[^>]*>([\s\S]*?)<\/style\s*>/gi, (_, css: string) => {
      styles.push(unescaped(css.replace(/^\s*<!\[CDATA\[|\]\]>\s*$/g, '')))
      return ''
    })
    .replace(/<[a-z][^<>]*>/gi, (tag) => tag.replace(/(\s)style(\s*=\s*["'])/gi, '$1data-ct-css$2'))
  const parsed = new DOMParser().parseFromString(trusted(bare), 'image/svg+xml').documentElement
  if (parsed.localName !== 'svg') throw new Error('this is no SVG')
  const svg = copy(parsed, host.ownerDocument)
  if (!svg) throw new Error('this is no SVG')
  // If it were smaller, its text could not be read, so it scrolls.
  const width = Number.parseFloat(svg.getAttribute('width') ?? '')
  if (width > 0) svg.style.minWidth = `${Math.round(width * MIN_SCALE)}px`
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(harmless(styles.join('\n').replace(/@import[^;]*;/gi, '')))
  const own = new CSSStyleSheet()
  own.replaceSync(':host { display: block } svg { display: block; max-width: 100%; height: auto; margin-inline: auto; font-family: inherit } text { font-family: inherit }')
  root.adoptedStyleSheets = [sheet, own]
  root.replaceChildren(svg)
}

const MIN_SCALE = 0.8

interface Policy {
  createHTML: (text: string) => string
}
let policy: Policy | undefined

/** The text for the parser of a page that requires Trusted Types and allows the policy `chattray`, or has a default one. What is parsed is not shown: copy takes what is allowed. */
function trusted(text: string): string {
  const { trustedTypes: types } = globalThis as { trustedTypes?: { createPolicy: (name: string, policy: Policy) => Policy } }
  try {
    policy ??= types?.createPolicy('chattray', { createHTML: (svg) => svg })
  } catch {
    // the parser takes the text as it is, unless the page requires more
  }
  return policy?.createHTML(text) ?? text
}

const SVG = 'http://www.w3.org/2000/svg'
const elements = new Set([
  'svg', 'g', 'defs', 'marker', 'path', 'rect', 'circle', 'ellipse', 'line', 'polyline', 'polygon', 'text', 'tspan', 'textPath', 'title', 'desc', 'clipPath', 'mask', 'pattern', 'linearGradient', 'radialGradient', 'stop', 'symbol',
  'filter', 'feDropShadow', 'feGaussianBlur', 'feOffset', 'feMerge', 'feMergeNode', 'feFlood', 'feComposite', 'feBlend', 'feColorMatrix',
])
/** The greatest depth of elements; no drawing is deeper. */
const MAX_DEPTH = 60

/** A copy of the allowed elements and attributes, made of elements of this document. */
function copy(from: Element, document: Document, depth = 0): SVGElement | null {
  if (from.namespaceURI !== SVG || !elements.has(from.localName) || depth > MAX_DEPTH) return null
  const made = document.createElementNS(SVG, from.localName)
  for (const { name, value } of from.attributes) {
    if (name === 'data-ct-css') made.style.cssText = harmless(value)
    else if (/^(?:on|xmlns|href$|xlink:)/i.test(name) || harmless(value) !== value) continue
    else made.setAttribute(name, value)
  }
  for (const child of from.childNodes) {
    if (child.nodeType === 3) made.append(child.nodeValue ?? '')
    else if (child.nodeType === 1) {
      const inner = copy(child as Element, document, depth + 1)
      if (inner) made.append(inner)
    }
  }
  return made
}

/** CSS that loads nothing: without functions that may, except for parts of the drawing itself, and without escapes, with which their names can be written. */
function harmless(css: string): string {
  return css.replace(/\\/g, '').replace(/(?:url\(\s*(?!["']?#)|(?:src|image|image-set|cross-fade)\()[^)]*\)?/gi, 'none')
}

function unescaped(css: string): string {
  return css.replace(/&lt;/g, '<').replace(/&gt;/g, '>').replace(/&quot;/g, '"').replace(/&apos;/g, "'").replace(/&amp;/g, '&')
}
