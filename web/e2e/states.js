// The states of the tray of which pictures are taken: the page of each, the steps that lead to it, and its picture in docs/screenshots.

export async function openTray(page) {
  const open = page.button('Open the chat')
  await open.or(page.input).first().waitFor()
  if (await open.isVisible()) await open.click()
  await page.input.waitFor()
}

const ask = (text) => async (page) => {
  await page.ask(text)
  await page.settled()
}

const begin = (text) => async (page) => {
  await page.ask(text)
  await page.button('Stop').waitFor()
}

async function rendered(page) {
  await ask('How does an editing rate depend on temperature?')(page)
  await page.locator('.ct-diagram svg').waitFor({ state: 'attached' })
  await page.locator('.ct-code .hljs-keyword').first().waitFor({ state: 'attached' })
}

async function withReport(page) {
  await ask('Create a report with a chart about gold')(page)
  await page.locator('.ct-chart canvas').first().waitFor()
}

/** The playground in a language or a theme. */
const play = (recording, choices) => ({
  path: `playground/${recording}`,
  docs: false,
  run: async (page) => {
    for (const [name, value] of Object.entries(choices)) await page.locator(`#play-${name}`).selectOption(value)
    await page.locator(recording === 'empty' ? '.app-stage .ct-starter' : '.app-stage .ct-message[data-role=assistant][data-status=complete]').first().waitFor()
  },
})

/** An image of one pixel. */
const dot = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64')
const files = [
  { name: 'a report about gene editing, with a name that is much longer than the place that there is for it.txt', mimeType: 'text/plain', buffer: Buffer.from('Text.') },
  { name: 'dot.png', mimeType: 'image/png', buffer: dot },
]

