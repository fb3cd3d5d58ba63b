import { describe, expect, it } from 'vitest'
import { isNumeric } from '../src/markdown/columns'
import { numberOf, sortedBy, toCsv, toHtml } from '../src/markdown/grid'
import { sourcesOf } from '../src/markdown/sources'

describe('tables', () => {
  it('sort numbers by value and the rest as text, with empty cells at the end', () => {
    const rows = [['$1,200'], ['95'], [''], ['−3'], ['40 %'], ['n/a'], ['item 10'], ['item 9']]
    expect(sortedBy(rows, 0, false).map((i) => rows[i]![0])).toEqual(['−3', '40 %', '95', '$1,200', 'item 9', 'item 10', 'n/a', ''])
    expect(sortedBy(rows, 0, true).map((i) => rows[i]![0]).at(-1)).toBe('')
    expect([numberOf('1,2'), numberOf('12.5e3'), numberOf('1 000'), numberOf('C→T'), numberOf('')]).toEqual([null, 12500, 1000, null, null])
    expect([isNumeric([['1'], ['–'], ['2']], 0), isNumeric([['1'], ['x']], 0), isNumeric([['']], 0)]).toEqual([true, false, false])
  })

  it('hold no formula that loads or starts something where they are pasted, whatever is before it', () => {
    const formulas = ['=IMPORTXML("https://example.com","//a")', '@SUM(A1)', "+cmd|' /C x'!A0", '-HYPERLINK("x")', '\r\n=1', ' =1', '＝1', '＋f(1)']
    expect([...toHtml([[], formulas]).matchAll(/<td>(.)/g)].map(([, first]) => first)).toEqual(formulas.map(() => "'"))
    expect(formulas.map((cell) => toCsv([[cell]]).replace(/^"/, '')[0])).toEqual(formulas.map(() => "'"))
    const data = ['-5', '+1,200.5 %', '-/-', '+ strand', 'a = b', '-1.2 (-2.3, -0.1)', '+5 % (+3)']
    expect(toCsv(data.map((cell) => [cell]))).toBe(data.map((cell) => (cell.includes(',') ? `"${cell}"` : cell)).join('\r\n'))
    expect(toHtml([[], data])).toBe(`<table><thead><tr></tr></thead><tbody><tr>${data.map((cell) => `<td>${cell}</td>`).join('')}</tr></tbody></table>`)
  })

  it('are CSV that no spreadsheet runs, and HTML that holds no tags of their own', () => {
    expect(toCsv([['a', 'b,"c"'], ['=1+1', '-5'], ['@x', '+SUM(A1)'], ['x\ny', '']])).toBe('a,"b,""c"""\r\n\'=1+1,-5\r\n\'@x,\'+SUM(A1)\r\n"x\ny",')
    expect(toHtml([['<b>'], ['a & b']])).toBe('<table><thead><tr><th>&lt;b&gt;</th></tr></thead><tbody><tr><td>a &amp; b</td></tr></tbody></table>')
  })
})

describe('a cell as CSV', () => {
  it('holds no formula for a spreadsheet that separates cells by other signs', () => {
    expect(toCsv([['x', 'a;=f()'], ['a; +cmd|x', 'a\t@f(1)'], ['a\n=f()\nb', '']])).toBe("x,a;'=f()\r\na;' +cmd|x,a\t'@f(1)\r\n\"a\n'=f()\nb\",")
    expect(toCsv([['x', 'a;"=f();b', 'a\r=f()']])).toBe(`x,"a;""'=f();b","a\r'=f()"`)
    expect(toCsv([['a; b', 'a;-1.2 (-2.3)'], ['a\n- b (c)\n- d', '']])).toBe('a; b,a;-1.2 (-2.3)\r\n"a\n- b (c)\n- d",')
  })
})

describe('sources', () => {
  const search = 'Found 2.\n\n1. Base editing\nKomor. Nature, 2016\nhttps://example.com/a\n\n2. Prime editing\nhttps://example.com/b\n'
  it('are entries that a tool listed with an address', () => {
    expect([...sourcesOf([search], '').values()]).toEqual([
      { number: 1, title: 'Base editing', detail: 'Komor. Nature, 2016', url: 'https://example.com/a' }, { number: 2, title: 'Prime editing', detail: '', url: 'https://example.com/b' },
    ])
    expect(sourcesOf(['1. No address\nof anything'], '').size).toBe(0)
  })

  it('do not exist if two tools use a number for different things; the answer’s own list takes precedence', () => {
    const other = search.replace('/a', '/c')
    expect([...sourcesOf([search, other], '').keys()]).toEqual([2])
    expect(sourcesOf([search, other], '[1] Its own, https://example.com/c').get(1)?.url).toBe('https://example.com/c')
    expect(sourcesOf([], '[7] A title. 10.1000/182.').get(7)).toEqual({ number: 7, title: 'A title. 10.1000/182.', detail: '', url: 'https://doi.org/10.1000/182' })
    expect(sourcesOf([], '[7]: https://example.com\n[8](https://example.com)').size).toBe(0)
  })
})
