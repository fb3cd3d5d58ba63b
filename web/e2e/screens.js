// Takes the pictures of docs/screenshots, each of one state of the tray: npm run screens
// axe checks each state too, and must find nothing serious or critical. With a folder as its argument it writes pictures of every state there: light, dark, with
// forced colours and from right to left, at 320, 360, 800, 1024 and 1440 pixels and at 200 %, and axe.md, a table of what axe found in each. It also fails if something
// scrolls sideways. SCREENS, LOOKS and SIZES select some.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openTray, states } from './states.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const all = process.argv[2]
const chosen = (name, variable) => process.env[variable]?.split(',').includes(name) ?? true
const folder = all ?? join(root, 'docs/screenshots')
const work = mkdtempSync(join(tmpdir(), 'chattray-screens-'))
process.env.E2E_WORK = work
const { browser, listening, model, service } = await import('./world.js')
if (!process.env.E2E_BINARY) {
  process.env.E2E_BINARY = join(work, 'chattray')
  if (spawnSync('go', ['build', '-o', process.env.E2E_BINARY, '.'], { cwd: root, stdio: 'inherit' }).status !== 0) process.exit(1)
}
mkdirSync(folder, { recursive: true })

/** Sizes at which every state is checked; a zoom of 200 % has half the pixels, each twice as large. */
const sizes = [['320', { width: 320, height: 700 }], ['360', { width: 360, height: 740 }], ['800', { width: 800, height: 700 }], ['1024', { width: 1024, height: 740 }], ['1440', { width: 1440, height: 860 }], ['zoom', { width: 720, height: 430 }]]

/** The looks in which every state is checked. */
const looks = [
  { name: 'light', media: { colorScheme: 'light', forcedColors: 'none' } }, { name: 'dark', media: { colorScheme: 'dark', forcedColors: 'none' } },
  { name: 'forced', media: { colorScheme: 'dark', forcedColors: 'active' } }, { name: 'rtl', media: { colorScheme: 'light', forcedColors: 'none' }, dir: 'rtl' },
]

/** The largest size of a picture of the documentation, in bytes. */
const LARGEST = 150_000

/** An answer with everything that can be rendered. */
const rich = readFileSync(new URL('./rich.md', import.meta.url), 'utf8')
const upstream = model(() => ({ content: rich }))
const chromium = await browser()
const server = await service()
const scripted = await service({ CHATTRAY_OPENAI_BASE_URL: `http://127.0.0.1:${await listening(upstream)}/v1`, CHATTRAY_OPENAI_API_KEY: 'x', CHATTRAY_MODEL: 'scripted' })
const failures = []

/** What axe found, one for each view. */
const seen = []

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const { version } = createRequire(import.meta.url)('axe-core/package.json')

/** The serious and critical findings of axe in the page as it is shown. */
async function findings(page) {
  await page.evaluate(axe)
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }))
  return violations.filter((v) => ['serious', 'critical'].includes(v.impact)).map((v) => `${v.id}: ${v.nodes.map((n) => n.target.join(' ')).slice(0, 3).join(' | ')}`)
}

/** A page of a user who has no chats yet, for one state. */
async function look(state, options, layout) {
  const page = await chromium.open(`${state.scripted ? scripted.url : server.url}/#/${state.path}`, { reducedMotion: 'reduce', ...options })
  if (layout) {
    await openTray(page)
    await page.button('More options').click()
    await page.getByRole('menuitemradio', { name: layout }).click()
  } else if (!state.path.startsWith('playground')) await openTray(page)
  await state.run(page)
  await page.mouse.move(2, 2)
  await page.evaluate(() => document.fonts.ready)
  return page
}

/** What axe found, as a table: a row for each state, a column for each look, and in it the findings at all sizes. */
function table() {
  const ways = looks.map((l) => l.name).filter((way) => seen.some((s) => s.way === way))
  const names = [...new Set(seen.map((s) => s.state))]
  const of = (list) => (list.length === 0 ? '–' : String(list.reduce((sum, s) => sum + s.count, 0)))
  return `# What axe finds in the tray

Written by \`make screens\` on ${new Date().toISOString().slice(0, 10)} with axe-core ${version} and Chromium ${chromium.version}. Each state of the tray is checked at
${sizes.map(([name]) => (name === 'zoom' ? '200 %' : `${name} px`)).filter((_, i) => seen.length > 0 && chosen(sizes[i][0], 'SIZES')).join(', ')}, in each look. A cell has the serious and critical findings at all sizes.

${names.length} states, ${seen.length} views, ${seen.reduce((sum, s) => sum + s.count, 0)} findings.

| State | ${ways.join(' | ')} |
|---|${ways.map(() => '--:|').join('')}
${names.map((name) => `| ${name} | ${ways.map((way) => of(seen.filter((s) => s.state === name && s.way === way))).join(' | ')} |`).join('\n')}
`
}

/** Waits until a new size has been drawn, and everything has been laid out again. */
async function drawn(page) {
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 150)))
}

/** The elements that scroll sideways and must not. It runs in the page. */
function tooWide() {
  const of = (e) => e.scrollWidth > e.clientWidth + 1
  return [...(of(document.documentElement) ? ['the page'] : []), ...[...document.querySelectorAll('.app-main, .ct-list, .ct-history, .ct-panel-body, .ct-doc, .ct-composer')].filter(of).map((e) => e.className)]
}

try {
  for (const state of states) {
    if (!chosen(state.name, 'SCREENS')) continue
    if (!all && state.docs === false) continue
    try {
      const scheme = state.scheme ?? 'light'
      const page = await look(state, { viewport: state.wide ?? { width: 1200, height: 720 }, colorScheme: scheme }, state.layout)
      if (!all) {
        const { length } = await page.screenshot({ path: join(folder, `${state.name}.png`) })
        if (length > LARGEST) failures.push(`${state.name}: ${length} bytes; take it of less`)
      } else {
        for (const { name: way, media, dir = 'ltr' } of looks) {
          if (!chosen(way, 'LOOKS')) continue
          await page.emulateMedia({ ...media, reducedMotion: 'reduce' })
          await page.evaluate((to) => {
            document.documentElement.dir = to
          }, state.dir ?? dir)
          for (const [name, viewport] of sizes) {
            if (!chosen(name, 'SIZES')) continue
            await page.setViewportSize(viewport)
            await drawn(page)
            await page.screenshot({ path: join(folder, `${state.name}-${name}-${way}.png`) })
            for (const found of await page.evaluate(tooWide)) failures.push(`${state.name}, ${name}, ${way}: ${found} scrolls sideways`)
            const list = await findings(page)
            seen.push({ state: state.name, way, count: list.length })
            for (const found of list) failures.push(`${state.name}, ${name}, ${way}: ${found}`)
          }
        }
      }
      if (!all) for (const found of await findings(page)) failures.push(`${state.name}: ${found}`)
      if (page.bad.length > 0) failures.push(`${state.name}: ${page.bad.join('; ')}`)
      await page.context().close()
      // After each state, so that a run that is stopped leaves what it has found.
      if (all) writeFileSync(join(folder, 'axe.md'), table())
    } catch (error) {
      failures.push(`${state.name}: ${error.message}`)
    }
  }
} finally {
  await chromium.close()
  await server.kill()
  await scripted.kill()
  upstream.closeAllConnections()
  upstream.close()
  rmSync(work, { recursive: true, force: true })
}
if (failures.length > 0) console.error(failures.join('\n'))
process.exit(failures.length > 0 ? 1 : 0)
