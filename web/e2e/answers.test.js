// How answers look in a browser, under the service's own content security policy.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { browser, findings, listening, model, service, until } from './world.js'


const rich = `# Base editing, in short

The rate is \\(k = A e^{-E_a/RT}\\), so $x_1 * y_1$ costs $5 and $6, not \`$HOME\`.

\\[
\\int_0^\\infty e^{-x^2}\\,dx = \\frac{\\sqrt{\\pi}}{2}

\\qquad \\sum_{i=1}^{n} i^2 = \\frac{n(n+1)(2n+1)}{6}
\\]

$$
\\begin{pmatrix} a_{11} & a_{12} \\\\ a_{21} & a_{22} \\end{pmatrix} \\begin{pmatrix} x \\\\ y \\end{pmatrix} = \\begin{cases} 0 & x < 0 \\\\ 1 & \\text{otherwise} \\end{cases}
$$

First line
second line

| Editor | Year | Change | Efficiency | Off-target rate | Price |
|---|--:|:-:|--:|--:|--:|
| BE3 | 2016 | C→T | 37 % | 0.51 | $1,200 |
| ABE8e | 2020 | A→G | 80 % | 0.02 | $95 |
| BE4max | 2018 | C→T | 61 % | $|x|$ | $540 |

\`\`\`go
// Accept takes what is pending.
func (s *Store) Accept(ctx context.Context, id string) error {
	if id == "" {
		return fmt.Errorf("a block needs an id: %q, and this line is so long that it does not fit into the width that a tray has", id)
	}
	return nil
}
\`\`\`

\`\`\`mermaid
flowchart LR
  A[Question] --> B{Known?}
  B -->|yes| C[Answer]
  B -->|no| D[Search]
  D --> C
\`\`\`

\`\`\`mermaid
sequenceDiagram
  participant U as User
  participant S as Service
  U->>S: ask
  S-->>U: answer
\`\`\`

\`\`\`mermaid
this is none
\`\`\`

Found in two trials [1], [2, 3] and not in the third [9].

[1] Komor et al. Programmable editing of a target base. Nature 2016. https://doi.org/10.1038/nature17946
[2] Gaudelli et al. Programmable base editing of A•T. 10.1038/nature24644
[3] Rees, Liu. Base editing: precision chemistry. https://example.com/rees
`

/** A formula and a suggestion that are wider than a tray. */
const wide = `So $x$ is $${'y^2+'.repeat(40)}1$, then $x$.\n\nSUGGESTED_VALUES: [{"label": "${'GATTACA'.repeat(20)}", "value": "x"}, {"label": "Short", "value": "y"}]`

