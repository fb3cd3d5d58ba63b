import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { openTray } from './states.js'
import { PACED, browser, call, findings, service, until } from './world.js'

let server, paced, chromium
before(async () => {
  ;[server, paced, chromium] = await Promise.all([service(), service(PACED), browser()])
})
after(async () => {
  await chromium.close()
  await server.kill()
  await paced.kill()
})

for (const scheme of ['light', 'dark']) {
  for (const [size, viewport] of [['wide', { width: 1360, height: 860 }], ['narrow', { width: 360, height: 740 }]]) {
    test(`${scheme}, ${size}: every state is fit to be seen, and axe finds nothing serious`, async () => {
      const page = await chromium.open(`${paced.url}/#/edit/1/semantic`, { colorScheme: scheme, viewport, hasTouch: size === 'narrow', reducedMotion: 'reduce' })
      const look = async (name) => {
        await page.shot(`${name}-${scheme}-${size}`)
        assert.deepEqual(await findings(page), [], name)
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false, `${name} is too wide`)
        const wide = await page.locator('.ct-list, .ct-history, .ct-panel-body').evaluateAll((all) => all.filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.className))
        assert.deepEqual(wide, [], `${name} scrolls sideways`)
      }
      if (size === 'narrow') {
        await look('page')
        await page.button('Open the chat').click()
      }
      await page.hasText('How can I help?')
      await look('empty')
      await page.ask('Propose a schema with base editing')
      await page.locator('.ct-tool').first().waitFor()
      await look('live')
      await page.settled()
      const proposal = page.locator('.ct-payload-card[data-type=schema_proposal] .ct-payload')
      if (size === 'narrow') await proposal.click()
      await page.getByText('+ base editing').waitFor()
      await look('proposal')
      await (size === 'narrow' ? proposal : page.button('Close panel')).click()
      await page.locator('.ct-tool-head').first().click()
      await look('tool')
      await page.ask('markdown')
      await page.settled()
      await look('markdown')
      await page.ask('error late')
      await page.settled()
      await look('error')
      await page.button('Diagnostics').last().click()
      await page.hasText('Iterations')
      await look('diagnostics')
      await page.button('Close panel').click()
      await page.button('Chats').click()
      await page.locator('.ct-chat-row').first().waitFor()
      await look('history')
      const row = page.locator('.ct-chat-row').filter({ hasText: 'Propose a schema' }).first()
      await row.hover()
      await row.getByRole('button', { name: /^Rename/ }).click()
      await page.getByRole('textbox', { name: 'Rename' }).fill('A title that is much longer than the row is wide, so that it has to be cut somewhere')
      await look('rename')
      await page.getByRole('textbox', { name: 'Rename' }).press('Enter')
      // Chats of the tests before have the same title.
      await page.getByRole('textbox', { name: 'Rename' }).waitFor({ state: 'hidden' })
      await page.getByRole('button', { name: /^Delete: A title/ }).first().hover()
      await look('renamed')
      await page.getByRole('button', { name: /^Delete: A title/ }).first().click()
      await page.getByRole('group', { name: 'Delete this chat?' }).waitFor()
      await look('delete')
      await page.button('Cancel').click()
      await page.button('Back').click()
      await page.button('More options').click()
      await look('menu')
      await page.keyboard.press('Escape')
      assert.deepEqual(page.bad, [])
      await page.done()
    })
  }
}

test('the user chooses theme and layout, which are kept', async () => {
  const page = await chromium.open(`${server.url}/#/streams`)
  const background = () => page.locator('.ct-tray').evaluate((e) => getComputedStyle(e).backgroundColor)
  const light = await background()
  await page.button('More options').click()
  await page.getByRole('menuitemradio', { name: 'Theme: dark' }).click()
  assert.notEqual(await background(), light)
  await page.button('More options').click()
  await page.getByRole('menuitemradio', { name: 'Fill the page' }).click()
  assert.ok((await page.locator('.ct-tray').boundingBox()).width > 1000)
  await page.reload()
  await page.hasText('How can I help?')
  assert.ok((await page.locator('.ct-tray').boundingBox()).width > 1000)
  assert.notEqual(await background(), light)
  await page.button('More options').click()
  await page.getByRole('menuitemradio', { name: 'Float over the page' }).click()
  await page.shot('floating')
  await page.button('Close the chat').click()
  await page.reload()
  await page.button('Open the chat').click()
  const box = await page.locator('.ct-tray').boundingBox()
  const handle = page.locator('.ct-tray > .ct-resize')
  await handle.focus()
  await page.keyboard.press('ArrowLeft')
  assert.ok((await page.locator('.ct-tray').boundingBox()).width > box.width)
  assert.deepEqual(page.bad, [])
  await page.done()
})

