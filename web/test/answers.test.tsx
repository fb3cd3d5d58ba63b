import { act, render, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import type { Element } from 'hast'
import { useLayoutEffect } from 'react'
import { createRoot } from 'react-dom/client'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { Markdown, MarkdownPartsProvider, SourcesProvider } from '../src'
import { Formula } from '../src/markdown/Formula'
import { showSvg } from '../src/markdown/svg'
import { gateway } from './shown'

describe('an answer', () => {
  it('draws math, and shows the source of invalid or incomplete TeX', async () => {
    const { container, rerender } = render(<Markdown text={'a \\(x_1^2\\) and $$\\frac{1$$ and $5'} />)
    await waitFor(() => expect(container.querySelectorAll('math')).toHaveLength(1))
    expect(container.querySelector('.ct-tex')?.textContent).toBe('\\frac{1')
    expect(container.textContent).toContain('and $5')
    rerender(<Markdown text={'a \\(x_1^'} streaming />)
    expect(container.querySelector('.ct-tex')?.textContent).toBe('x_1^')
  })

  it('colours code of a known language, and all of it once it is whole', async () => {
    const { container, rerender } = render(<Markdown text={'```go\nfunc a() {}\nretu'} streaming />)
    await waitFor(() => expect(container.querySelector('.hljs-keyword')?.textContent).toBe('func'))
    expect(container.querySelector('code')?.textContent).toBe('func a() {}\nretu')
    rerender(<Markdown text={'```go\nfunc a() {}\nreturn 1\n```\n\n```unknown\nfunc\n```'} />)
    await waitFor(() => expect(container.querySelectorAll('.hljs-keyword')).toHaveLength(2))
  })

  it('wraps long lines of code when the reader asks for it, and offers that only where lines are cut', async () => {
    const widths = vi.spyOn(HTMLElement.prototype, 'scrollWidth', 'get').mockReturnValue(900)
    vi.spyOn(HTMLElement.prototype, 'clientWidth', 'get').mockReturnValue(400)
    const watched = new Map<Element, (entries: { target: Element }[]) => void>()
    vi.stubGlobal('ResizeObserver', class {
      constructor(readonly tell: (entries: { target: Element }[]) => void) {}
      observe = (target: Element) => void watched.set(target, this.tell)
      unobserve = (target: Element) => void watched.delete(target)
    })
    const measure = () => act(() => watched.forEach((tell, target) => tell([{ target }])))
    const { container, unmount } = render(<Markdown text={`\`\`\`\n${'word '.repeat(80)}\n\`\`\``} />)
    measure()
    const wrap = screen.getByRole('button', { name: 'Wrap long lines' })
    const frame = container.querySelector<HTMLElement>('.ct-code')!
    expect([wrap.getAttribute('aria-pressed'), frame.dataset.wrap]).toEqual(['false', undefined])
    await userEvent.click(wrap)
    expect([wrap.getAttribute('aria-pressed'), frame.dataset.wrap]).toEqual(['true', 'true'])
    await userEvent.click(wrap)
    expect(frame.dataset.wrap).toBeUndefined()
    unmount()
    widths.mockReturnValue(400)
    render(<Markdown text={'```\nshort\n```'} />)
    expect(watched.size).toBeGreaterThan(0)
    measure()
    expect(screen.queryByRole('button', { name: 'Wrap long lines' })).toBeNull()
    vi.restoreAllMocks()
    vi.unstubAllGlobals()
  })

  it('keeps single line breaks', () => {
    expect(render(<Markdown text={'one\ntwo'} />).container.querySelectorAll('br')).toHaveLength(1)
  })

  it('takes components and plugins of the host, each with the default as its children', async () => {
    const draw = vi.fn((tex: string, element: HTMLElement) => element.append(`<${tex}>`))
    const { container } = render(
      <MarkdownPartsProvider plugins={{ math: async () => draw, highlight: false }} components={{ Code: ({ language, children }) => <section aria-label={language}>{children}</section> }}>
        <Markdown text={'[a](https://example.com/x) ![b](https://example.com/y.png) $z$\n\n```go\nfunc\n```'} components={{ Link: ({ href, text }) => <b>{`${text}→${href}`}</b>, Image: ({ alt, src }) => <i>{`${alt}@${src}`}</i> }} />
      </MarkdownPartsProvider>,
    )
    expect(screen.getByRole('region', { name: 'go' }).textContent).toContain('func')
    expect(container.querySelector('b')?.textContent).toBe('a→https://example.com/x')
    expect(container.querySelector('i')?.textContent).toBe('b@https://example.com/y.png')
    await waitFor(() => expect(container.textContent).toContain('<z>'))
    expect(container.querySelector('[class*=hljs]')).toBeNull()
  })

  it('uses a plugin that arrives while a part is drawn', async () => {
    vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', false)
    const loading = gateway()
    const math = vi.fn(() => loading.opened.then(() => (tex: string, element: HTMLElement) => element.append(`<${tex}>`)))
    const box = document.createElement('div')
    const root = createRoot(box)
    onTestFinished(() => {
      root.unmount()
      vi.unstubAllGlobals()
    })
    // It arrives after the layout and before the effects.
    const Drawn = () => {
      useLayoutEffect(() => loading.open(), [])
      return <Formula tex="late" display={false} open={false} />
    }
    const page = (late: boolean) => <MarkdownPartsProvider plugins={{ math }}><Formula tex="first" display={false} open={false} />{late && <Drawn />}</MarkdownPartsProvider>
    root.render(page(false))
    await waitFor(() => expect(math).toHaveBeenCalledTimes(1))
    root.render(page(true))
    await waitFor(() => expect(box.textContent).toContain('<first>'))
    await waitFor(() => expect(box.textContent).toContain('<late>'))
  })

  it('shows the classes, styles and attributes that the host’s highlighter gives, and leaves out a style that cannot be read', async () => {
    const span = (className: string, properties: object) => ({ type: 'element' as const, tagName: 'span', properties: { className: [className, 'on'], ...properties }, children: [{ type: 'text' as const, value: className }] })
    const highlight = async () => () => ({ type: 'root' as const, children: [span('good', { style: 'color: #f00; --own:1; font-style:italic', dataLine: 3, ariaHidden: 'true' }), span('bad', { style: 'color: #f00; broken' })] })
    const { container } = render(<Markdown text={'```go\nfunc\n```'} plugins={{ highlight }} />)
    await waitFor(() => expect(container.querySelector('.good.on')).toBeTruthy())
    const good = container.querySelector<HTMLElement>('.good')!
    expect([good.style.color, good.style.fontStyle, good.style.getPropertyValue('--own'), good.dataset.line, good.getAttribute('aria-hidden')]).toEqual(['#f00', 'italic', '1', '3', 'true'])
    const bad = container.querySelector<HTMLElement>('.bad.on')!
    expect([bad.style.color, bad.textContent]).toEqual(['', 'bad'])
  })

  it('shows the tree of a highlighter that names attributes as HTML does', async () => {
    const complains = vi.spyOn(console, 'error')
    onTestFinished(() => complains.mockRestore())
    const span = { type: 'element', tagName: 'span', properties: { class: 'line', tabindex: '0' }, children: [{ type: 'element', tagName: 'b', children: [{ type: 'text', value: 'func' }] }] } as unknown as Element
    const { container } = render(<Markdown text={'```go\nfunc\n```'} plugins={{ highlight: async () => () => ({ type: 'root', children: [span] }) }} />)
    await waitFor(() => expect(container.querySelector('.line[tabindex="0"] > b')?.textContent).toBe('func'))
    expect(complains).not.toHaveBeenCalled()
  })

  it('asks the host’s component for no link that may not be followed', () => {
    const Link = vi.fn(() => null)
    render(<Markdown text={'[a](javascript:alert(1)) ![b](data:image/png;base64,x)'} components={{ Link, Image: Link }} />)
    expect(Link).not.toHaveBeenCalled()
  })

  it('sorts a table by a column, back and forth', async () => {
    const { container } = render(<Markdown text={'| a | n |\n|---|--:|\n| x | 10 |\n| y | $9 |\n| z | 1,000 |'} />)
    const user = userEvent.setup()
    const column = () => [...container.querySelectorAll('tbody tr td:first-child')].map((td) => td.textContent).join('')
    for (const order of ['yxz', 'zxy', 'xyz']) {
      await user.click(screen.getByRole('button', { name: 'Sort by n' }))
      expect(column()).toBe(order)
    }
  })

  it('makes buttons of the numbers that name a source, and leaves code and other numbers', async () => {
    const text = 'Known [1], [2–3], not [4], `[1]`, and [1](https://example.com).'
    const outputs = [[1, 2, 3].map((n) => `${n}. Title ${n}\nDetail\nhttps://example.com/${n}`).join('\n\n')]
    const { container } = render(<SourcesProvider outputs={outputs} text={text}><Markdown text={text} /></SourcesProvider>)
    expect(screen.getAllByRole('button').map((b) => b.getAttribute('aria-label'))).toEqual(['Source 1: Title 1', 'Source 2: Title 2', 'Source 3: Title 3'])
    await userEvent.setup().click(screen.getAllByRole('button')[1]!)
    await waitFor(() => expect(container.querySelector('.ct-cite-card a')?.getAttribute('href')).toBe('https://example.com/2'))
    expect(container.querySelector('code')?.textContent).toBe('[1]')
  })

  it('folds a long group of sources, and keeps its place when it is opened', async () => {
    const text = 'Known [1] [2], [3] [4] [4] [5][6] [7], and [1] [2].'
    const outputs = [[1, 2, 3, 4, 5, 6, 7].map((n) => `${n}. Title ${n}\nDetail\nhttps://example.com/${n}`).join('\n\n')]
    const { container } = render(<SourcesProvider outputs={outputs} text={text}><Markdown text={text} /></SourcesProvider>)
    const groups = () => [...container.querySelectorAll('.ct-cites')].map((group) => group.textContent)
    expect(groups()).toEqual(['12', '345+2', '12'])
    await userEvent.setup().click(screen.getByRole('button', { name: '2 more sources' }))
    expect(groups()).toEqual(['12', '34567', '12'])
    expect(document.activeElement?.getAttribute('aria-label')).toBe('Source 6: Title 6')
    expect(container.querySelector('p')?.textContent).toBe('Known 12, 34567, and 12.')
  })
})

describe('the SVG of a diagram', () => {
  it('is shown without what runs, loads or leads anywhere', () => {
    const host = document.createElement('div')
    document.body.append(host)
    showSvg(host, `<svg xmlns="http://www.w3.org/2000/svg" width="100" onload="x()"><style>@import url('https://example.com/a.css'); rect{fill:url(https://example.com/b)}</style><script>x()</script><foreignObject><b>x</b></foreignObject>
      <a href="javascript:x()"><text>gone</text></a><image href="https://example.com/c.png"/><rect style="fill:red" width="10" onclick="x()" filter="url(https://example.com/d)"/><text>kept style="x"</text></svg>`)
    const svg = host.shadowRoot!.querySelector('svg')!
    expect([...svg.querySelectorAll('*')].map((e) => e.localName)).toEqual(['rect', 'text'])
    expect(svg.querySelector('rect')!.getAttributeNames().filter((n) => n !== 'style')).toEqual(['width'])
    expect(svg.textContent?.trim()).toBe('kept style="x"')
    expect(() => showSvg(host, 'no svg')).toThrow()
    host.remove()
  })

  it('loads nothing, however its styles name what they would load', () => {
    const host = document.createElement('div')
    for (const loads of ['u\\72l(https://example.com/a#b)', 'URL(https://example.com/a)', 'image-set("https://example.com/a" 1x)', '-webkit-image-set("#a" 1x, "https://example.com/a" 2x)', 'cross-fade(url(#a), url(https://example.com/a))', 'src("https://example.com/a")']) {
      const inAttribute = loads.replaceAll('"', '&quot;')
      const sheets = vi.spyOn(CSSStyleSheet.prototype, 'replaceSync')
      showSvg(host, `<svg xmlns="http://www.w3.org/2000/svg"><style>svg{background:${loads}}</style><rect fill="${inAttribute}" width="1"/><rect style="fill:red;background:${inAttribute}"/></svg>`)
      const css = [...host.shadowRoot!.querySelectorAll('*')].flatMap((e) => e.getAttributeNames().map((name) => e.getAttribute(name))).concat(sheets.mock.calls.map(([sheet]) => sheet)).join('\n')
      expect(css, loads).not.toMatch(/\\|(?:url|src|image|image-set|cross-fade)\((?!#)/i)
      sheets.mockRestore()
    }
    showSvg(host, '<svg xmlns="http://www.w3.org/2000/svg"><path marker-end="url(#arrow)" style="fill:url(\'#light\')"/></svg>')
    const path = host.shadowRoot!.querySelector('path')!
    expect([path.getAttribute('marker-end'), path.getAttribute('style')]).toEqual(['url(#arrow)', expect.stringContaining('#light')])
  })

  it('is drawn where the page allows no policy for it but takes texts, as with a default policy', () => {
    vi.stubGlobal('trustedTypes', { createPolicy: () => { throw new TypeError('Policy with name "chattray" disallowed.') } })
    onTestFinished(() => void vi.unstubAllGlobals())
    const host = document.createElement('div')
    showSvg(host, '<svg xmlns="http://www.w3.org/2000/svg"><rect width="10"/></svg>')
    expect(host.shadowRoot!.querySelector('rect')).toBeTruthy()
  })
})