let upstream, server, chromium
before(async () => {
  upstream = model(({ content }) => ({ content: content === 'Wide' ? wide : content === 'A sequence' ? `| Sequence | Name |\n|---|---|\n| ${'GATTACA'.repeat(40)} | BCL11A |` : rich }))
  const port = await listening(upstream)
  ;[server, chromium] = await Promise.all([
    service({ CHATTRAY_OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`, CHATTRAY_OPENAI_API_KEY: 'x', CHATTRAY_MODEL: 'x' }), browser(),
  ])
})
after(async () => {
  await chromium.close()
  await server.kill()
  upstream.close()
})

async function open(options = {}) {
  const page = await chromium.open(`${server.url}/#/reports`, options)
  await page.evaluate(() => {
    window.refused = []
    document.addEventListener('securitypolicyviolation', (e) => window.refused.push(`${e.violatedDirective} ${e.blockedURI} ${e.sample}`))
  })
  if ((options.viewport?.width ?? 1360) <= 900) await page.button('Open the chat').click()
  await page.ask('Show it all')
  await page.settled()
  await page.locator('.ct-diagram svg').nth(1).waitFor()
  await page.locator('.hljs-keyword').first().waitFor()
  await page.locator('.ct-math math').nth(4).waitFor()
  return page
}

for (const scheme of ['light', 'dark']) {
  for (const width of [360, 800, 1440]) {
    test(`${scheme}, ${width} px: math, code, diagrams, tables and sources are drawn under the policy`, async () => {
      const page = await open({ colorScheme: scheme, viewport: { width, height: 900 }, reducedMotion: 'reduce' })
      const answer = page.answers.last()
      assert.equal(await answer.locator('.ct-math math').count(), 5)
      assert.equal(await answer.locator('.ct-tex').count(), 0, 'no formula is left as source')
      assert.match(await answer.textContent(), /costs \$5 and \$6, not \$HOME/)
      assert.ok((await answer.locator('.ct-math[data-display] math').first().boundingBox()).height > 30, 'display math is drawn large')
      assert.equal(await answer.locator('.ct-diagram svg').count(), 2)
      assert.ok((await answer.locator('.ct-diagram svg').first().boundingBox()).height > 40)
      await answer.getByText('This diagram cannot be drawn.').waitFor()
      assert.notEqual(await answer.locator('.hljs-keyword').first().evaluate((e) => getComputedStyle(e).color), await answer.locator('.ct-code pre').first().evaluate((e) => getComputedStyle(e).color))
      const paragraph = answer.locator('p', { hasText: 'First line' })
      assert.equal(await paragraph.locator('br').count(), 1, 'a single line break is kept')
      const wide = await page.locator('.ct-list').evaluateAll((all) => all.filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.className))
      assert.deepEqual(wide, [])
      if (width < 900) assert.match(await answer.locator('.ct-table-frame .ct-scroll').getAttribute('data-more'), /right/, 'a table that goes on shows it')
      for (const [name, selector] of [['top', 'h1'], ['table', '.ct-table-frame'], ['code', '.ct-code'], ['diagram', '.ct-diagram'], ['sources', '.ct-cites']]) {
        await answer.locator(selector).first().evaluate((e) => e.scrollIntoView({ block: 'start' }))
        await page.shot(`answer-${name}-${scheme}-${width}`)
      }
      assert.deepEqual(await findings(page), [])
      assert.deepEqual(await page.evaluate(() => window.refused), [])
      assert.deepEqual(page.bad, [])
      await page.done()
    })
  }
}

test('diagrams are drawn in a page that requires Trusted Types and allows the policy of the tray', async () => {
  const page = await chromium.open('about:blank')
  await page.route(`${server.url}/`, async (route) => {
    const response = await route.fetch()
    const policy = `${response.headers()['content-security-policy']}; require-trusted-types-for 'script'; trusted-types chattray`
    await route.fulfill({ response, headers: { ...response.headers(), 'content-security-policy': policy } })
  })
  await page.goto(`${server.url}/#/reports`)
  await page.ask('Show it all')
  await page.settled()
  await page.locator('.ct-diagram svg').nth(1).waitFor()
  await page.locator('.ct-math math').nth(4).waitFor()
  await page.context().close()
})

test('a word that is longer than its cell does not cover the next one', async () => {
  const page = await chromium.open(`${server.url}/#/reports`)
  await page.ask('A sequence')
  await page.settled()
  const cells = page.answers.last().locator('tbody td')
  assert.deepEqual(await cells.evaluateAll((all) => all.map((cell) => cell.scrollWidth > cell.clientWidth)), [false, false])
  await page.done()
})

test('a table sorts, copies as HTML and CSV, is saved, and opens whole', async () => {
  const page = await open({ permissions: ['clipboard-read', 'clipboard-write'], acceptDownloads: true })
  const table = page.answers.last().locator('.ct-table-frame')
  const first = () => table.locator('tbody td').first().textContent()
  await table.getByRole('button', { name: 'Sort by Price' }).click()
  assert.equal(await first(), 'ABE8e')
  await table.getByRole('button', { name: 'Sort by Price' }).click()
  assert.equal(await first(), 'BE3')
  await table.getByRole('button', { name: 'Sort by Price' }).click()
  assert.equal(await first(), 'BE3')
  await table.getByRole('button', { name: 'Copy the table' }).click()
  await table.getByRole('button', { name: 'Copied' }).waitFor()
  const copied = await page.evaluate(async () => {
    const [item] = await navigator.clipboard.read()
    const read = async (type) => (await item.getType(type)).text()
    return { text: await read('text/plain'), html: await read('text/html') }
  })
  assert.match(copied.text, /^Editor,Year,Change,Efficiency,Off-target rate,Price\r?\nBE3,2016,C→T,37 %,0\.51,"\$1,200"/)
  assert.match(copied.text, /\|x\|/, 'of a formula, its TeX')
  assert.match(copied.html, /<td>BE3<\/td>/)
  const [saved] = await Promise.all([page.waitForEvent('download'), table.getByRole('button', { name: 'Save as CSV' }).click()])
  assert.match(await readFile(await saved.path(), 'utf8'), /BE4max,2018/)
  await table.getByRole('button', { name: 'Show the whole table' }).click()
  const whole = page.getByRole('dialog')
  await whole.getByRole('button', { name: 'Sort by Year' }).click()
  await whole.getByRole('button', { name: 'Sort by Year' }).click()
  assert.equal(await whole.locator('tbody td').first().textContent(), 'ABE8e')
  await page.shot('answer-whole')
  assert.deepEqual(await findings(page), [])
  await page.setViewportSize({ width: 320, height: 600 })
  await until('a table that goes on shows it, whole too', async () => /right/.test(await whole.locator('.ct-scroll').getAttribute('data-more')))
  await page.keyboard.press('Escape')
  await until('it is closed', async () => (await page.getByRole('dialog').count()) === 0)
  assert.deepEqual(await page.evaluate(() => window.refused), [])
  assert.deepEqual(page.bad, [])
  await page.done()
})

test('a number in brackets shows its source, with the keyboard too', async () => {
  const page = await open()
  const answer = page.answers.last()
  const cite = answer.getByRole('button', { name: /^Source 2: Gaudelli/ })
  await cite.first().hover()
  await page.locator('.ct-cite-card').getByText('doi.org').waitFor()
  await page.shot('answer-source')
  assert.equal(await page.locator('.ct-cite-card a').getAttribute('href'), 'https://doi.org/10.1038/nature24644')
  await page.mouse.move(0, 0)
  await until('the card is gone', async () => (await page.locator('.ct-cite-card').count()) === 0)
  await cite.first().press('Enter')
  await page.locator('.ct-cite-card').waitFor()
  await page.keyboard.press('Escape')
  assert.equal(await page.locator('.ct-cite-card').count(), 0)
  assert.match(await answer.textContent(), /third \[9\]/, 'what names no source stays text')
  assert.deepEqual(page.bad, [])
  await page.done()
})

test('a source stays at its number while the window and the answer move, and closes when that is out of sight', async () => {
  const page = await open()
  const cite = page.answers.last().getByRole('button', { name: /^Source 2: Gaudelli/ }).first()
  const list = page.locator('.ct-list')
  const middle = () => cite.evaluate((e) => e.scrollIntoView({ block: 'center' }))
  const card = page.locator('.ct-cite-card:popover-open')
  const beside = async (when) => until(`the card is at its number: ${when}`, async () => {
    const [at, of] = await page.evaluate(() => ['.ct-cite-card', '.ct-cite > [aria-expanded=true]'].map((s) => document.querySelector(s).getBoundingClientRect().toJSON()))
    return Math.min(Math.abs(at.bottom - of.top), Math.abs(of.bottom - at.top)) <= 12 && at.left <= of.right && at.right >= of.left && at.left >= 0 && at.right <= page.viewportSize().width
  })
  await middle()
  await cite.press('Enter')
  await card.waitFor()
  await beside('opened')
  await list.evaluate((e) => e.scrollBy(0, 40))
  await beside('scrolled')
  await page.setViewportSize({ width: 900, height: 800 })
  await middle()
  await beside('in a smaller window')
  await page.setViewportSize({ width: 1360, height: 860 })
  await middle()
  await beside('in a larger window')
  await list.evaluate((e) => e.scrollTo(0, 0))
  await until('the card is gone with its number', async () => (await card.count()) === 0)
  await page.done()
})

test('nothing that the page’s styles say changes an answer', async () => {
  const page = await open()
  await page.mouse.move(0, 0)
  await page.answers.last().evaluate((answer) => {
    window.watched = [...answer.querySelectorAll('*')]
  })
  const look = () => page.evaluate(() => window.watched.map((e) => {
    const style = getComputedStyle(e)
    const names = [...style].filter((name) => /^(?:color|fill|stroke|font|letter|text|border|margin|padding|background|display|float|content|position|line-height|word|white-space|width|height|opacity|visibility)/.test(name))
    return [`${e.localName}.${e.getAttribute('class') ?? ''}`, ...names.map((name) => `${name}: ${style.getPropertyValue(name)}`)]
  }))
  const before = await look()
  await page.evaluate(() => {
    const sheet = new CSSStyleSheet()
    sheet.replaceSync(`
      p, h1, h2, td, th, li, code, pre, button, span, div, svg, math, table { margin: 9px; padding: 7px; font-size: 30px; color: red; float: right }
      .app h1, .app p, .app-body .ct-root div, .app-body * { letter-spacing: 3px; text-transform: uppercase; border: 3px solid red; line-height: 3; color: green; display: inline; width: 10px; font-family: serif }
      .app .app-body .ct-md p.x, .app .app-body article p, .app .app-body [dir] span, #app .app-body td, #app #app, #app p { background: red; text-indent: 4em; position: relative; font-weight: 900 }
      #app *::before, .app *::after, *::marker { content: 'x'; color: red; display: block }
      .app aside, .app [role=log] { text-align: right; font: italic 900 40px serif; color: red; text-shadow: 1px 1px red; word-spacing: 9px; white-space: pre; visibility: visible }
    `)
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet]
  })
  const after = await look()
  const changed = before.flatMap((element, i) => element.slice(1).filter((value, j) => value !== after[i][j + 1]).map((value) => `${element[0]} ${value}`))
  await page.shot('answer-hostile')
  assert.deepEqual(changed.slice(0, 10), [])
  await page.done()
})

test('at 320 pixels a wide formula is scrolled on its line, and a suggestion of one long word is whole', async () => {
  const page = await chromium.open(`${server.url}/#/reports`, { viewport: { width: 320, height: 700 } })
  await page.button('Open the chat').click()
  await page.ask('Wide')
  await page.settled()
  await page.locator('.ct-math math').nth(2).waitFor()
  await page.getByText('Short', { exact: true }).waitFor()
  assert.equal(await page.locator('.ct-list').evaluate((list) => list.scrollWidth > list.clientWidth), false)
  assert.deepEqual(await findings(page), [])
  const formula = page.locator('.ct-math').nth(1).locator('> span')
  await formula.evaluate((e) => e.scrollTo(e.scrollWidth, 0))
  assert.ok((await formula.evaluate((e) => e.scrollLeft)) > 500)
  assert.equal(await formula.evaluate((e) => e.scrollHeight > e.clientHeight), false)
  // With more room it is not scrolled, and with less it is again.
  for (const [width, scrolled] of [['4000px', null], ['', '0']]) {
    await formula.evaluate((e, to) => (e.closest('.ct-md').style.width = to), width)
    await until('it is scrolled by keyboard where it is wide', async () => (await formula.getAttribute('tabindex')) === scrolled)
  }
  await page.done()
})

test('a tray within a transformed part of a page is no higher than that', async () => {
  const page = await chromium.open(`${server.url}/#/reports`, { viewport: { width: 1000, height: 480 } })
  await page.button('More options').click()
  await page.getByRole('menuitemradio', { name: 'Float over the page' }).click()
  const around = await page.locator('.ct-tray').evaluate((tray) => {
    const part = tray.closest('.app-body')
    part.style.transform = 'translateX(0)'
    return part.getBoundingClientRect().top
  })
  const top = await page.locator('.ct-tray').evaluate((tray) => tray.getBoundingClientRect().top)
  assert.ok(top >= around, `the tray begins at ${top}, and its place at ${around}`)
  await page.done()
})