test('everything can be done with the keyboard alone', async () => {
  await call(server.url, 'POST', '/api/chat', { message: 'hello' })
  const page = await chromium.open(`${server.url}/#/reports`)
  await page.hasText('How can I help?')
  const focused = () => page.evaluate(() => document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent)
  const reach = async (name, key = 'Tab') => {
    for (let i = 0; i < 60; i++) {
      if ((await focused())?.startsWith(name)) return
      await page.keyboard.press(key)
    }
    assert.fail(`${name} cannot be reached; the focus is on ${await focused()}`)
  }
  await reach('Message')
  await page.keyboard.type('List the reports')
  await page.keyboard.press('Shift+Enter')
  await page.keyboard.press('Backspace')
  await page.keyboard.press('Enter')
  await page.settled()
  assert.equal(await page.locator('.ct-panel').count(), 0)
  assert.equal(await focused(), 'Message')
  await reach('10 reports', 'Shift+Tab')
  await page.keyboard.press('Enter')
  await until('the panel that was asked for has the focus', async () => (await focused()) === 'Reports')
  await page.keyboard.press('Escape')
  assert.match(await focused(), /^10 reports/, 'the focus is back where the panel was opened')
  await reach('Listed the reports', 'Shift+Tab')
  await page.keyboard.press('Enter')
  await page.hasText('10 reports, newest first')
  await reach('More options', 'Shift+Tab')
  await page.keyboard.press('Enter')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Escape')
  assert.equal(await focused(), 'More options')
  await reach('Chats', 'Shift+Tab')
  await page.keyboard.press('Enter')
  await until('the search has the focus', async () => (await focused()) === 'Search chats')
  await reach('Rename')
  const rename = await focused()
  await page.keyboard.press('Enter')
  await page.keyboard.press('Escape')
  assert.equal(await focused(), rename)
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  assert.equal(await focused(), 'Delete')
  const next = await page.locator('.ct-chat-row').nth(1).locator('.ct-chat-open > span').textContent()
  await page.keyboard.press('Enter')
  await until('the next chat has the focus when the row is gone', () => page.evaluate((title) => document.activeElement.matches('.ct-chat-row:first-child .ct-chat-open') && document.activeElement.firstChild.textContent === title, next))
  await page.keyboard.press('Escape')
  await page.input.waitFor()
  assert.equal(await focused(), 'Message')
  await reach('Close the chat', 'Shift+Tab')
  await page.keyboard.press('Enter')
  assert.equal(await focused(), 'Open the chat')
  await page.keyboard.press('Enter')
  await until('the tray that was opened has the focus', async () => (await focused()) === 'Message')
  assert.deepEqual(page.bad, [])
  await page.done()
})

test('with forced colours the focus and the selection are visible', async () => {
  const page = await chromium.open(`${server.url}/#/streams`, { forcedColors: 'active' })
  await page.hasText('How can I help?')
  const outline = () => page.evaluate(() => {
    const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement.closest('.ct-composer') ?? document.activeElement)
    return `${outlineStyle} ${outlineWidth}`
  })
  await page.input.focus()
  assert.equal(await outline(), 'solid 2px', 'the composer')
  for (let i = 0; i < 8; i++) {
    await page.keyboard.press('Shift+Tab')
    assert.equal(await outline(), 'solid 2px', await page.evaluate(() => document.activeElement.outerHTML))
  }
  await page.button('Chats').click()
  assert.match(await page.locator('[aria-pressed=true]').evaluate((e) => getComputedStyle(e).outlineStyle), /solid/)
  await page.shot('forced-colours')
  assert.deepEqual(page.bad, [])
  await page.done()
})

for (const forcedColors of ['none', 'active']) {
  test(`the focus is visible on what is chosen, and where the box around would cut its ring, with forced colours ${forcedColors}`, async () => {
    const { id } = await call(server.url, 'POST', '/api/documents', { title: 'Focus' })
    await call(server.url, 'POST', `/api/documents/${id}/blocks`, { type: 'md', content: '| a | b |\n|---|---|\n| 1 | 2 |\n\n```js\ncode()\n```\n\n$$x = y$$\n\n```mermaid\nflowchart LR\nA --> B\n```' })
    const page = await chromium.open(`${server.url}/#/document/${id}`, { colorScheme: 'dark', forcedColors, bypassCSP: true })
    await openTray(page)
    await page.ask('hello')
    await page.settled()
    await page.locator('.ct-diagram svg').waitFor()
    await page.locator('.ct-math-body').waitFor()
    await page.button('Chats').click()
    await page.locator('.ct-history').waitFor()
    // A chosen model, as in the input of a chat whose service has several.
    await page.locator('.ct-history-search').evaluate((e) => e.insertAdjacentHTML('beforeend', '<label class="ct-model"><select><option>model</option></select></label>'))
    /** What is drawn at the middle of the start of an element. */
    const look = async (element) => {
      const { x, y, height } = await element.boundingBox()
      return (await page.screenshot({ clip: { x: Math.max(0, x - 5), y: y + height / 2 - 2, width: 10, height: 4 } })).toString('base64')
    }
    // Some browsers draw no shadow of a control that looks as in their system.
    await page.addStyleTag({ content: ".ct-root :is(select, [type='checkbox']) { box-shadow: none !important }" })
    await page.locator('.ct-history-search').evaluate((e) => e.insertAdjacentHTML('beforeend', '<label class="ct-check"><input type="checkbox"></label>'))
    const sees = async (selector) => {
      const element = page.locator(selector).first()
      await element.evaluate((e) => e.scrollIntoView({ block: 'center' }))
      await page.evaluate(() => document.activeElement?.blur())
      const before = await look(element)
      await element.evaluate((e) => e.focus({ focusVisible: true, preventScroll: true }))
      assert.equal((await look(element)) === before, false, selector)
    }
    for (const selector of ['.ct-doc .ct-table', '.ct-doc .ct-code-body', '.ct-doc .ct-math-body', '.ct-doc .ct-diagram', '.ct-segmented [aria-pressed=true]', '.ct-head [aria-pressed=true]', '.ct-chat-open[aria-current=true]', '.ct-model select', '.ct-check input']) await sees(selector)
    assert.deepEqual(page.bad, [])
    await page.done()
  })
}

