import assert from 'node:assert/strict'
import { test } from 'node:test'
import { browser, service } from './world.js'

test('a page that a test has given back has nothing of that test', async () => {
  const [server, chromium] = await Promise.all([service(), browser()])
  try {
    const stored = () => Promise.all([
      indexedDB.databases().then((list) => list.map((one) => one.name)),
      navigator.permissions.query({ name: 'clipboard-read' }).then((status) => status.state),
    ]).then(([databases, clipboard]) => ({
      databases, clipboard, cookie: document.cookie, local: localStorage.getItem('left'), session: sessionStorage.getItem('left'), width: innerWidth,
      dark: matchMedia('(prefers-color-scheme: dark)').matches, hovered: document.querySelector('textarea:hover') !== null,
    }))
    const first = await chromium.open(`${server.url}/#/streams`)
    await first.input.waitFor()
    const before = await first.evaluate(stored)
    await first.evaluate(async () => {
      localStorage.setItem('left', '1')
      sessionStorage.setItem('left', '1')
      document.cookie = 'left=1'
      await new Promise((resolve) => (indexedDB.open('left').onsuccess = resolve))
    })
    await first.context().grantPermissions(['clipboard-read'])
    await first.setViewportSize({ width: 500, height: 500 })
    await first.emulateMedia({ colorScheme: 'dark' })
    await first.route('**/api/**', (route) => route.abort())
    let heard = 0
    first.context().on('request', () => heard++)
    await first.context().setOffline(true)
    await first.input.hover()
    assert.notDeepEqual(await first.evaluate(stored), before)
    await first.done()
    heard = 0
    const second = await chromium.open(`${server.url}/#/streams`)
    await second.input.waitFor()
    assert.equal(second, first, 'the page is used again')
    assert.deepEqual(await second.evaluate(stored), before)
    await second.ask('help')
    await second.settled()
    assert.deepEqual([second.bad, heard], [[], 0])
  } finally {
    await chromium.close()
    await server.kill()
  }
})
