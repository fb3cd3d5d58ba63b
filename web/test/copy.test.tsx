import { render, screen, within } from '@testing-library/react'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { defaultLabels } from '../src'
import { CopyButton } from '../src/markdown/copy'
import { htmlOf } from '../src/markdown/html'
import { chat, message, show } from './shown'

const html = (markdown: string) => htmlOf(markdown, defaultLabels)

describe('an answer as HTML', () => {
  it.each([
    ['# Gold\n\nThe **price** *fell*.\nBy `4 %`.', '<h1>Gold</h1><p>The <strong>price</strong> <em>fell</em>.<br>\nBy <code>4 %</code>.</p>'],
    ['| a | b |\n|---|--:|\n| 1 | <2 |', '<table><thead><tr><th>a</th><th align="right">b</th></tr></thead><tbody><tr><td>1</td><td align="right">&lt;2</td></tr></tbody></table>'],
    ['| =f(1) | -/- |\n|---|---|\n| **=g(2)** | 1 |', "<table><thead><tr><th>'=f(1)</th><th>-/-</th></tr></thead><tbody><tr><td>'<strong>=g(2)</strong></td><td>1</td></tr></tbody></table>"],
    ['3. c\n4. d', '<ol start="3"><li>c</li><li>d</li></ol>'],
    ['- [x] done\n- [ ] open', '<ul><li>☑  done</li><li>☐  open</li></ul>'],
    ['```js\na < b\n```', '<pre><code>a &lt; b\n</code></pre>'],
    ['It is $x_1$ and\n\n$$y < 2$$', '<p>It is $x_1$ and</p><p>$$y &lt; 2$$</p>'],
    ['[one](https://example.com/?a="1&b) [two][t]\n\n[t]: https://example.com/two', '<p><a href="https://example.com/?a=%221&amp;b">one</a> <a href="https://example.com/two">two</a></p>'],
    ['![A plot](https://example.com/plot.png)', '<p><a href="https://example.com/plot.png">A plot</a></p>'],
    ['Raw <script>alert(1)</script><b onclick="x()">bold</b> [bad](javascript:alert(1))', '<p>Raw alert(1)bold bad</p>'],
  ])('%s', (markdown, expected) => {
    expect(html(markdown).replace(/>\n+</g, '><').trim()).toBe(expected)
  })

  it('has footnotes without links that lead nowhere', () => {
    expect(html('Gold[^1].\n\n[^1]: A note.')).toContain('A note.')
    expect(html('Gold[^1].\n\n[^1]: A note.')).not.toContain('<a')
  })
})

describe('copying an answer', () => {
  const answer = () => show(({ path }) => (path.includes('/messages') || path.includes('/api/conversations') || path.includes('/api/chats') ? chat([message('q', 'user', 'Gold?'), message('a', 'assistant', '[[tool:0]] It **fell**.')]) : undefined), {}, 'k')
  afterEach(() => vi.unstubAllGlobals())

  /** A clipboard that takes several formats, or refuses them. */
  function clipboard(takes: boolean) {
    const [items, texts]: [Record<string, Blob>[], string[]] = [[], []]
    vi.stubGlobal('ClipboardItem', class {
      constructor(readonly formats: Record<string, Blob>) {}
    })
    Object.defineProperty(navigator, 'clipboard', { configurable: true, value: {
      write: async ([item]: { formats: Record<string, Blob> }[]) => (takes ? items.push(item!.formats) : Promise.reject(new Error('no'))),
      writeText: async (text: string) => texts.push(text),
    } })
    return { items, texts }
  }

  async function press() {
    sessionStorage.setItem('chattray:k:conversation', '7')
    const { user } = answer()
    const row = (await screen.findByText('fell')).closest<HTMLElement>('.ct-message')!
    const { items, texts } = clipboard(true)
    await user.click(within(row).getByRole('button', { name: 'Copy' }))
    await within(row).findByRole('button', { name: 'Copied' })
    return { user, row, items, texts }
  }

  it('puts HTML beside its Markdown', async () => {
    const { items, texts } = await press()
    expect(texts).toEqual([])
    expect(Object.keys(items[0]!).sort()).toEqual(['text/html', 'text/plain'])
    expect(await items[0]!['text/plain']!.text()).toBe('It **fell**.')
    expect(await items[0]!['text/html']!.text()).toBe('<p>It <strong>fell</strong>.</p>')
  })

  it('is announced', async () => {
    await press()
    expect(screen.getAllByRole('status')[0]!.textContent).toBe('Copied')
  })

  it('says that nothing was copied, until it is copied', async () => {
    const { user, row } = await press()
    Object.defineProperty(navigator, 'clipboard', { configurable: true, value: undefined })
    Object.defineProperty(document, 'execCommand', { configurable: true, value: () => false })
    await user.click(within(row).getByRole('button', { name: 'Copied' }))
    expect((await within(row).findByRole('alert')).textContent).toBe('Not copied')
    expect(within(row).queryByRole('button', { name: 'Copied' })).toBeNull()
    Object.defineProperty(document, 'execCommand', { configurable: true, value: () => true })
    await user.click(within(row).getByRole('button', { name: 'Copy' }))
    await within(row).findByRole('button', { name: 'Copied' })
    expect(within(row).queryByRole('alert')).toBeNull()
  })

  it('copies the Markdown alone where the browser takes nothing else', async () => {
    const { user, row } = await press()
    const refusing = clipboard(false)
    await user.click(within(row).getByRole('button', { name: /Copy|Copied/ }))
    await vi.waitFor(() => expect(refusing.texts).toEqual(['It **fell**.']))
  })
})

it('what copies on a page without TLS is there before it is pressed', async () => {
  // WebKit refuses it after a file has been loaded.
  const loaded = vi.fn()
  vi.doMock('../src/markdown/copyByField', () => {
    loaded()
    return { copyByField: () => true }
  })
  onTestFinished(() => vi.doUnmock('../src/markdown/copyByField'))
  Object.defineProperty(navigator, 'clipboard', { configurable: true, value: undefined })
  render(<CopyButton text="words" />)
  await vi.waitFor(() => expect(loaded).toHaveBeenCalled())
})