test('styles of the page do not reach into the tray', async () => {
  const page = await chromium.open(`${server.url}/#/streams`, { bypassCSP: true })
  await page.ask('markdown')
  await page.settled()
  await page.ask('List the research streams')
  await page.settled()
  await page.locator('.ct-payload').last().click()
  await page.locator('.ct-panel').waitFor()
  await page.mouse.move(2, 2)
  await page.evaluate(() => document.activeElement.blur())
  // Outside the page's own root, as in an application without one.
  await page.evaluate(() => document.body.append(document.querySelector('.app-body > .ct-root')))
  await page.addStyleTag({ content: '.app { display: none !important } body > .ct-root { position: fixed !important; inset: 0 0 0 auto }' })
  const look = () => page.locator('body > .ct-root, body > .ct-root *').evaluateAll((all) => all.map((e) => {
    const style = getComputedStyle(e)
    return { of: `${e.tagName}.${e.getAttribute('class')}`, values: Object.fromEntries([...style].filter((name) => !name.startsWith('--') && !/animation|transition/.test(name)).map((name) => [name, style.getPropertyValue(name)])) }
  }))
  await page.evaluate(() => Promise.all(document.getAnimations().map((a) => a.finish())))
  // Wait until the tray has measured its new place.
  await page.locator('body > .ct-root:not([data-push])').waitFor()
  const before = await look()
  const changed = async () => (await look()).flatMap(({ of, values }, i) => Object.keys(values).filter((name) => values[name] !== before[i].values[name]).map((name) => `${of} ${name}: ${before[i].values[name]} > ${values[name]}`))
  await page.evaluate(() => {
    const reset = document.createElement('style')
    reset.textContent = `@layer base {
      :not(svg, svg *), ::before, ::after { box-sizing: content-box; margin: 0; padding: 0; border: 0 solid red; line-height: 1; font: inherit; list-style: none; text-decoration: inherit; text-transform: uppercase }
      a { color: inherit } svg, img { display: block; vertical-align: middle } table { display: block; border-collapse: collapse } button { width: 100%; border-radius: 0 }
      div, section, span, strong { background: papayawhip; color: orange; float: left } input, textarea { height: 20px; opacity: 0.5 }
    }`
    document.head.prepend(reset)
  })
  // A page's own classes may be in such a layer, and apply on the root. The input of files is hidden.
  assert.deepEqual((await changed()).filter((what) => !/^(DIV\.ct-root|INPUT\.null) /.test(what)).slice(0, 10), [], 'a reset in a layer before ours')
  await page.evaluate(() => document.head.firstElementChild.remove())
  await page.addStyleTag({ content: `
    *, ::before, ::after { margin: 0; padding: 0; border: 0 solid red; box-sizing: content-box; letter-spacing: 1px }
    body { font: italic 700 22px/2 serif; text-transform: uppercase; letter-spacing: 3px; word-spacing: 9px; color: fuchsia; text-align: center; text-shadow: 1px 1px red; white-space: nowrap; user-select: none }
    div, section, header, aside, article { background: papayawhip; line-height: 3; position: relative; padding: 30px; overflow: visible }
    button, [type='button'], [type='submit'] { background: hotpink; color: lime; border: 5px dashed; text-transform: uppercase; padding: 22px; min-width: 200px; float: left }
    input, textarea, select, input[type='checkbox'] { width: 100%; border: 4px solid red; background: yellow; height: 80px }
    a, a:link { color: red; text-decoration: overline } h1, h2, h3, h4 { font-size: 44px; margin: 40px; color: green } p { margin: 30px; font-size: 30px }
    ul, ol { list-style: none; margin: 50px } li { float: left } table { border: 10px solid; width: 50% } td, th { padding: 40px; text-align: right }
    pre, code { font-size: 30px; color: red; background: black } img, svg { display: block; width: 100px; height: 100px } svg * { fill: red; stroke: red }
    form { display: inline; background: red } span, strong, em, small, time { color: orange; font-size: 30px } hr { height: 20px; background: red } details, summary { color: red }
  ` })
  assert.deepEqual((await changed()).slice(0, 10), [])
  await page.addStyleTag({ content: '@layer mine { .ct-bubble { background: rgb(1, 2, 3) } .ct-send { border-radius: 3px } }' })
  assert.equal(await page.answers.first().locator('.ct-bubble').evaluate((e) => getComputedStyle(e).backgroundColor), 'rgb(1, 2, 3)', 'what is in a layer after ours counts')
  assert.equal(await page.locator('.ct-send').evaluate((e) => getComputedStyle(e).borderRadius), '3px')
  await page.done()
})

