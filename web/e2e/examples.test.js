import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { browser, freePort, until } from './world.js'

/** What npm may take for the packages of an example: Next's are 400 MB, which the registry decides, not this machine. */
const INSTALL = 10 * 60_000

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Runs "make example" in a folder of its own, with the package and the service that are built already. It installs packages from the registry. */
async function example(name) {
  const work = mkdtempSync(join(process.env.E2E_WORK, 'example-'))
  mkdirSync(join(work, 'bin'))
  symlinkSync(process.env.E2E_PACK, join(work, 'bin/chattray-react.tgz'))
  symlinkSync(process.env.E2E_BINARY, join(work, 'bin/chattray'))
  cpSync(join(root, 'web/examples', name), join(work, 'web/examples', name), { recursive: true, filter: (from) => !from.includes('node_modules') })
  const port = await freePort()
  const service = `127.0.0.1:${await freePort()}`
  const making = spawn('make', ['-f', join(root, 'Makefile'), '-o', 'pack', '-o', 'example-service', 'example', `NAME=${name}`], {
    cwd: work, detached: true, stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, PORT: String(port), CHATTRAY_ADDR: service, CHATTRAY_DRAIN: '1s', NEXT_TELEMETRY_DISABLED: '1' },
  })
  let output = ''
  for (const stream of [making.stdout, making.stderr]) stream.on('data', (data) => {
    output += data
  })
  const ended = once(making, 'exit')
  const url = `http://localhost:${port}`
  return {
    url,
    async ready() {
      await until(() => `${url} answers:\n${output}`, async () => {
        if (making.exitCode !== null) throw new Error(`make example ended with ${making.exitCode}:\n${output}`)
        return fetch(url).then((r) => r.ok, () => false)
      }, INSTALL)
    },
    async stop() {
      if (making.exitCode === null && making.signalCode === null) process.kill(-making.pid, 'SIGTERM')
      await ended
    },
  }
}

for (const name of ['vite', 'next', 'script-tag']) {
  test(`make example NAME=${name}: the page opens, a question is answered, and nothing is in the console`, async () => {
    const [shown, chromium] = await Promise.all([example(name), browser()])
    try {
      await shown.ready()
      const page = await chromium.open(shown.url)
      const open = page.button('Open the chat')
      await open.or(page.input).first().waitFor()
      if (await open.isVisible()) await open.click()
      await page.getByRole('button', { name: 'Summarize report 1' }).click()
      await page.locator('.ct-message[data-role=assistant][data-status=complete]').waitFor()
      assert.match(await page.answers.last().innerText(), /articles/)
      assert.match(await page.locator('h1').innerText(), /Report 1/)
      await page.shot(`example-${name}`)
      await page.emulateMedia({ colorScheme: 'dark' })
      assert.equal(await page.evaluate(() => getComputedStyle(document.querySelector('h1')).color), 'rgb(255, 255, 255)', 'the page is as dark as its tray')
      await page.reload()
      await open.or(page.input).first().waitFor()
      if (await open.isVisible()) await open.click()
      await page.locator('.ct-message[data-role=assistant][data-status=complete]').waitFor()
      await page.button('More options').click()
      await page.getByRole('menuitemradio', { name: 'Dock to the side' }).click()
      assert.equal((await page.locator('.ct-tray').boundingBox()).height, page.viewportSize().height, 'a page without a place for a column has it at its side')
      assert.deepEqual(page.bad, [])
    } finally {
      await chromium.close()
      await shown.stop()
    }
  })
}
