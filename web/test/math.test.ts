import { describe, expect, it } from 'vitest'
import { DISPLAY, INLINE, markMath, OPEN, texOf } from '../src/markdown/math'
import { emptySplit, splitMarkdown } from '../src/markdown/split'

const inline = (tex: string) => `\`${INLINE}${tex}\``
const display = (tex: string) => `\`${DISPLAY}${tex}\``

/** The formulas of a text, in order. */
const formulas = (text: string, streaming = false) => [...markMath(text, streaming).matchAll(/`+([\u2061\u2062][^`]*)`+/g)].map((m) => texOf(m[1]!)!)

describe('math', () => {
  it.each([
    ['inline', 'a \\(x^2\\) b', `a ${inline('x^2')} b`],
    ['on lines of its own', '\\[\n= a_1\n\\]', display('= a_1')],
    ['dollars', 'so $x_1 * y_1$, and $a$-form', `so ${inline('x_1 * y_1')}, and ${inline('a')}-form`],
    ['two dollars', '$$\n\\int e^{-x^2}\\,dx\n$$', display('\\int e^{-x^2}\\,dx')],
    ['two dollars in a line', 'is $$x$$ here', `is ${display('x')} here`],
    ['numbers', '$5x + 3$ and $3 \\times 5$ and $n$', `${inline('5x + 3')} and ${inline('3 \\times 5')} and ${inline('n')}`],
    ['a quotation', '> \\[\n> x\n> \\]', `> ${display('x')}`],
    ['a table', '| a |\n|---|\n| $|x|$ and $\\|y\\|$ |', `| a |\n|---|\n| ${inline('\\|x\\|')} and ${inline('\\Vert y\\Vert')} |`],
    ['backticks', '\\(a`b\\)', `\`\`${INLINE}a\`b\`\``],
    ['remarks of TeX', '\\[a % why\n b\\]', display('a b')],
    ['a blank line', '$$\n\na\n\n$$', display('a')],
  ])('%s', (_, text, marked) => expect(markMath(text)).toBe(marked))

  it.each([
    'from $5 and $6', '$5', 'it costs $5, or 10$ more', 'between $10-$20', 'US$5 or US$6', '$HOME and $PATH', '$HOME/$PATH', 'a $ b $ c', '\\$x\\$', '$1,000 to $2,000.', 'pay $3 for two and $4 for more',
    '`$x$`', '`` `\\(x\\)` ``', '```\n$x$\n\\(y\\)\n```', '    echo $a$ \\(b\\)', 'https://a.example/$x$', '[a](https://a.example/$x$)', '<https://a.example/?a=$x$>', '\\\\(x\\\\)', '$x$5',
  ])('is not in %j', (text) => expect(formulas(text)).toEqual([]))

  it('without an end is text, and nothing is lost', () => {
    expect(markMath('a \\(x^2')).toBe('a \\\\(x^2')
    expect(markMath('a \\[x^2')).toBe('a \\\\\\[x^2')
    expect(markMath('a $$x^2')).toBe('a \\$\\$x^2')
    expect(markMath('a $x^2')).toBe('a $x^2')
  })

  const text = [
    'The sum \\(\\sum_{i=1}^n a_i * b_i\\) and $x_1$ cost $5 and $6; `$no$`.', '\\[\n\\begin{aligned}\na &= b_1 \\\\\n\n- c &= d_1\n\\end{aligned}\n\\]',
    '| f | value |\n|---|---|\n| $f(x)$ | $|x|$ |', '$$\n\\int_0^\\infty e^{-x^2}\\,dx\n$$', '```sh\necho $HOME $PATH\n```', 'The end, for $10-$20.',
  ].join('\n\n')

  it('is the same at every cut: no part of a formula is outside it, and amounts of money stay text', () => {
    const whole = formulas(text).map((f) => f.tex)
    expect(whole).toHaveLength(6)
    for (let end = 0; end <= text.length; end++) {
      const chunks = splitMarkdown(text.slice(0, end)).chunks
      const found = chunks.flatMap((chunk, i) => formulas(chunk, i === chunks.length - 1))
      found.forEach((f, i) => {
        const squeeze = (tex: string) => tex.replace(/\s/g, '')
        if (f.open) expect(squeeze(whole[i]!).startsWith(squeeze(f.tex).replace(/\\+$/, '')), `${end}: ${f.tex}`).toBe(true)
        else expect(f.tex, String(end)).toBe(whole[i])
      })
      const outside = chunks.map((chunk, i) => markMath(chunk, i === chunks.length - 1)).join('').replace(/`+[^`]*`+/g, '')
      expect(outside, String(end)).not.toMatch(/\\(?:sum|int|begin|end|infty|,)|e\^/)
    }
  })

  it('is cut into the same blocks while it grows, and never inside of a formula', () => {
    let split = emptySplit
    for (let end = 0; end <= text.length; end++) {
      split = splitMarkdown(text.slice(0, end), split)
      expect(split.chunks).toEqual(splitMarkdown(text.slice(0, end)).chunks)
    }
    expect(split.chunks).toHaveLength(6)
  })

  it('that never ends does not hold back the rest of a long text', () => {
    const long = `\\[ open\n\n${'More text.\n\n'.repeat(500)}`
    expect(splitMarkdown(long).chunks.length).toBeGreaterThan(300)
    expect(markMath('\\('.repeat(3000))).not.toContain('`')
    expect(formulas('$a '.repeat(3000))).toEqual([])
  })

  it('distinguishes open from whole text', () => {
    expect(formulas('a \\(x^', true)).toEqual([{ tex: 'x^', display: false, open: true }])
    expect(formulas('a $x^', true)).toEqual([{ tex: 'x^', display: false, open: true }])
    expect(texOf(`${INLINE}${OPEN}x`)).toEqual({ tex: 'x', display: false, open: true })
    expect(texOf('x')).toBeNull()
  })
})