for (const [what, viewport] of [['at 400 %', { width: 320, height: 256 }], ['on a small phone', { width: 320, height: 568 }]]) {
  test(`${what} whatever stands in the input and in the menu can be reached`, async () => {
    const page = await chromium.open(`${server.url}/#/streams`, { viewport })
    await openTray(page)
    await page.ask('slow 2000') // longer than a test waits: at its end there is room
    for (const text of ['one', 'two', 'three', 'four', 'five']) await page.ask(text)
    await page.locator('input[type=file]').setInputFiles(Array.from({ length: 10 }, (_, i) => ({ name: `a file with a long name ${i}.txt`, mimeType: 'text/plain', buffer: Buffer.from('Text.') })))
    await page.input.fill('line\n'.repeat(20))
    await page.locator('.ct-attachment').nth(9).waitFor()
    /** Turns the wheel, in turn at the top and at the bottom of the screen, until an element is in sight: the list of messages keeps the turns that it gets. */
    const inSight = (element) => {
      let y = 20
      return until('it is in sight', async () => {
        await page.mouse.move(160, y)
        await page.mouse.wheel(0, 2000)
        y = viewport.height - y
        return element.evaluate((e) => {
          const { top, bottom } = e.getBoundingClientRect()
          return top >= 0 && bottom <= innerHeight
        })
      })
    }
    await inSight(page.button('Send after this answer'))
    await page.button('Stop').click()
    await page.button('More options').click()
    await page.getByRole('menu').hover()
    await page.mouse.wheel(0, 2000)
    await inSight(page.getByRole('menuitem', { name: 'Keyboard' }))
    assert.deepEqual(page.bad, [])
    await page.done()
  })
}

for (const [layout, viewport] of [['Dock to the side', { width: 390, height: 844 }], ['Fill the page', { width: 844, height: 390 }]]) {
  test(`nothing is under the rounded corners and the bars of a phone of ${viewport.width} pixels`, async () => {
    const page = await chromium.open(`${server.url}/#/streams`, { viewport })
    const cdp = await page.context().newCDPSession(page)
    await openTray(page)
    await page.button('More options').click()
    await page.getByRole('menuitemradio', { name: layout }).click()
    await cdp.send('Emulation.setSafeAreaInsetsOverride', { insets: { top: 47, bottom: 34, left: 50, right: 50 } })
    const inside = () => page.locator('.ct-head, .ct-composer').evaluateAll((all) => all.every((e) => {
      const { top, bottom, left, right } = e.getBoundingClientRect()
      return top >= 47 && bottom <= innerHeight - 34 && left >= 50 && right <= innerWidth - 50
    }))
    await until('the tray is inside', inside)
    await page.shot(`safe-area-${viewport.width}`)
    await cdp.send('Emulation.setSafeAreaInsetsOverride', { insets: {} })
    await page.done()
  })
}

test('on a phone the playground’s own buttons stay reachable', async () => {
  const page = await chromium.open(`${server.url}/#/playground/broken`, { viewport: { width: 360, height: 740 }, hasTouch: true })
  await page.hasText('breaks off in the middle of')
  await page.button('Replay').click()
  assert.deepEqual(page.bad, [])
  await page.done()
})

test('in the playground the tray follows its props, words, parts and theme, and there is code to copy', async () => {
  const page = await chromium.open(`${server.url}/#/playground/tools`)
  const stage = page.locator('.app-stage')
  const code = page.locator('.play-code')
  const of = (selector, name) => stage.locator(selector).first().evaluate((e, n) => getComputedStyle(e)[n], name)
  await stage.getByRole('log').waitFor()
  await page.getByLabel('layout').selectOption('full')
  await stage.locator('.ct-root[data-layout=full]').waitFor()
  const room = await stage.boundingBox()
  const filled = await stage.locator('.ct-tray').boundingBox()
  assert.ok(filled.x >= room.x && filled.x + filled.width <= room.x + room.width + 1, 'what fills the page fills the stage')
  await page.getByLabel('layout').selectOption('sidebar')
  await page.getByLabel('theme', { exact: true }).selectOption('dark')
  const dark = await of('.ct-tray', 'backgroundColor')
  await page.getByLabel('theme', { exact: true }).selectOption('light')
  assert.notEqual(await of('.ct-tray', 'backgroundColor'), dark)
  await page.getByLabel('labels').selectOption('de')
  await stage.getByPlaceholder('Fragen Sie etwas …').waitFor()
  await page.getByRole('textbox', { name: 'title' }).fill('Bibliothek')
  await code.getByText("labels={{ ...de, title: 'Bibliothek' }}").waitFor()
  await page.getByLabel('Corners').fill('0')
  assert.equal(await of('.ct-composer', 'borderTopLeftRadius'), '0px')
  assert.notEqual(await page.locator('.app-head .ct-button').evaluate((e) => getComputedStyle(e).borderTopLeftRadius), '0px', 'the page around stays as it is')
  await code.getByText('--ct-radius: 0rem;').waitFor()
  await page.getByLabel('Composer').check()
  await stage.getByText('Answers may be wrong.').waitFor()
  await code.getByText('components={{ Composer }}').waitFor()
  await page.getByLabel('file', { exact: true }).selectOption('shadcn')
  await until('the theme is that of the file', async () => (await of('.ct-send', 'backgroundColor')) === 'rgb(124, 58, 237)' || (await of('.ct-starter, .ct-mark', 'color')) === 'rgb(124, 58, 237)')
  assert.deepEqual(await findings(page), [])
  await page.shot('playground')
  await page.getByRole('tab', { name: 'empty' }).click()
  await stage.locator('.ct-starter').first().click()
  await stage.locator('.ct-message[data-role=assistant]').waitFor()
  assert.deepEqual(page.bad, [])
  await page.done()
})

