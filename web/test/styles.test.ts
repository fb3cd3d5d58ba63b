import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

it('no rule reaches what is not of the tray, and every animation has a name of ours', () => {
  for (const file of readdirSync('src/styles')) {
    const css = readFileSync(`src/styles/${file}`, 'utf8').replace(/\/\*[\s\S]*?\*\//g, '')
    for (const [, name] of css.matchAll(/@keyframes\s+([\w-]+)/g)) expect(name).toMatch(/^ct-/)
    const rules = css.replace(/@keyframes[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}/g, '')
    for (const [, selector] of rules.matchAll(/([^{};]+)\{/g)) {
      if (selector!.trim().startsWith('@')) continue
      for (const part of parts(selector!.trim())) expect(part, file).toContain('.ct-')
    }
  }
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
