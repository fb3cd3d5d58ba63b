import { fireEvent, render, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { readFileSync } from 'node:fs'
import { StrictMode } from 'react'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { partialTexts } from '../src/documents/partial'
import { misledFrom } from '../src/markdown/Link'
import { Markdown, safeUrl } from '../src/markdown/Markdown'
import { emptySplit, fencedCode, splitMarkdown } from '../src/markdown/split'
import { Whole } from '../src/markdown/TableFrame'

const texts = ['markdown', 'hostile', 'long', 'help'].map((name) => readFileSync(`../agents/demo/texts/${name}.md`, 'utf8'))

describe('splitting', () => {
  it.each(texts.map((text, i) => [i, text] as const))('text %i: nothing is lost, and growing gives what the whole gives', (_, text) => {
    let split = emptySplit
    for (let end = 0; end <= text.length; end += 7) {
      split = splitMarkdown(text.slice(0, end), split)
      expect(split.chunks.join('').trim()).toBe(text.slice(0, end).trim())
    }
    expect(splitMarkdown(text, split).chunks).toEqual(splitMarkdown(text).chunks)
    expect(splitMarkdown(text).chunks.length).toBeGreaterThan(3)
  })

  it('keeps code, lists and indented parts whole', () => {
    expect(splitMarkdown('a\n\n```\nx\n\ny\n```\n\nb').chunks).toHaveLength(3)
    expect(splitMarkdown('1. a\n\n2. b\n\n   c\n\nd').chunks).toHaveLength(2)
    expect(splitMarkdown('- a\n\n    code\n\n- b').chunks).toHaveLength(1)
  })

  it('cuts around code that no blank line is around, and where a long list or text without blank lines can be cut', () => {
    expect(splitMarkdown('So:\n```js\na\n\nb\n```\nThat is it.').chunks).toEqual(['So:\n', '```js\na\n\nb\n```\n', 'That is it.'])
    expect(splitMarkdown('- So:\n  ```js\n  a\n  ```\n  That is it.').chunks).toHaveLength(1)
    const items = Array.from({ length: 2000 }, (_, i) => `${i + 1}. Item\n   - nested`).join('\n')
    const { chunks } = splitMarkdown(items)
    expect(chunks.join('')).toBe(items)
    expect(Math.max(...chunks.map((c) => c.length))).toBeLessThan(8_100)
    expect(chunks.every((c) => /^\d+\. Item/.test(c))).toBe(true)
    expect(splitMarkdown('# A\ntext\n'.repeat(5000)).chunks.length).toBeGreaterThan(4)
  })

  it('knows code by its fences', () => {
    expect(fencedCode('```go\nx := 1\n```\n')).toEqual({ language: 'go', code: 'x := 1' })
    expect(fencedCode('```go\nx := 1\n')).toEqual({ language: 'go', code: 'x := 1' })
    expect(fencedCode('```\n```\n')).toEqual({ language: '', code: '' })
    expect(fencedCode('```a\nx\n```\nmore\n```\n')).toBeNull()
    expect(fencedCode('text')).toBeNull()
  })
})

describe('Markdown', () => {
  it('gives elements the attributes that their Markdown has', () => {
    const { container } = render(<Markdown text={'3. three\n\n|a|b|\n|:-:|-|\n|1|**2**|\n\n- [x] done\n\n~~old~~[^n]\n\n[^n]: Note'} />)
    const shown = (selector: string) => container.querySelector(selector)
    expect(shown('ol')?.getAttribute('start')).toBe('3')
    expect([...container.querySelectorAll('td')].map((cell) => [cell.style.textAlign, cell.innerHTML])).toEqual([['center', '1'], ['', '<strong>2</strong>']])
    expect(shown('ul.contains-task-list > li.task-list-item > input')).toBeTruthy()
    expect(shown('section[data-footnotes].footnotes a')?.getAttribute('aria-label')).toBe('Back to reference 1')
    expect(shown('h2')?.getAttribute('aria-level')).toBe('4')
  })

  it('counts footnotes over the whole text, and leads to them and back without touching the page’s address', async () => {
    const text = 'First[^a].\n\nSecond[^b], and again[^a].\n\n[^a]: Source one\n[^b]: Source two\n'
    const { container } = render(<><Markdown text={text} /><Markdown text={text} /></>)
    const second = container.querySelectorAll<HTMLElement>('.ct-md')[1]!
    expect([...second.querySelectorAll('sup a')].map((a) => a.textContent)).toEqual(['1', '2', '1'])
    expect(second.querySelectorAll('section')).toHaveLength(1)
    expect([...second.querySelectorAll('section li')].map((li) => li.textContent?.trim().slice(0, 10))).toEqual(['Source one', 'Source two'])
    location.hash = '#/route'
    const user = userEvent.setup()
    await user.click(second.querySelectorAll('sup a')[1]!)
    expect(document.activeElement).toBe(second.querySelectorAll('section li')[1]!.querySelector('a'))
    await user.click(document.activeElement!)
    expect(document.activeElement).toBe(second.querySelectorAll('sup a')[1])
    expect(location.hash).toBe('#/route')
  })

  const repeated = (mark: string, times: number) => mark.repeat(times)
  it.each([
    ['brackets', repeated('[', 20_000) + repeated(']', 20_000)], ['links without an end', repeated('[a](', 20_000)], ['emphasis', repeated('**a *b ', 15_000)], ['notes', repeated('[^a] ', 20_000)], ['underlines', repeated('x\n=\n', 10_000)],
    ['math', repeated('$$ a ', 25_000)], ['math without an end', repeated('\\[', 30_000)], ['a deep list', Array.from({ length: 400 }, (_, i) => `${' '.repeat(2 * i)}- x`).join('\n')], ['one line', repeated('lorem ipsum ', 20_000)],
  ])('shows what nobody can read as it is written: %s', (_, text) => {
    for (const streaming of [false, true]) {
      const { container, unmount } = render(<Markdown text={text} streaming={streaming} />)
      expect(container.querySelector('.ct-plain')?.textContent).toBe(text)
      unmount()
    }
  })

  it('renders long lists, tables and notes that somebody may read', () => {
    const list = Array.from({ length: 3000 }, (_, i) => `${i + 1}. Item **${i}**`).join('\n')
    const { container } = render(<Markdown text={list} />)
    expect(container.querySelectorAll('li')).toHaveLength(3000)
    expect([...container.querySelectorAll('ol')].map((ol) => ol.start).toSpliced(2)).toEqual([1, container.querySelector('ol')!.children.length + 1])
    const table = render(<Markdown text={`|a|b|c|d|\n|-|-|-|-|\n${repeated('|1|2|3|4|\n', 800)}`} />)
    expect(table.container.querySelector('.ct-plain')).toBeNull()
    expect(table.container.querySelector('table')).toBeTruthy()
    const notes = render(<Markdown text={`${repeated('Some words and a [link](https://example.com), and *more*.\n\n', 1000)}Noted[^1].\n\n[^1]: Here.\n`} />)
    expect(notes.container.querySelector('.ct-plain')).toBeNull()
    expect(notes.container.querySelectorAll('section li')).toHaveLength(1)
  })

  it('shows nothing of HTML, dead links and no image', () => {
    const { container } = render(<Markdown text={texts[1]!} />)
    expect(container.querySelectorAll('script, iframe, img, style, svg[onload]')).toHaveLength(0)
    for (const link of container.querySelectorAll('a')) expect(link.getAttribute('href')).toMatch(/^https?:/)
    expect(container.querySelectorAll('.ct-dead-link').length).toBeGreaterThan(3)
    expect(container.textContent).toContain('Show image from example.com')
    expect(container.querySelectorAll('tbody tr')).toHaveLength(30)
  })

  it('closes what is open while it streams', () => {
    const { container } = render(<Markdown text="This is **bold" streaming />)
    expect(container.querySelector('strong')?.textContent).toContain('bold')
    expect(container.textContent).not.toContain('**')
  })

  it('finds definitions in other blocks', () => {
    const { container } = render(<Markdown text={'See [this][a].\n\nMore.\n\n[a]: https://example.com/x'} />)
    expect(container.querySelector('a')?.getAttribute('href')).toBe('https://example.com/x')
  })

  it('survives deep nesting', () => {
    const { container } = render(<Markdown text={`${'> '.repeat(3000)}deep\n\n${'- '.repeat(500)}x\n\n${'['.repeat(5000)}`} />)
    expect(container.textContent).toContain('deep')
  })

  it.each([
    ['https://example.com/a?b#c', true], ['http://example.com', true], ['mailto:a@example.com', true], ['/local', true], ['#part', true],
    ['javascript:alert(1)', false], [' JaVaScRiPt:alert(1)', false], ['data:text/html,x', false], ['vbscript:x', false], ['//elsewhere.example', true], ['java\nscript:alert(1)', false], ['blob:https://x', false], ['file:///etc/passwd', false],
  ])('address %j is safe: %s', (url, safe) => expect(safeUrl(url) !== '').toBe(safe))
})

describe('a link whose text looks like another address', () => {
  it.each([
    ['[https://bank.example](https://evil.example/x)'], ['[bank.example](https://evil.example)'], ['[www.bank.example/login?a=1](https://evil.example)'],
    ['[**bank**.`example`](https://evil.example)'], ['[see bank.example, please](https://evil.example)'], ['[https://localhost](https://evil.example)'],
    ['[bank\u200b.exam\u00adple](https://evil.example)'], ['[bank。example](https://evil.example)'], ['[ｂａｎｋ．example](https://evil.example)'],
    ['[![bank.example](https://a.example/x.png)](https://evil.example)'], ['[help@bank.example](https://evil.example)'],
    ['https://bank.example@evil.example/'], ['<https://bank.example:x@evil.example/>'], ['[bank.example][a]\n\n[a]: https://evil.example'],
    ['[https://evil.example.bank.example](https://evil.example)'], ['[BANK.EXAMPLE:443](https://evil.example)'],
  ])('%s shows its host', (text) => {
    const { container } = render(<Markdown text={text} />)
    expect(container.querySelector('.ct-link-host')?.textContent).toBe(' (evil.example)')
  })

  it.each([
    ['[the bank](https://evil.example)'], ['https://evil.example/a/index.html?x=https'], ['www.evil.example/a.b'], ['[evil.example/](https://www.evil.example/a)'],
    ['[https://EVIL.example.](https://evil.example)'], ['<someone@evil.example>'], ['[3.5 percent, e.g. 1.2](https://evil.example)'],
    ['[evil.example:8443](https://evil.example:8443/)'], ['[part](#part)'],
  ])('%s needs none', (text) => {
    const { container } = render(<Markdown text={text} />)
    expect(container.querySelector('a')).not.toBeNull()
    expect(container.querySelector('.ct-link-host')).toBeNull()
  })

  it('is one too where it goes to mail, to this host, or to a name in other letters', () => {
    expect(misledFrom('mailto:a@evil.example?subject=x', 'help@bank.example')).toBe('a@evil.example')
    expect(misledFrom('/logout', 'https://bank.example')).toBe(location.host)
    expect(misledFrom('https://b\u0430nk.example', 'https://b\u0430nk.example')).toMatch(/^xn--/)
  })
})

describe('arguments that are still written', () => {
  const whole = { list: [1, { a: 'x,}"' }], block_id: 'b1', n: -1.5, ok: true, content: 'Größe "quoted"\n\\ 😀 \u0001 end' }
  it('give their texts at every cut, each a beginning of the whole', () => {
    for (const text of [JSON.stringify(whole), JSON.stringify(whole, null, 2), JSON.stringify(whole).replace('ö', '\\u00f6').replace('😀', '\\ud83d\\ude00')]) {
      for (let end = 0; end <= text.length; end++) {
        const { content = '', block_id: id = '', ...rest } = partialTexts(text.slice(0, end))
        expect(rest).toEqual({})
        expect(whole.content.startsWith(content)).toBe(true)
        expect(whole.block_id.startsWith(id)).toBe(true)
      }
      expect(partialTexts(text)).toEqual({ block_id: 'b1', content: whole.content })
    }
  })
})

it('a window gives the focus back: it is closed before it is removed', () => {
  const { close } = HTMLDialogElement.prototype
  onTestFinished(() => void Object.assign(HTMLDialogElement.prototype, { close }))
  let there: boolean | undefined
  HTMLDialogElement.prototype.close = function () {
    there = this.isConnected
  }
  render(<Whole title="Table" onClose={() => undefined}>Rows</Whole>).unmount()
  expect(there).toBe(true)
})

it('a window stays open in strict mode, which closes it and opens it again', async () => {
  const dialog = HTMLDialogElement.prototype
  const { close, showModal } = dialog
  onTestFinished(() => void Object.assign(dialog, { close, showModal }))
  dialog.showModal = function () {
    this.open = true
  }
  dialog.close = function () {
    this.open = false
    setTimeout(() => this.dispatchEvent(new Event('close')))
  }
  const onClose = vi.fn()
  const { getByRole } = render(<StrictMode><Whole title="Table" onClose={onClose}>Rows</Whole></StrictMode>)
  const window = getByRole('dialog') as HTMLDialogElement
  await new Promise((done) => setTimeout(done))
  expect(onClose).not.toHaveBeenCalled()
  window.close()
  await waitFor(() => expect(onClose).toHaveBeenCalled())
})

it('a window tells no dialog of the page around it that it closes, to which React passes its events', () => {
  const onClose = vi.fn()
  const told = vi.fn()
  render(<dialog open onClose={told} onCancel={told}><Whole title="Table" onClose={onClose}>Rows</Whole></dialog>)
  const window = screen.getByRole<HTMLDialogElement>('dialog', { hidden: true, name: 'Table' })
  window.dispatchEvent(new Event('cancel'))
  window.open = false
  window.dispatchEvent(new Event('close'))
  expect(onClose).toHaveBeenCalledOnce()
  expect(told).not.toHaveBeenCalled()
})

it('a window closes with a press beside it, and not with one that began inside, as when text is selected', () => {
  const onClose = vi.fn()
  render(<Whole title="Table" onClose={onClose}>Rows</Whole>)
  const window = screen.getByRole('dialog', { hidden: true })
  fireEvent.pointerDown(screen.getByText('Rows'))
  fireEvent.click(window)
  expect(onClose).not.toHaveBeenCalled()
  fireEvent.pointerDown(window)
  fireEvent.click(window)
  expect(onClose).toHaveBeenCalledOnce()
})
