import { readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { describe, expect, it } from 'vitest'

const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file))
const textOf = (file: string) => readFileSync(`src/${file}`, 'utf8').replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')

/** What is loaded before a file runs: files of src, and packages by their names. Types are not loaded. */
function importsOf(file: string): string[] {
  return [...textOf(file).matchAll(/^(?:import|export) (?!type\b)(?:[^'\n{]*(?:\{[^}]*\})? from )?'([^']+)'/gm)].flatMap(([, from]) => {
    if (!from!.startsWith('.')) return from!
    const path = posix.join(posix.dirname(file), from!)
    return [`${path}.ts`, `${path}.tsx`, path].find((name) => files.includes(name)) ?? []
  })
}

/** All that is loaded before a file runs. */
function reachOf(file: string, known = new Set<string>()): Set<string> {
  for (const other of importsOf(file)) {
    if (known.has(other)) continue
    known.add(other)
    if (files.includes(other)) reachOf(other, known)
  }
  return known
}

describe('what the folders of the state promise', () => {
  const inFolder = (folder: string) => files.filter((file) => file.startsWith(`${folder}/`))

  it.each(inFolder('state/values'))('%s is pure: it loads only values, and names nothing of the browser', (file) => {
    expect(importsOf(file).filter((other) => posix.dirname(other) !== 'state/values')).toEqual([])
    expect(textOf(file)).not.toMatch(/\b((fetch|XMLHttpRequest|WebSocket|EventSource|BroadcastChannel|(local|session)Storage|indexedDB|crypto|navigator|window|document|set(Timeout|Interval)|requestAnimationFrame)\b(?!:)|Date\.now|new Date\(\)|Math\.random)/)
  })

  it.each(inFolder('state/store'))('%s does not know React', (file) => {
    expect([...reachOf(file)].filter((other) => /^react\b|\.tsx$|\/use[A-Z]\w*\.ts$/.test(other))).toEqual([])
    expect(textOf(file)).not.toMatch(/from 'react|\bReact\./)
  })
})

it('no file loads itself', () => {
  expect(files.filter((file) => reachOf(file).has(file))).toEqual([])
})
