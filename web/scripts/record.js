// Records runs of a service with the demo model, for the playground and the tests:
//   node scripts/record.js http://127.0.0.1:8080
import { writeFileSync } from 'node:fs'
import { createParser } from 'eventsource-parser'

const base = process.argv[2] ?? 'http://127.0.0.1:8080'
const runs = [
  { name: 'tools', message: 'Search articles about mercury and list the reports', context: { current_page: 'reports' } },
  { name: 'proposal', message: 'Propose a schema with base editing', context: { current_page: 'edit_stream', active_tab: 'semantic', stream_id: 1 } },
  { name: 'reasoning', message: 'think', context: {} },
  { name: 'markdown', message: 'markdown', context: {} },
  { name: 'hostile', message: 'hostile', context: {} },
  { name: 'broken', message: 'error late', context: {} },
  { name: 'refused', message: 'tool error', context: { current_page: 'reports' } },
]

async function frames(response) {
  const list = []
  const parser = createParser({ onEvent: (event) => list.push(JSON.parse(event.data)) })
  parser.feed(await response.text())
  return list
}

for (const { name, message, context } of runs) {
  const response = await fetch(`${base}/api/chat/stream?dialect=messages`, {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ message, context }),
  })
  const run = response.headers.get('X-Run-Id')
  const messages = await frames(response)
  const chat = await frames(await fetch(`${base}/api/chat/runs/${run}/stream?dialect=chat`))
  for (const list of [messages, chat]) {
    for (const e of list) {
      const payload = e.payload ?? e.props?.data?.payload
      if (payload?.diagnostics) delete payload.diagnostics
    }
  }
  const text = JSON.stringify({ name, message, messages, chat: chat.map((event) => event) })
  writeFileSync(new URL(`../page/recordings/${name}.json`, import.meta.url), text + '\n')
  console.log(name, messages.length, chat.length, text.length)
}
