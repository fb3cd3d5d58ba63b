// Takes the pictures of docs/screenshots, each of one state of the tray: npm run screens
// Each state is looked at by axe too: nothing serious or critical may be in it. With a folder as its argument it puts every state there, in light, dark, forced colours and from right to left, at 320, 360, 800, 1024 and 1440 pixels and at 200 %.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const all = process.argv[2]
const only = process.env.SCREENS?.split(',')
const folder = all ?? join(root, 'docs/screenshots')
const work = mkdtempSync(join(tmpdir(), 'chattray-screens-'))
process.env.E2E_WORK = work
process.env.CHROMIUM ??= '/usr/bin/chromium'
const { browser, listening, model, service } = await import('./world.js')
if (!process.env.E2E_BINARY) {
  process.env.E2E_BINARY = join(work, 'chattray')
  if (spawnSync('go', ['build', '-o', process.env.E2E_BINARY, '.'], { cwd: root, stdio: 'inherit' }).status !== 0) process.exit(1)
}
mkdirSync(folder, { recursive: true })

/** Sizes at which every state is looked at; a zoom of 200 % is half of the pixels, each twice as large. */
const sizes = [['320', { width: 320, height: 700 }], ['360', { width: 360, height: 740 }], ['800', { width: 800, height: 700 }], ['1024', { width: 1024, height: 740 }], ['1440', { width: 1440, height: 860 }], ['zoom', { width: 720, height: 430 }]]

/** How every state is looked at. */
const looks = [
  { name: 'light', media: { colorScheme: 'light', forcedColors: 'none' } }, { name: 'dark', media: { colorScheme: 'dark', forcedColors: 'none' } },
  { name: 'forced', media: { colorScheme: 'dark', forcedColors: 'active' } }, { name: 'rtl', media: { colorScheme: 'light', forcedColors: 'none' }, dir: 'rtl' },
]

/** Bytes that a picture of the documentation may have. */
const LARGEST = 150_000

/** An answer with all that is rendered. */
const rich = readFileSync(new URL('./rich.md', import.meta.url), 'utf8')
const upstream = model(() => ({ content: rich }))
const chromium = await browser()
const server = await service()
const scripted = await service({ CHATTRAY_OPENAI_BASE_URL: `http://127.0.0.1:${await listening(upstream)}/v1`, CHATTRAY_OPENAI_API_KEY: 'x', CHATTRAY_MODEL: 'scripted' })
const failures = []

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** What axe finds serious or critical in what the page shows. */
async function findings(page) {
  await page.evaluate(axe)
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }))
  return violations.filter((v) => ['serious', 'critical'].includes(v.impact)).map((v) => `${v.id}: ${v.nodes.map((n) => n.target.join(' ')).slice(0, 3).join(' | ')}`)
}

async function openTray(page) {
  const open = page.button('Open the chat')
  await open.or(page.input).first().waitFor()
  if (await open.isVisible()) await open.click()
  await page.input.waitFor()
}

const ask = (text) => async (page) => {
  await page.ask(text)
  await page.settled(60_000)
}

async function rendered(page) {
  await ask('How does an editing rate depend on temperature?')(page)
  await page.locator('.ct-diagram svg').waitFor({ state: 'attached' })
  await page.locator('.ct-code .hljs-keyword').first().waitFor({ state: 'attached' })
}

