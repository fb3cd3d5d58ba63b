import type { Element, Root } from 'hast'
import { createElement, Fragment, type ReactNode } from 'react'
import type { Components } from 'hast-util-to-jsx-runtime'

/** Elements in which white space has no meaning. */
const TABLE = new Set(['table', 'thead', 'tbody', 'tr'])

/**
 * The elements of a tree that treeOf has made, which has few of all attributes. A component takes the place of the elements
 * that it is named after, and gets their `node`. Keys count the elements of a name, so that the ones before stay while a text grows.
 */
export function elementsOf(tree: Root | Element, components: Partial<Components>): ReactNode {
  return createElement(Fragment, null, ...childrenOf(tree, components))
}

function childrenOf(node: Root | Element, components: Partial<Components>): ReactNode[] {
  const counts: Record<string, number> = {}
  const children: ReactNode[] = []
  for (const child of node.children) {
    if (child.type === 'text' && !('tagName' in node && TABLE.has(node.tagName) && child.value.trim() === '')) children.push(child.value)
    if (child.type !== 'element') continue
    const { tagName } = child
    const count = (counts[tagName] = (counts[tagName] ?? -1) + 1)
    const component = components[tagName as 'a']
    children.push(createElement((component ?? tagName) as string, { ...attributesOf(child), ...(component && { node: child }), key: `${tagName}-${count}` }, ...childrenOf(child, components)))
  }
  return children
}

/** Attributes as React names them. */
function attributesOf({ tagName, properties: { align, ...properties } }: Element) {
  const attributes: Record<string, unknown> = align && /^t[dh]$/.test(tagName) ? { style: { textAlign: align } } : {}
  for (const [name, value] of Object.entries(properties)) {
    attributes[name.replace(/^(aria|data)([A-Z].*)/, (_, kind: string, rest: string) => kind + (kind === 'data' ? rest.replace(/[A-Z]/g, '-$&') : `-${rest}`).toLowerCase())] = Array.isArray(value) ? value.join(' ') : value
  }
  return attributes
}