test('the tray works from right to left', async () => {
  const page = await chromium.open(`${server.url}/#/streams`)
  await page.evaluate(() => document.documentElement.setAttribute('dir', 'rtl'))
  await page.ask('help')
  await page.settled()
  const tray = await page.locator('.ct-tray').boundingBox()
  const mine = await page.questions.first().locator('.ct-bubble').boundingBox()
  assert.ok(tray.x < 10, 'the tray is at the left')
  assert.ok(mine.x - tray.x < 40, 'the user’s bubble is at the left')
  const corners = await page.questions.first().locator('.ct-bubble').evaluate((bubble) => ['Left', 'Right'].map((side) => Number.parseFloat(getComputedStyle(bubble)[`borderBottom${side}Radius`])))
  assert.ok(corners[0] < corners[1], 'its small corner is there, too, whatever the direction of its text')
  await page.shot('rtl')
  assert.deepEqual(page.bad, [])
  await page.done()
})

test('in text from right to left the columns of a table are under their heads, and its name reads as it is written', async () => {
  const { id } = await call(server.url, 'POST', '/api/documents', { title: 'Arabic' })
  await call(server.url, 'POST', `/api/documents/${id}/blocks`, { type: 'md', content: '| اسم | قيمة | ملاحظة |\n|:--|--:|---|\n| اسم طويل جدا | 12 | نص |\n| ب | 1200000000000 | نص طويل |' })
  const page = await chromium.open(`${server.url}/#/document/${id}`)
  const words = (selector) => page.locator(`.ct-block .ct-table ${selector}`).evaluateAll((cells) => cells.map((cell) => {
    const range = document.createRange()
    range.selectNodeContents(cell.querySelector('.ct-sort-head > span') ?? cell)
    return range.getBoundingClientRect().toJSON()
  }))
  await page.locator('.ct-block .ct-table td').first().waitFor()
  const [heads, cells] = [await words('th'), await words('tr:first-child td')]
  for (const [i, side] of ['right', 'left', 'right'].entries()) assert.ok(Math.abs(heads[i][side] - cells[i][side]) < 2, `column ${i}: ${heads[i][side]} and ${cells[i][side]}`)
  assert.equal(await page.locator('.ct-block .ct-frame-head > span').first().evaluate((e) => getComputedStyle(e).direction), 'ltr')
  assert.deepEqual(page.bad, [])
  await page.done()
})

test('cells and items read in their own direction, on the side of their column and their marker', async () => {
  const { id } = await call(server.url, 'POST', '/api/documents', { title: 'Cells' })
  const block = (content) => call(server.url, 'POST', `/api/documents/${id}/blocks`, { type: 'md', content })
  await block('| Name here | Number |\n|---|--:|\n| שלום עולם! | -57 |\n| Hello. | 1200 |\n\n- שלום!\n- Hi.')
  await block('| שם של דבר | מספר |\n|---|--:|\n| Hello world. | -57 |\n| שלום! | 1200 |\n\n- שלום!\n- Hi.')
  const page = await chromium.open(`${server.url}/#/document/${id}`)
  const texts = page.locator('.ct-block .ct-md')
  await texts.nth(1).waitFor()
  // The side of its box at which a text is, and the side of the text at which it ends.
  const sides = (text) => texts.nth(text).locator('tr > :first-child, tr > :last-child, li').evaluateAll((all) => all.map((box) => {
    const words = document.createTreeWalker(box, NodeFilter.SHOW_TEXT).nextNode()
    const range = document.createRange()
    range.selectNodeContents(words)
    const [whole, within] = [range.getBoundingClientRect(), box.getBoundingClientRect()]
    range.setStart(words, words.length - 1)
    return [whole.left - within.left < within.right - whole.right ? 'left' : 'right', range.getBoundingClientRect().left - whole.left < 2 ? 'left' : 'right'].join()
  }))
  assert.deepEqual(await sides(0), ['left,right', 'right,right', 'left,left', 'right,right', 'left,right', 'right,right', 'left,left', 'left,right'])
  assert.deepEqual(await sides(1), ['right,left', 'left,left', 'right,right', 'left,right', 'right,left', 'left,right', 'right,left', 'right,right'])
  // Whether the first character of a number is on its left.
  const minus = (text) => texts.nth(text).locator('tr > :last-child').nth(1).evaluate((cell) => {
    const at = document.createRange()
    const left = (i) => (at.setStart(cell.firstChild, i), at.setEnd(cell.firstChild, i + 1), at.getBoundingClientRect().left)
    return left(0) < left(1)
  })
  assert.deepEqual([await minus(0), await minus(1)], [true, true])
  await page.shot('cells-of-two-directions')
  assert.deepEqual(page.bad, [])
  await page.done()
})

