import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { Labels } from '../src'
import { ar } from '../src/labels/ar'
import { de } from '../src/labels/de'
import { en } from '../src/labels/en'
import { es } from '../src/labels/es'
import { fr } from '../src/labels/fr'
import { failureWords, statusWords } from '../src/labels/tray'
import { zh } from '../src/labels/zh'

/** Words that are the same in a language as in English. */
const same = /^(?:log|title|assistant|failure|media|composer|traceStop|traceRole|validity|milliseconds|seconds|formula|image|table|code|diagram|document|docTitle|queue|versions|chart|footnotes|abstract|history|revert|trail\w*|source|schema|card\w+|trace\w+|diagnostics|articleCount|copyCode|closeWhole|copied|diagramSource|andOthers|pin|edit|blockUp|chatTokens|reasoning)$/

describe.each(Object.entries({ de, fr, es, zh, ar }))('the labels in %s', (_, labels) => {
  it('have every key, of the same kind', () => {
    const shape = (all: Labels) => Object.fromEntries(Object.entries(all).map(([key, value]) => [key, typeof value]).toSorted())
    expect(shape(labels)).toEqual(shape(en))
  })

  it('have words for every status code of the contract', () => {
    const codes = /StatusCode: ([^;]+);/.exec(readFileSync('src/api/openapi.ts', 'utf8'))![1]!.match(/\w+/g)!
    expect(codes).toContain('thinking')
    for (const code of codes) {
      const said = statusWords(labels, { message: 'Text of the service', code, tool: 'drop_rows' })
      expect([said, code]).not.toEqual(['Text of the service', code])
      expect([said.includes('drop_rows'), code]).toEqual([!['thinking', 'resuming', 'waiting_for_answer', 'waiting_for_model'].includes(code), code])
    }
  })

  it('have words for every failure that is not the service’s', () => {
    const source = (readdirSync('src', { recursive: true }) as string[]).filter((f) => /\.tsx?$/.test(f)).map((f) => readFileSync(`src/${f}`, 'utf8')).join('')
    const contract = / Code: ([^;]+);/.exec(readFileSync('src/api/openapi.ts', 'utf8'))![1]!
    const codes = new Set([...source.matchAll(/new ApiError\([^\n]*?, '([a-z_]+)'/g)].map(([, code]) => code!).filter((code) => !contract.includes(`"${code}"`)))
    expect([...codes]).toContain('signed_out')
    for (const code of codes) expect([code, failureWords(labels, code, 'Text of the client')]).not.toEqual([code, 'Text of the client'])
  })

  it('say in words that something was deleted', () => {
    expect(labels.failure('not_found', 'there is nothing under this id')).not.toMatch(/there is nothing|no longer/)
  })

  it('have a text for each, which is not English', () => {
    const say = (all: Labels, key: string): string => {
      const value = all[key as keyof Labels] as string | ((...given: unknown[]) => string)
      return typeof value === 'string' ? value : key === 'trail' ? value(['X']) : value.length === 0 ? '' : value(...[3, 7, 9].slice(0, value.length))
    }
    const left = Object.keys(en).filter((key) => !same.test(key) && (say(labels, key) === '' || say(labels, key) === say(en, key)))
    expect(left).toEqual([])
  })
})

it('Arabic numbers their nouns by its own rules', () => {
  expect([1, 2, 3, 11, 100].map((n) => ar.tableRows(n).replace(/[\d٠-٩]+ /, ''))).toEqual(['صف واحد', 'صفان', 'صفوف', 'صفًا', 'صف'])
})