/** All states. Those without `docs: false` are pictures of the documentation. */
export const states = [
  { name: 'history-empty', path: 'streams', docs: false, run: async (page) => page.button('Chats').click() },
  { name: 'empty', path: 'streams', run: async () => undefined },
  { name: 'answer', path: 'streams', run: ask('Compare stream 1 and stream 2') },
  { name: 'rendering', path: 'streams', layout: 'Fill the page', scripted: true, wide: { width: 1280, height: 1160 }, run: rendered },
  { name: 'trail', path: 'reports', wide: { width: 960, height: 660 }, run: async (page) => {
    await ask('Search articles about mercury and list the reports')(page)
    await page.locator('.ct-trail-head').click()
    await page.locator('.ct-trail-body .ct-tool-head').first().click()
  } },
  { name: 'approval', path: 'reports', wide: { width: 1024, height: 740 }, run: async (page) => {
    await page.ask('Order 2 printed copies of report 1')
    await page.getByRole('group', { name: 'May I do this?' }).waitFor()
  } },
  { name: 'error', path: 'streams', run: ask('error late') },
  { name: 'offline', path: 'streams', run: async (page) => {
    await ask('hello')(page)
    await page.context().setOffline(true)
    await page.ask('Are you still there?')
    await page.locator('.ct-banners .ct-note').waitFor()
  } },
  { name: 'history', path: 'streams', layout: 'Fill the page', scheme: 'dark', run: async (page) => {
    await ask('List the research streams')(page)
    await page.button('New chat').click()
    await ask('think')(page)
    await page.button('New chat').click()
    await ask('Compare stream 1 and stream 2')(page)
  } },
  { name: 'documents-empty', path: 'document', docs: false, run: async () => undefined },
  { name: 'documents', path: 'document', wide: { width: 1100, height: 660 }, run: withReport },
  { name: 'research', path: 'reports', layout: 'Fill the page', run: ask('Research base editing and gold') },
  { name: 'panel', path: 'reports', wide: { width: 1100, height: 480 }, run: async (page) => {
    await ask('List the reports')(page)
    await page.locator('.ct-payload').last().click()
  } },
  { name: 'phone', path: 'streams', wide: { width: 360, height: 740 }, scheme: 'dark', scripted: true, run: rendered },

  { name: 'running', path: 'streams', docs: false, run: begin('slow 400') },
  { name: 'queue', path: 'streams', docs: false, run: async (page) => {
    await begin('slow 400')(page)
    await page.ask('help')
    await page.ask('Compare stream 1 and stream 2, and say which of them has more reports')
    await page.getByRole('list', { name: 'Waiting messages' }).waitFor()
  } },
  { name: 'reasoning', path: 'streams', docs: false, run: async (page) => {
    await ask('think')(page)
    await page.locator('.ct-reasoning-head').click()
  } },
  { name: 'long', path: 'streams', docs: false, run: ask('slow 5') },
  { name: 'floating', path: 'streams', layout: 'Float over the page', docs: false, run: ask('List the research streams') },
  { name: 'launcher', path: 'reports', layout: 'Float over the page', docs: false, run: async (page) => {
    await page.ask('Order 2 printed copies of report 1')
    await page.getByRole('group', { name: 'May I do this?' }).waitFor()
    await page.button('Close the chat').click()
  } },
  { name: 'menu', path: 'streams', docs: false, run: async (page) => page.button('More options').click() },
  { name: 'palette', path: 'streams', docs: false, run: async (page) => {
    await page.input.pressSequentially('/')
    await page.locator('.ct-palette li').first().waitFor()
  } },
  { name: 'keys', path: 'streams', docs: false, run: async (page) => {
    await page.button('More options').click()
    await page.getByRole('menuitem', { name: 'Keyboard' }).click()
    await page.locator('.ct-keys').waitFor()
  } },
  { name: 'feedback', path: 'streams', docs: false, run: async (page) => {
    await ask('help')(page)
    await page.button('Bad answer').click()
    await page.locator('.ct-feedback').waitFor()
  } },
  { name: 'editing', path: 'streams', docs: false, run: async (page) => {
    await ask('hello')(page)
    await page.questions.last().hover()
    await page.button('Edit').click()
  } },
  { name: 'versions', path: 'streams', docs: false, run: async (page) => {
    await ask('hello')(page)
    await page.button('Answer again').click()
    await page.getByRole('group', { name: 'Versions' }).waitFor()
    await page.settled()
  } },
  { name: 'attachments', path: 'streams', docs: false, run: async (page) => {
    await page.locator('input[type=file]').setInputFiles(files)
    await ask('What is in these files?')(page)
    await page.locator('input[type=file]').setInputFiles(files)
  } },
  { name: 'source', path: 'reports', docs: false, run: async (page) => {
    await ask('Research base editing and gold')(page)
    await page.locator('.ct-cite > button').first().click()
    await page.locator('.ct-cite-card:popover-open').waitFor()
  } },
  { name: 'diagnostics', path: 'reports', docs: false, run: async (page) => {
    await ask('List the reports')(page)
    await page.button('Diagnostics').click()
    await page.hasText('Iterations')
  } },
  { name: 'proposal', path: 'edit/1/semantic', docs: false, run: ask('Propose a schema with base editing') },
  { name: 'table', path: 'streams', scripted: true, docs: false, run: async (page) => {
    await rendered(page)
    await page.button('Show the whole table').click()
    await page.locator('.ct-whole[open] table').waitFor()
  } },
  { name: 'changes', path: 'document', docs: false, run: async (page) => {
    await page.button('New document').click()
    await page.getByText('This document is empty').waitFor()
    await withReport(page)
    await page.button('Accept all').click()
    await page.locator('.ct-doc-pending[data-done]').waitFor()
    await ask('Shorten the summary')(page)
    await page.locator('.ct-block[data-state=pending_edit]').first().waitFor()
    await page.locator('.ct-block[data-state=pending_edit]').first().scrollIntoViewIfNeeded()
  } },
  { name: 'document-versions', path: 'document', docs: false, run: async (page) => {
    await page.button('New document').click()
    await page.getByText('This document is empty').waitFor()
    await withReport(page)
    await page.button('Accept all').click()
    await page.locator('.ct-doc-pending[data-done]').waitFor()
    // The first version is stored before the document changes.
    await ask('Shorten the summary')(page)
    await page.locator('.ct-block[data-state=pending_edit]').first().waitFor()
    await page.button('Accept all').click()
    await page.locator('.ct-doc-pending[data-done]').waitFor()
    await page.button('Versions').click()
    await page.locator('.ct-versions-list button').first().waitFor()
  } },
  { name: 'playground', ...play('tools', {}) },
  { name: 'arabic', dir: 'rtl', ...play('tools', { labels: 'ar', dir: 'rtl' }) },
  { name: 'arabic-empty', dir: 'rtl', ...play('empty', { labels: 'ar', dir: 'rtl' }) },
  { name: 'arabic-threads', dir: 'rtl', ...play('threads', { labels: 'ar', dir: 'rtl' }) },
  { name: 'plain', ...play('markdown', { file: 'plain' }) },
  { name: 'compact', ...play('markdown', { file: 'compact' }) },
  { name: 'shadcn', ...play('proposal', { file: 'shadcn' }) },
]
