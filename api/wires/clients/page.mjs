// Opens the page of an example in Chromium: node page.mjs, which reads actions from the
// standard input, one on each line, and prints a line for each.
import { createInterface } from 'node:readline'

import { chromium } from 'playwright-core'

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] })
const page = await browser.newPage()
page.setDefaultTimeout(120_000)
const complaints = []
page.on('pageerror', (e) => complaints.push(e.message))

const actions = {
  open: (url) => page.goto(url, { waitUntil: 'networkidle' }),
  reload: () => page.reload(),
  fill: (text) => page.getByRole('textbox').last().fill(text),
  ask: async (text) => {
    await actions.fill(text)
    await page.getByRole('textbox').last().press('Enter')
  },
  click: (name) => page.getByRole('button', { name, exact: true }).click(),
  see: (text) => page.getByText(text).first().waitFor(),
}

for await (const line of createInterface({ input: process.stdin })) {
  const [action, ...rest] = line.split(' ')
  try {
    await actions[action](rest.join(' '))
    console.log('ok')
  } catch (e) {
    console.log('failed ' + JSON.stringify([e.message, complaints, await page.locator('body').innerText()]))
  }
}
await browser.close()
