import type { Element, ElementContent, Root } from 'hast'
import { createElement, type ComponentType, type JSX, type ReactNode } from 'react'

/** Components by the names of elements. Each gets the element's attributes, and its node. */
export type ElementComponents = { [Name in keyof JSX.IntrinsicElements]?: ComponentType<JSX.IntrinsicElements[Name] & { node: Element }> }

/** A tree as React's elements. Among children, the key of an element is its name and how many of that name are before it, so that it stays the same while text grows. */
export function elementsOf(parent: Root | Element, components: ElementComponents = {}): ReactNode[] {
  const counts: Record<string, number> = {}
  return (parent.children as ElementContent[]).map((node) => {
    // React refuses space between the parts of a table.
    if (node.type === 'text') return parent.type === 'element' && /^t(able|head|body|foot|r)$/.test(parent.tagName) && node.value.trim() === '' ? null : node.value
    if (node.type !== 'element') return null
    const { tagName: name } = node
    const component = components[name as 'p']
    const key = `${name}-${(counts[name] = (counts[name] ?? 0) + 1)}`
    return createElement(component ?? (name as 'p'), { ...attributesOf(node), key, ...(component && { node }) } as JSX.IntrinsicElements['p'] & { node: Element }, ...elementsOf(node, components))
  })
}

/** The properties of a node as React names and takes them. */
function attributesOf({ properties = {} }: Partial<Element>): Record<string, unknown> {
  const attributes: Record<string, unknown> = {}
  for (const [given, value] of Object.entries(properties)) {
    const name = written.get(given) ?? given
    if (name === 'align') attributes.style = { textAlign: value }
    else if (name === 'style') attributes.style = styleOf(String(value))
    else attributes[/^(aria|data)[A-Z]/.test(name) ? dashed(name) : name] = Array.isArray(value) ? value.join(' ') : value
  }
  return attributes
}

/** Names that Shiki writes as HTML does. */
const written = new Map([['class', 'className'], ['tabindex', 'tabIndex']])

/** Names of ARIA have one dash. */
const dashed = (name: string) => (name.startsWith('aria') ? `aria-${name.slice(4)}` : name.replace(/[A-Z]/g, '-$&')).toLowerCase()

/** A style as React takes it; none where a part cannot be read. */
function styleOf(text: string): Record<string, string> {
  const style: Record<string, string> = {}
  for (const part of text.split(';').filter((t) => t.trim() !== '')) {
    const [, name, value] = /^\s*([\w-]+)\s*:\s*(.*\S)/.exec(part) ?? []
    if (name === undefined || value === undefined) return {}
    style[name.startsWith('--') ? name : name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())] = value
  }
  return style
}