/** Each state: its page, how it looks in docs/screenshots, and what leads to it. */
const states = [
  { name: 'empty', path: 'streams', run: async () => undefined },
  { name: 'answer', path: 'streams', run: ask('Compare stream 1 and stream 2') },
  { name: 'rendering', path: 'streams', layout: 'full', scripted: true, wide: { width: 1280, height: 1160 }, run: rendered },
  { name: 'trail', path: 'reports', wide: { width: 960, height: 660 }, run: async (page) => {
    await ask('Search articles about mercury and list the reports')(page)
    await page.locator('.ct-trail-head').click()
    await page.locator('.ct-trail-body .ct-tool-head').first().click()
  } },
  { name: 'approval', path: 'reports', wide: { width: 1024, height: 740 }, run: async (page) => {
    await page.ask('Order 2 printed copies of report 1')
    await page.getByRole('group', { name: 'May I do this?' }).waitFor({ timeout: 10_000 })
  } },
  { name: 'error', path: 'streams', run: ask('error late') },
  { name: 'offline', path: 'streams', run: async (page) => {
    await ask('hello')(page)
    await page.context().setOffline(true)
    await page.ask('Are you still there?')
    await page.locator('.ct-banners .ct-note').waitFor({ timeout: 15_000 })
  } },
  { name: 'history', path: 'streams', layout: 'full', scheme: 'dark', run: async (page) => {
    await ask('List the research streams')(page)
    await page.button('New chat').click()
    await ask('think')(page)
    await page.button('New chat').click()
    await ask('Compare stream 1 and stream 2')(page)
  } },
  { name: 'history-empty', path: 'streams', docs: false, run: async (page) => page.button('Chats').click() },
  { name: 'documents-empty', path: 'document', docs: false, run: async () => undefined },
  { name: 'documents', path: 'document', wide: { width: 1100, height: 660 }, run: async (page) => {
    await ask('Create a report with a chart about gold')(page)
    await page.locator('.ct-chart canvas').waitFor()
  } },
  { name: 'research', path: 'reports', layout: 'full', run: ask('Research base editing and gold') },
  { name: 'panel', path: 'reports', wide: { width: 1100, height: 480 }, run: async (page) => {
    await ask('List the reports')(page)
    await page.locator('.ct-payload').last().click()
  } },
  { name: 'phone', path: 'streams', wide: { width: 360, height: 740 }, scheme: 'dark', scripted: true, run: rendered },
  { name: 'playground', path: 'playground/tools', docs: false, run: async (page) => page.locator('.app-stage .ct-message[data-role=assistant][data-status=complete]').waitFor() },
  { name: 'long', path: 'streams', docs: false, run: ask('slow 5') },
]

/** A page in which a user who has no chat yet looks at a state. */
async function look(state, options, layout) {
  const page = await chromium.open(`${state.scripted ? scripted.url : server.url}/#/${state.path}`, { reducedMotion: 'reduce', ...options })
  if (layout) {
    await openTray(page)
    await page.button('More options').click()
    await page.getByRole('menuitemradio', { name: 'Fill the page' }).click()
  } else if (!state.path.startsWith('playground')) await openTray(page)
  await state.run(page)
  await page.mouse.move(2, 2)
  await page.evaluate(() => document.fonts.ready)
  return page
}

try {
  for (const state of states) {
    if (only && !only.includes(state.name)) continue
    if (!all && state.docs === false) continue
    try {
      const scheme = state.scheme ?? 'light'
      const page = await look(state, { viewport: state.wide ?? { width: 1200, height: 720 }, colorScheme: scheme }, state.layout)
      if (!all) {
        const { length } = await page.screenshot({ path: join(folder, `${state.name}.png`) })
        if (length > LARGEST) failures.push(`${state.name}: ${length} bytes; take it of less`)
      } else {
        for (const { name: way, media, dir = 'ltr' } of looks) {
          await page.emulateMedia({ ...media, reducedMotion: 'reduce' })
          await page.evaluate((to) => {
            document.documentElement.dir = to
          }, dir)
          for (const [name, viewport] of sizes) {
            if (process.env.SIZES && !process.env.SIZES.split(',').includes(`${name}-${way}`)) continue
            await page.setViewportSize(viewport)
            await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 150)))
            await page.screenshot({ path: join(folder, `${state.name}-${name}-${way}.png`) })
          }
        }
      }
      for (const found of await findings(page)) failures.push(`${state.name}: ${found}`)
      if (page.bad.length > 0) failures.push(`${state.name}: ${page.bad.join('; ')}`)
      await page.context().close()
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