test('a long text shows the whole numbers of its lists', async () => {
  const { id } = await call(server.url, 'POST', '/api/documents', { title: 'Long' })
  await call(server.url, 'POST', `/api/documents/${id}/blocks`, { type: 'md', content: `# Numbers\n\n98. Of two digits.\n99. Item.\n100. Of three.\n\n${'Words.\n\n'.repeat(9)}` })
  const page = await chromium.open(`${server.url}/#/document/${id}`)
  const list = page.locator('.ct-md[data-long] ol')
  await list.waitFor()
  const { x, ...box } = await list.boundingBox()
  const look = async () => (await page.screenshot({ clip: { ...box, x: x - 30, width: 100 } })).toString('base64')
  const shown = await look()
  await page.locator('.ct-md-group').evaluateAll((all) => all.forEach((group) => (group.style.contentVisibility = 'visible')))
  assert.equal(shown === (await look()), true)
  await page.done()
})

test('each paragraph of a text reads in its own direction', async () => {
  const { id } = await call(server.url, 'POST', '/api/documents', { title: 'Two languages' })
  await call(server.url, 'POST', `/api/documents/${id}/blocks`, { type: 'md', content: '# Heading\n\nمرحبا بالعالم.\n\n- Item.\n- بند.' })
  const page = await chromium.open(`${server.url}/#/document/${id}`)
  await page.locator('.ct-block .ct-md li').last().waitFor()
  const [whole, heading, arabic, item, last] = await page.locator('.ct-block .ct-md').first().evaluate((text) => [text, ...text.querySelectorAll('h1, p, li')].map((e) => {
    const range = document.createRange()
    range.selectNodeContents(e)
    const all = range.getBoundingClientRect()
    if (e.lastChild instanceof Text) range.setStart(e.lastChild, e.lastChild.length - 1)
    return { left: all.left, right: all.right, box: e.getBoundingClientRect().toJSON(), end: range.getBoundingClientRect().left }
  }))
  assert.ok(heading.left - whole.box.left < 2 && whole.box.right - arabic.right < 2, 'a paragraph begins at the side of its text')
  for (const text of [arabic, last]) assert.ok(text.end - text.left < 2, 'the full stop is at the end of a text from right to left')
  assert.ok(item.end > item.left && last.left - last.box.left < 2, 'an item is beside its marker')
  await page.shot('two-directions')
  assert.deepEqual(page.bad, [])
  await page.done()
})

test('sizes follow the browser’s font, corners and colours the tokens, and themes are files', async () => {
  const page = await chromium.open(`${server.url}/#/streams`)
  await page.hasText('How can I help?')
  const style = (css) => page.evaluate((text) => {
    const sheet = new CSSStyleSheet() // the page's policy allows constructed style sheets
    sheet.replaceSync(text)
    document.adoptedStyleSheets.push(sheet)
  }, css)
  const of = (selector, name) => page.locator(selector).first().evaluate((e, n) => getComputedStyle(e)[n], name)
  const width = async () => (await page.locator('.ct-tray').boundingBox()).width
  assert.equal(await of('.ct-tray', 'fontSize'), '15px')
  const before = await width()
  await style('html { font-size: 150% }')
  assert.equal(await of('.ct-tray', 'fontSize'), '22.5px')
  assert.equal(await width(), before * 1.5)
  await style('html { font-size: 62.5% } .ct-root { --ct-rem: 1.6rem }')
  assert.equal(await of('.ct-tray', 'fontSize'), '15px')
  assert.equal(await width(), before)
  const mark = await page.locator('.ct-welcome-mark').boundingBox()
  assert.deepEqual([mark.width, mark.height], [52, 52])
  const corner = await of('.ct-composer', 'borderTopLeftRadius')
  await style('.ct-root { --ct-radius: 0px }')
  assert.notEqual(await of('.ct-composer', 'borderTopLeftRadius'), corner)
  for (const part of ['.ct-composer', '.ct-starter', '.ct-welcome-mark']) assert.equal(await of(part, 'borderTopLeftRadius'), '0px', part)
  const theme = async (name) => style(await readFile(new URL(`../src/styles/themes/${name}.css`, import.meta.url), 'utf8'))
  await theme('compact')
  assert.equal(await of('.ct-tray', 'fontSize'), '13px', 'the theme’s size, by the page’s own rem')
  const accent = await of('.ct-welcome-mark', 'color')
  await theme('plain')
  assert.notEqual(await of('.ct-welcome-mark', 'color'), accent)
  await style(':root { --background: rgb(1, 2, 3); --primary: rgb(4, 5, 6); --radius: 3px }')
  await theme('shadcn')
  assert.equal(await of('.ct-tray', 'backgroundColor'), 'rgb(1, 2, 3)')
  assert.equal(await of('.ct-welcome-mark', 'color'), 'rgb(4, 5, 6)')
  await page.done()
})

