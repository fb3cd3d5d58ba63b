// Measures what the package adds to an application, and fails if that is too much: the imported parts with all their dependencies
// except React, as an application's own build bundles them, without the parts that are loaded later.
import { gzipSync } from 'node:zlib'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

const root = fileURLToPath(new URL('..', import.meta.url))

/** What an application imports, and the limit of its compressed size in bytes. */
const budgets = [
  { name: 'tray', code: "export * from './src/index.ts'", limit: 90 * 1024 },
  { name: 'headless', code: "export { ChatProvider, useChatContext, useChatState, useChatStore, useClientTool, useGeneralChat, sectionsOf } from './src/index.ts'", limit: 16 * 1024 },
]

const entry = '\0entry'
async function chunksOf(code) {
  const result = await build({
    root, configFile: false, logLevel: 'error', publicDir: false,
    plugins: [{ name: 'entry', enforce: 'pre', resolveId: (id) => (/(^|\/)budget-entry$/.test(id) ? entry : undefined), load: (id) => (id === entry ? code.replace('./src', `${root}src`) : undefined) }],
    build: {
      write: false, target: 'es2022', minify: true, modulePreload: false,
      rolldownOptions: { input: 'budget-entry', preserveEntrySignatures: 'allow-extension', external: [/^react($|\/)/, /^react-dom($|\/)/] },
    },
  })
  return [result].flat().flatMap((r) => r.output).filter((o) => o.type === 'chunk')
}

/** The chunks that are loaded with the first one. */
function firstOf(chunks) {
  const first = new Set()
  const take = (name) => {
    const chunk = chunks.find((c) => c.fileName === name)
    if (!chunk || first.has(chunk)) return
    first.add(chunk)
    chunk.imports.forEach(take)
  }
  take(chunks.find((c) => c.isEntry).fileName)
  return first
}

const size = (list) => [...list].reduce((sum, c) => sum + gzipSync(c.code, { level: 9 }).length, 0)
const kilo = (n) => `${(n / 1024).toFixed(1)} kB`
for (const { name, code, limit } of budgets) {
  const chunks = await chunksOf(code)
  const first = firstOf(chunks)
  const later = size(chunks.filter((c) => !first.has(c)))
  console.log(`${name}: ${kilo(size(first))} gzip of ${kilo(limit)}${later > 0 ? `; loaded when it is needed: ${kilo(later)}` : ''}`)
  if (size(first) > limit) process.exitCode = 1
}
