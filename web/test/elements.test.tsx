import { toJsxRuntime } from 'hast-util-to-jsx-runtime'
import { isValidElement, type ReactNode } from 'react'
import { Fragment, jsx, jsxs } from 'react/jsx-runtime'
import { describe, expect, it } from 'vitest'
import { rehypeChanges, wordsOfMarkdown } from '../src/documents/words'
import { defaultLabels } from '../src/labels/tray'
import { elementsOf } from '../src/markdown/elements'
import { rehypeCitations } from '../src/markdown/sources'
import { treeOf, type TreePlugin } from '../src/markdown/tree'

const source = { number: 1, title: 'One', detail: '', url: 'https://example.com' }
const texts: Record<string, string> = {
  'a table with alignments': '| a | b | c | d |\n|:--|--:|:-:|---|\n| 1 | **2** | `3` | |\n\n| only |\n|---|',
  'footnotes that are named twice': 'A[^x] and B[^x] and C[^y].\n\n[^x]: Once.\n\n[^y]: Twice\n\n    - a list\n',
  'lists with tasks and a start': '7. seven\n8. eight\n   - [x] done\n   - [ ] open\n\n     more\n- loose\n\n- list',
  'links, images and titles': '[a](/b "c") ![d](https://e.example/f.png "g") [h](javascript:i) <https://j.example> [k][l] www.m.example\n\n[l]: <n o> "p"',
  'code with a language and without': '```c++ title\n\n x\n```\n\n    indented\n\n`` ` ``',
  'empty parts': '>\n\n#\n\n- \n\n***\n\n\\\nx',
  'headings and quotes': '# A\n\n###### B\n\n> C\n>\n> > D\n\n~~E~~ F\nG',
  'sources': 'One [1] two [1, 1] three',
  'HTML': 'a *b* <i onclick="x">c</i> &amp; &lt;d&gt;',
}
texts['all of them'] = Object.values(texts).join('\n\n')
const plugins: Record<string, TreePlugin[]> = {
  'sources': [rehypeCitations({ sources: new Map([[1, source]]) })],
  'headings and quotes': [rehypeChanges({ before: wordsOfMarkdown('# A\n\nB\n\n> E\n\nG and H') })],
}

/** What React gets: types, keys and attributes, with children as a list. */
function given(node: ReactNode): unknown {
  if (!isValidElement<{ children?: ReactNode; node?: unknown }>(node)) return node
  const { children, node: _, ...props } = node.props
  return { type: node.type, key: node.key, props, children: [children].flat().filter((child) => child !== undefined && child !== '').map(given) }
}

describe('the elements of Markdown', () => {
  it.each(Object.keys(texts))('%s: as hast-util-to-jsx-runtime makes them', (name) => {
    const tree = treeOf(texts[name]!, defaultLabels, plugins[name] ?? [])
    const usual = toJsxRuntime(tree, { Fragment, jsx, jsxs, ignoreInvalidStyle: true, passKeys: true }) as ReactNode
    expect(given(elementsOf(tree, {}))).toEqual(given(usual))
    expect(JSON.stringify(given(usual)).length).toBeGreaterThan(40)
  })

  it('gives components the nodes whose place they take', () => {
    const A = () => null
    const tree = treeOf('x [y](/z)', defaultLabels, [])
    const seen = (node: ReactNode): unknown[] => (isValidElement<{ children?: ReactNode; node?: unknown }>(node) ? [...(node.type === A ? [node.props.node] : []), ...[node.props.children].flat().flatMap(seen)] : [])
    expect(seen(elementsOf(tree, { a: A }))).toMatchObject([{ tagName: 'a', properties: { href: '/z' } }])
  })
})