test('beside a tray of another width there is a panel that is whole in sight', async () => {
  const page = await chromium.open(`${server.url}/#/reports`, { viewport: { width: 1100, height: 700 }, bypassCSP: true })
  await page.addStyleTag({ content: '.ct-root { --ct-width: 600px }' })
  await openTray(page)
  await page.button('More options').click()
  await page.getByRole('menuitemradio', { name: 'Float over the page' }).click()
  await page.ask('List the reports')
  await page.settled()
  await page.locator('.ct-payload').last().click()
  const panel = page.locator('.ct-panel')
  await panel.waitFor()
  await page.shot('wide-tray')
  const { x, width } = await panel.boundingBox()
  assert.ok(x >= 0 && x + width <= (await page.locator('.ct-tray').boundingBox()).x, `the panel is from ${x} to ${x + width}`)
  assert.deepEqual(page.bad, [])
  await page.done()
})

test('a full page has the list of chats at its side', async () => {
  const page = await chromium.open(`${server.url}/#/streams`)
  await page.ask('hello')
  await page.settled()
  await page.button('More options').click()
  await page.getByRole('menuitemradio', { name: 'Fill the page' }).click()
  const rail = page.getByRole('navigation', { name: 'Chats' })
  await rail.locator('.ct-chat-row[data-current=true]').getByText('hello').waitFor()
  await rail.getByRole('button', { name: 'New chat' }).click()
  await page.ask('think')
  await page.settled()
  await rail.locator('.ct-chat-row[data-current=true]').getByText('think').waitFor()
  await rail.getByText('hello').first().click()
  await page.questions.getByText('hello').waitFor()
  await page.button('Chats').click()
  await rail.waitFor({ state: 'detached' })
  await page.setViewportSize({ width: 700, height: 800 })
  await page.button('Chats').click()
  await page.getByRole('region', { name: 'Chats' }).waitFor()
  assert.deepEqual(page.bad, [])
  await page.done()
})

test('on paper a chat that fills the page is whole, and one that floats does not cover the page', async () => {
  const page = await chromium.open(`${server.url}/#/streams`)
  // On the screen a short answer at the end has the rest of the view.
  for (const text of ['markdown', 'markdown', 'markdown', 'hello']) {
    await page.ask(text)
    await page.settled()
  }
  await page.button('More options').click()
  await page.getByRole('menuitemradio', { name: 'Fill the page' }).click()
  await page.emulateMedia({ media: 'print' })
  const { whole, seen } = await page.evaluate(() => ({ whole: document.documentElement.scrollHeight, seen: [...document.querySelectorAll('.ct-message')].map((e) => e.getBoundingClientRect().bottom + scrollY) }))
  assert.equal(seen.length, 8)
  assert.ok(seen.at(-1) > 1000 && seen.at(-1) <= whole && whole < seen.at(-1) + 200, `the last message ends at ${seen.at(-1)} of ${whole}`)
  assert.equal(await page.input.isVisible(), false)
  await page.emulateMedia({ media: 'screen' })
  await page.button('More options').click()
  await page.getByRole('menuitemradio', { name: 'Float over the page' }).click()
  await page.emulateMedia({ media: 'print' })
  assert.equal(await page.locator('.ct-tray').isVisible(), false)
  await page.getByRole('heading', { name: 'Research streams' }).waitFor()
  await page.emulateMedia({ media: 'screen' })
  await page.done()
})

test('on paper a page has the room that its chat has beside it', async () => {
  const page = await chromium.open(`${server.url}/#/streams`)
  await page.ask('markdown')
  await page.settled()
  const width = () => page.locator('.app-main').evaluate((e) => e.getBoundingClientRect().width / document.documentElement.clientWidth)
  assert.ok((await width()) < 0.9)
  await page.emulateMedia({ media: 'print' })
  assert.equal(await width(), 1)
  assert.equal(await page.locator('.ct-tray').isVisible(), false)
  // A column may be in a part of the page that has nothing else.
  await page.evaluate(() => {
    const tray = document.querySelector('.ct-root[data-layout]')
    const part = document.createElement('aside')
    tray.replaceWith(part)
    part.append(tray)
  })
  assert.equal(await page.locator('.ct-tray').isVisible(), false)
  await page.emulateMedia({ media: 'screen' })
  await page.done()
})

test('what is left out where there is no room follows --ct-rem, as all lengths do', async () => {
  const { id } = await call(server.url, 'POST', '/api/documents', { title: 'Sizes' })
  await call(server.url, 'POST', `/api/documents/${id}/blocks`, { type: 'md', content: 'x' })
  const page = await chromium.open(`${server.url}/#/document/${id}`, { viewport: { width: 1360, height: 800 } })
  const field = page.locator('.ct-doc-ask textarea')
  await field.waitFor()
  const alone = () => field.evaluate((e) => getComputedStyle(e).flexBasis)
  const usual = await alone()
  assert.equal(usual.includes('%'), false)
  // A page whose root has another size keeps the tray as it is.
  await page.evaluate(() => {
    document.documentElement.style.fontSize = '200%'
    for (const root of document.querySelectorAll('.ct-root')) root.style.setProperty('--ct-rem', '16px')
  })
  assert.equal(await alone(), usual)
  await page.done()
})

