import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import * as tray from '../src'
import * as documents from '../src/documents'
import * as research from '../src/research'
import * as standalone from '../src/standalone'

const readme = readFileSync('README.md', 'utf8')

it.each(Object.entries({ tray, documents, research, standalone }))('the README names every export of %s', (_, entry) => {
  expect(Object.keys(entry).filter((name) => !new RegExp(`\\b${name}\\b`).test(readme))).toEqual([])
})

it('the README says what the tray says when the service is not reached', () => {
  const { reconnecting, refused, signedOut } = tray.defaultLabels
  expect([reconnecting, refused, signedOut].filter((text) => !readme.includes(`| ${text} |`))).toEqual([])
})
