import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { browser, call, service, until } from './world.js'

let server, chromium, page
before(async () => {
  ;[server, chromium] = await Promise.all([service({ CHATTRAY_TITLES: 'model' }), browser()])
})
after(async () => {
  await chromium.close()
  await server.kill()
})
beforeEach(async () => {
  page = await chromium.open(`${server.url}/#/reports`, { acceptDownloads: true })
  await page.hasText('How can I help?')
})
afterEach(async () => {
  const { bad } = page
  await page.context().close()
  assert.deepEqual(bad, [], 'nothing bad happened in the page')
})

const versions = () => page.getByRole('group', { name: 'Versions' })

test('answers and questions have versions; the next question continues from the one that is shown', async () => {
  await page.ask('help')
  await page.settled()
  await page.ask('goodbye')
  await page.settled()
  await page.answers.last().hover()
  await page.button('Answer again').last().click()
  await page.settled()
  await versions().getByText('2/2').waitFor()
  await versions().getByRole('button', { name: 'Previous version' }).click()
  await versions().getByText('1/2').waitFor()
  await page.reload()
  await versions().getByText('1/2').waitFor()

  await page.questions.first().hover()
  await page.questions.first().getByRole('button', { name: 'Edit' }).click()
  await page.getByRole('textbox', { name: 'Edit message' }).fill('markdown')
  await page.getByRole('textbox', { name: 'Edit message' }).press('Enter')
  await page.settled()
  assert.equal(await page.questions.count(), 1, 'what followed the question is in its other version')
  await page.questions.first().getByText('2/2').waitFor()
  await page.questions.first().getByRole('button', { name: 'Previous version' }).click()
  await until('the first version is back', async () => (await page.questions.count()) === 2)
  await versions().last().getByText('1/2').waitFor()
  await page.ask('What are the research streams?')
  await page.settled()
  assert.equal(await page.questions.count(), 3)
})

test('a chat gets its title from the model, is pinned, archived and saved', async () => {
  await page.ask('What are the research streams about gold?')
  await page.settled()
  const chat = async () => (await call(server.url, 'GET', '/api/chats')).items.find((c) => /gold/i.test(c.title))
  await until('the model has named the chat', async () => (await chat())?.title === 'Research streams gold')
  await page.getByRole('heading', { name: 'Research streams gold', level: 2 }).waitFor()
  await page.button('More options').click()
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('menuitem', { name: 'Save as Markdown' }).click()])
  assert.equal(download.suggestedFilename(), 'Research streams gold.md')
  assert.match(readFileSync(await download.path(), 'utf8'), /^# Research streams gold\n\n## You · .*\n\nWhat are the research streams about gold\?/)
  await page.button('Chats').click()
  await page.getByRole('heading', { name: 'Today' }).waitFor()
  await page.button('Pin: Research streams gold').click()
  await page.getByRole('heading', { name: 'Pinned' }).waitFor()
  await page.button('Archive: Research streams gold').click()
  await until('it is out of the list', async () => (await chat()) === undefined)
  await page.button('Archived chats').click()
  await page.button('Unarchive: Research streams gold').click()
  await until('it is back', async () => (await chat())?.pinned === true)
})

test('commands and mentions are chosen by keyboard', async () => {
  await page.input.pressSequentially('Please use @list_rep')
  const option = page.getByRole('option', { name: /@list_reports/ })
  await option.waitFor()
  assert.equal(await page.input.getAttribute('aria-activedescendant'), await option.getAttribute('id'))
  await page.input.press('Enter')
  assert.equal(await page.input.inputValue(), 'Please use @list_reports ')
  await page.input.fill('')
  await page.input.pressSequentially('/ch')
  await page.getByRole('option', { name: /chats/ }).waitFor()
  await page.input.press('Enter')
  await page.getByRole('region', { name: 'Chats' }).waitFor()
})

test('a PDF file is read and stays with its question; an unreadable one is given back with the reason', async () => {
  const picker = page.locator('input[type=file]')
  const report = readFileSync(new URL('../../services/pdftext/testdata/report.pdf', import.meta.url))
  await picker.setInputFiles({ name: 'trial.pdf', mimeType: 'application/pdf', buffer: report })
  const chip = page.locator('.ct-composer .ct-attachment', { hasText: 'trial.pdf' })
  assert.match(await chip.innerText(), /23 kB/)
  await page.ask('What is in this file?')
  await page.settled()
  const { items } = await call(server.url, 'GET', '/api/chats')
  const chat = await call(server.url, 'GET', `/api/chats/${Math.max(...items.map((c) => c.conversation_id))}`)
  assert.deepEqual(chat.messages[0].attachments, [{ name: 'trial.pdf', mime: 'application/pdf', size: report.length }])
  const trace = await call(server.url, 'GET', `/api/chat/runs/${chat.messages[1].run_id}/diagnostics`)
  assert.match(JSON.stringify(trace), /enrolled 24 patients/)
  await page.reload()
  await until('the chip is there after a reload', () => page.locator('.ct-message .ct-attachment', { hasText: 'trial.pdf' }).innerText().then((t) => /23 kB/.test(t), () => false))
  const locked = '%PDF-1.7\n1 0 obj\n<< /Type /Catalog >>\nendobj\nxref\n0 2\n0000000000 65535 f \n0000000009 00000 n \ntrailer\n<< /Size 2 /Root 1 0 R /Encrypt << /Filter /Standard /V 5 /R 6 >> >>\nstartxref\n45\n%%EOF\n'
  await picker.setInputFiles({ name: 'locked.pdf', mimeType: '', buffer: Buffer.from(locked) })
  await page.ask('And in this one?')
  await page.getByText('the file "locked.pdf" cannot be used: is encrypted; remove its password').waitFor()
  await page.locator('.ct-composer .ct-attachment', { hasText: 'locked.pdf' }).waitFor()
  assert.equal(await page.input.inputValue(), 'And in this one?')
  await page.button('Remove: locked.pdf').click()
  await page.input.fill('')
})

test('files are dropped anywhere on the tray and can be removed; a drop never leaves the page', async () => {
  const drop = (selector, name, type, text) => page.evaluate(([selector, name, type, text]) => {
    const data = new DataTransfer()
    data.items.add(new File([text], name, { type }))
    const target = document.querySelector(selector)
    target.dispatchEvent(new DragEvent('dragenter', { dataTransfer: data, bubbles: true, cancelable: true }))
    const over = new DragEvent('dragover', { dataTransfer: data, bubbles: true, cancelable: true })
    target.dispatchEvent(over)
    const dropped = new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true })
    target.dispatchEvent(dropped)
    return over.defaultPrevented && dropped.defaultPrevented
  }, [selector, name, type, text])
  const long = `${'a-very-long-name-'.repeat(8)}.md`
  assert.equal(await drop('.ct-list', long, 'text/markdown', '# Notes'), true)
  const remove = page.button(`Remove: ${long}`)
  await remove.waitFor()
  const box = await remove.boundingBox()
  const tray = await page.locator('.ct-tray').boundingBox()
  assert.ok(box.x + box.width <= tray.x + tray.width, 'the button is within the tray')
  await remove.click()
  await until('it is gone', async () => (await remove.count()) === 0)
  const dot = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==', 'base64')
  await page.locator('input[type=file]').setInputFiles({ name: 'dot.png', mimeType: 'image/png', buffer: dot })
  await until('the thumbnail is drawn', () => page.locator('.ct-composer .ct-attachment img').evaluate((img) => img.naturalWidth === 1).catch(() => false))
})
