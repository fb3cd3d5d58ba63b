import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

const files = readdirSync('src/styles', { recursive: true, encoding: 'utf8' }).filter((f) => f.endsWith('.css'))
const cssOf = (file: string) => readFileSync(`src/styles/${file}`, 'utf8').replace(/\/\*[\s\S]*?\*\//g, '')

it('no rule applies outside the tray, and every animation has a name of its own', () => {
  for (const file of files) {
    const css = cssOf(file)
    for (const [, name] of css.matchAll(/@keyframes\s+([\w-]+)/g)) expect(name).toMatch(/^ct-/)
    const rules = css.replace(/@keyframes[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}/g, '')
    for (const [, selector] of rules.matchAll(/([^{};]+)\{/g)) {
      if (selector!.trim().startsWith('@')) continue
      for (const part of parts(selector!.trim())) expect(part, file).toContain('.ct-')
    }
  }
})

describe('space, corners, type and motion come from the scales', () => {
  const sheets = files.filter((f) => !f.startsWith('themes'))
  const spaced = /^(padding|margin|gap|row-gap|column-gap|inset)(-|$)/
  it.each(sheets)('%s', (file) => {
    const wrong: string[] = []
    for (const [, property, value] of cssOf(file).matchAll(/[{;]\s*([a-z-]+):\s*([^;{}]+)/g)) {
      // A hairline has the same width at every size; lengths in em follow the size of the text around.
      const lengths = (value!.match(/(?<![\w.-])-?\d*\.?\d+(?:px|rem|em|ms|s)\b/g) ?? []).filter((l) => !/^-?[123]px$/.test(l))
      const bad = spaced.test(property!) ? lengths.some((l) => !/\dem$/.test(l))
        : property!.endsWith('radius') ? lengths.length > 0
          : property === 'font-size' ? lengths.length > 0
            : property === 'font-weight' ? /\d|bold/.test(value!.replace(/var\([^)]*\)/g, ''))
              : /^(transition|animation)/.test(property!) ? lengths.some((l) => l !== '1ms')
                : lengths.some((l) => l.endsWith('px'))
      if (bad) wrong.push(`${property}: ${value}`)
    }
    expect(wrong).toEqual([])
  })
})

it('lengths follow --ct-rem, so that a page may set the size of its root', () => {
  // In a condition of a query there are no variables. That of a container counts in em, which follow its text; of a medium, rem are the browser's own.
  for (const file of files) expect(cssOf(file).replace(/--ct-rem: 1rem;|@media[^{]*\{/g, ''), file).not.toMatch(/\drem\b/)
})

it('no logical shorthand has a variable', () => {
  // WebKit drops such a declaration where revert-layer goes back to it, and base.css does that everywhere.
  for (const file of files) {
    const shorthands = cssOf(file).match(/(?<![\w-])((padding|margin|inset)-(inline|block)|border-(inline|block)(-start|-end)?):[^;}]*(var|light-dark)\([^;}]*/g)
    expect(shorthands, file).toBeNull()
  }
})

it('nothing that ends a list changes the style of what was its end', () => {
  // A rule for descendants of :last-child would restyle all of them whenever an element is added after it.
  for (const file of files) expect(cssOf(file), file).not.toMatch(/:last-child[^,{]*[ >]\s*(?:\*|:(?!where|is))/)
})

it('an answer has no bubble: no background, no border and no space around it', () => {
  const [, rule] = /\.ct-message\[data-role='assistant'\] \.ct-bubble \{([^}]*)\}/.exec(cssOf('message.css'))!
  expect(rule!.trim()).toBe('width: 100%; padding: var(--ct-answer-pad); background: var(--ct-answer-bg);')
  expect(cssOf('themes/default.css')).toMatch(/--ct-answer-bg: transparent;/)
  expect(cssOf('themes/default.css')).toMatch(/--ct-answer-pad: 0;/)
  for (const file of files) expect(cssOf(file), file).not.toMatch(/data-role='assistant'\][^{}]*\.ct-bubble[^{}]*\{[^}]*(?:border|box-shadow)(?!-radius)/)
})

describe('what opens does so smoothly', () => {
  const css = files.map(cssOf).join('\n')
  const animationOf = (selector: string) => [...css.matchAll(/([^{};]+)\{([^{}]*)\}/g)].filter(([, s]) => parts(s!.trim()).some((p) => p.trim() === selector)).map(([, , body]) => /animation: ([\w-]+) var\(--ct-motion\)/.exec(body!)?.[1]).findLast(Boolean)
  it.each(['.ct-reasoning-body', '.ct-trail-body', '.ct-tool-body', '.ct-root[data-layout] .ct-tray > .ct-panel'])('%s unfolds to its height', (selector) => {
    expect(animationOf(selector)).toBe('ct-unfold')
    expect(css).toMatch(/\.ct-root \{[^}]*interpolate-size: allow-keywords/)
  })
  it('a panel comes in at the side', () => {
    expect(animationOf(".ct-root:is([data-layout='sidebar'], [data-layout='full']) .ct-panel")).toBe('ct-aside')
    expect(animationOf(".ct-root[data-layout='tray'] .ct-panel")).toBe('ct-rise')
  })
  it('nothing moves for those who want less motion', () => {
    const [, rules] = /@media \(prefers-reduced-motion: reduce\) \{([\s\S]*?\n) {2}\}/.exec(css)!
    expect(rules).toContain('.ct-root *, .ct-root *::before, .ct-root *::after { animation: none !important; transition: none !important; }')
  })
})

describe('themes', () => {
  const defined = new Set([...cssOf('themes/default.css').matchAll(/(--ct-[\w-]+):/g)].map((m) => m[1]))
  it.each(files.filter((f) => f.startsWith('themes')))('%s says tokens only, and only those that there are', (file) => {
    for (const [, property] of cssOf(file).matchAll(/[{;]\s*([\w-]+):/g)) expect(defined, file).toContain(property)
  })
})

/** The parts of a list of selectors. */
function parts(selector: string): string[] {
  const found = ['']
  let depth = 0
  for (const c of selector) {
    depth += c === '(' ? 1 : c === ')' ? -1 : 0
    if (c === ',' && depth === 0) found.push('')
    else found[found.length - 1] += c
  }
  return found
}

it('what is not laid out is left so only where screen readers read it all the same', () => {
  // Firefox has no text for them then: its headings are silent.
  const rules = files.flatMap((f) => cssOf(f).split('\n')).filter((line) => line.includes('content-visibility: auto'))
  expect(rules).toHaveLength(3)
  for (const rule of rules) expect(rule).toContain('@supports not (-moz-appearance: none) {')
  // It is cut at its edge, and the numbers of a list begin before that. WebKit has no margin for them. A block of a document has a padding, wide enough for three digits.
  for (const rule of rules) expect(rule).toContain(' overflow-clip-margin: ')
  for (const rule of rules.filter((r) => !r.includes('.ct-block'))) expect(rule).toMatch(/@supports \(overflow-clip-margin: 1px\) \{.* overflow-clip-margin: /)
})
