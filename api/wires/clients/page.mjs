// Opens the page of an example in Chromium: node page.mjs, which reads actions from the
// standard input, one on each line, and prints a line for each.
import { execFileSync } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

import { chromium } from 'playwright-core'

const executablePath = execFileSync(fileURLToPath(new URL('../../../.ci/browser', import.meta.url)), { encoding: 'utf8' }).trim()
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
const page = await browser.newPage()
page.setDefaultTimeout(120_000)
const complaints = []
page.on('pageerror', (e) => complaints.push(e.message))

const actions = {
  open: (url) => page.goto(url, { waitUntil: 'networkidle' }),
  reload: () => page.reload(),
  fill: (text) => page.getByRole('textbox').last().fill(text),
  // ask asks a question and waits for the answer, or for another text: "ask QUESTION | TEXT".
  // A page that is still being set up may drop what is typed, also after it was shown, or
  // leave it in the field. So the question is typed again where it is not shown; a field is
  // a textarea, whose text is found as other text is. A page whose first request failed is
  // never set up, so it is loaded again, but seldom: a load begins the setting up anew.
  ask: async (line) => {
    const [question, text] = line.split(' | ')
    const asked = page.getByText(question).and(page.locator(':not(textarea)')).first()
    for (let n = 1; ; n++) {
      if (!(await asked.isVisible())) {
        if (n % 10 === 0) await page.reload()
        await actions.fill(question)
        await page.getByRole('textbox').last().press('Enter')
      }
      try {
        return await page.getByText(text).first().waitFor({ timeout: 3_000 })
      } catch (e) {
        if (n === 60) throw e
      }
    }
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