test('a field is as high as the text in it, within limits, and the name of a refused file stays in its place', async () => {
  const { id } = await call(server.url, 'POST', '/api/documents', { title: 'Fields' })
  const page = await chromium.open(`${server.url}/#/document/${id}`)
  const words = 'A question of one long paragraph. '.repeat(40)
  const lines = (field) => field.evaluate((e) => e.clientHeight / Number.parseFloat(getComputedStyle(e).lineHeight))
  const asked = page.locator('.ct-doc-ask textarea')
  await asked.waitFor()
  assert.ok((await lines(asked)) < 3)
  await asked.fill(words)
  assert.ok((await lines(asked)) > 3)
  await asked.fill(words.repeat(10))
  assert.ok((await asked.evaluate((e) => e.clientHeight / innerHeight)) < 0.6)
  await page.ask(words)
  await page.settled()
  await page.button('Edit').click()
  const edited = page.locator('.ct-editing textarea')
  await edited.waitFor()
  assert.ok((await lines(edited)) > 3)
  await edited.fill('short')
  assert.ok((await lines(edited)) > 2)
  await page.locator('.ct-tray input[type=file]').setInputFiles({ name: `${'long'.repeat(50)}.bin`, mimeType: 'x/y', buffer: Buffer.from([0, 1, 2, 255]) })
  const problem = page.locator('.ct-composer-problem')
  await problem.waitFor()
  assert.equal(await problem.evaluate((e) => e.scrollWidth > e.clientWidth), false)
  await page.done()
})

test('the head of a centred column is above the middle of its cells, also on paper', async () => {
  const { id } = await call(server.url, 'POST', '/api/documents', { title: 'Middle' })
  await call(server.url, 'POST', `/api/documents/${id}/blocks`, { type: 'md', content: '| a | b | a longer head of a column |\n|---|:---:|:---:|\n| 1 | a long text in a cell | 2 |\n| 3 | 4 | 5 |' })
  const page = await chromium.open(`${server.url}/#/document/${id}`)
  await page.locator('.ct-doc .ct-sort').first().waitFor({ state: 'attached' })
  for (const dir of ['ltr', 'rtl']) {
    for (const media of ['screen', 'print']) {
      await page.emulateMedia({ media })
      const apart = await page.locator('.ct-doc table').evaluate((table, to) => {
        document.documentElement.dir = to
        const middle = (cell) => {
          const range = document.createRange()
          range.selectNodeContents(cell)
          const { left, right } = range.getBoundingClientRect()
          return (left + right) / 2
        }
        return [1, 2].map((i) => Math.abs(middle(table.tHead.rows[0].cells[i].querySelector('.ct-sort-head > span')) - middle(table.tBodies[0].rows[0].cells[i])))
      }, dir)
      assert.ok(apart.every((px) => px < 1), `${dir}, ${media}: ${apart}`)
    }
  }
  await page.emulateMedia({ media: 'screen' })
  await page.done()
})

test('on paper tables and code are whole', async () => {
  const { id } = await call(server.url, 'POST', '/api/documents', { title: 'Paper' })
  const long = (line) => Array.from({ length: 60 }, (_, i) => line(i)).join('\n')
  const row = (cell) => `|${Array.from({ length: 12 }, (_, i) => `${cell(i)}|`).join('')}`
  await call(server.url, 'POST', `/api/documents/${id}/blocks`, { type: 'md', content: `${row((i) => `Column ${i}`)}\n${row(() => '---')}\n${long((i) => row(() => `${i} words`))}\n\n\`\`\`text\n${long((i) => `${i} `.repeat(200))}\n\`\`\`` })
  const page = await chromium.open(`${server.url}/#/document/${id}`, { viewport: { width: 720, height: 860 } })
  await page.locator('.ct-doc .ct-code-body').waitFor()
  const cut = () => page.locator('.ct-doc :is(.ct-table, .ct-code-body)').evaluateAll((all) => all.filter((e) => e.scrollHeight > e.clientHeight || e.scrollWidth > e.closest('.ct-frame').clientWidth).map((e) => e.className))
  assert.deepEqual(await cut(), ['ct-table', 'ct-code-body'])
  await page.emulateMedia({ media: 'print' })
  assert.deepEqual(await cut(), [])
  // A narrow sheet, or a column of one.
  await page.setViewportSize({ width: 400, height: 860 })
  assert.deepEqual(await cut(), [])
  assert.equal(await page.button('Open the chat').isVisible(), false)
  await page.shot('paper')
  await page.emulateMedia({ media: 'screen' })
  await page.done()
})

test('without storage of the browser the page and the tray work, as long as the page lives', async () => {
  const page = await chromium.open('about:blank')
  await page.context().addInitScript(() => {
    for (const name of ['localStorage', 'sessionStorage']) {
      Object.defineProperty(window, name, { get: () => { throw new DOMException('no storage', 'SecurityError') } })
    }
  })
  await page.goto(`${server.url}/#/streams`)
  await page.ask('help')
  await page.settled()
  assert.equal(await page.answers.count(), 1)
  assert.deepEqual(page.bad.filter((what) => !what.startsWith(`request: ${server.url}`)), [])
  await page.context().close()
})

test('beside a tray the tabs of a page are all in sight', async () => {
  const page = await chromium.open(`${server.url}/#/edit/1/semantic`, { viewport: { width: 680, height: 800 } })
  await openTray(page)
  await until('the page is narrow', async () => (await page.locator('.app-tabs').boundingBox()).width < 300)
  assert.equal(await page.locator('.app-tabs').evaluate((e) => e.scrollWidth > e.clientWidth), false, 'the tabs scroll sideways')
  await page.done()
})
