// Runs the end-to-end tests: builds the service, then runs each file of tests, which drive the service in Chromium.
//   npm run e2e [-- FILE…]
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { fileURLToPath } from 'node:url'

const here = fileURLToPath(new URL('.', import.meta.url))
if (spawnSync(join(here, '../../.ci/browser'), { stdio: ['ignore', 'ignore', 'inherit'] }).status !== 0) process.exit(2)
/** Test files that use the packed package. */
const PACKED = /(package|examples|add-a-page)\.test\.js$/
/** Test files that take longest. They begin first: one that begins late is the only one at the end, and mostly waits. */
const LONGEST = ['resume', 'looks', 'examples', 'chat', 'steady', 'document', 'talk']
const rank = (file) => (LONGEST.indexOf(file.replace('.test.js', '')) + LONGEST.length + 1) % (LONGEST.length + 1)

const work = mkdtempSync(join(tmpdir(), 'chattray-e2e-'))
const binary = process.env.E2E_BINARY ?? join(work, 'chattray')
let code = 1
try {
  const files = process.argv.slice(2)
  const tests = files.length > 0 ? files : readdirSync(here).filter((f) => f.endsWith('.test.js')).sort((a, b) => rank(a) - rank(b)).map((f) => join(here, f))
  // Neither fills two cores, so both are made at once.
  const made = []
  if (!process.env.E2E_BINARY) made.push(spawn('go', ['build', '-o', binary, '.'], { cwd: join(here, '../..'), stdio: 'inherit' }))
  const isPacked = tests.some((file) => PACKED.test(file))
  if (isPacked) made.push(spawn('npm', ['pack', '--silent', '--pack-destination', work], { cwd: join(here, '..'), stdio: ['ignore', 'ignore', 'inherit'] }))
  const broken = (await Promise.all(made.map((child) => once(child, 'exit')))).find(([status]) => status !== 0)
  if (broken) process.exit(broken[0] ?? 1)
  const pack = isPacked ? join(work, readdirSync(work).find((file) => file.endsWith('.tgz'))) : ''
  Object.assign(process.env, { E2E_BINARY: binary, E2E_WORK: work, E2E_PACK: pack })
  const results = run({ files: tests, concurrency: 5, timeout: 900_000 })
  let failed = 0
  results.on('test:fail', () => failed++)
  for await (const text of results.compose(spec)) process.stdout.write(text)
  code = failed > 0 ? 1 : 0
} finally {
  rmSync(work, { recursive: true, force: true })
}
process.exit(code)
