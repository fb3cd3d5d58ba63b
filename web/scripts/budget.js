// Says what the tray costs, and fails when it costs too much: everything that the package brings along but React, in one
// file, without what is loaded later.
import { gzipSync } from 'node:zlib'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

const LIMIT = 150 * 1024

const result = await build({
  root: fileURLToPath(new URL('..', import.meta.url)), configFile: false, logLevel: 'error', publicDir: false,
  build: {
    write: false, target: 'es2022', lib: { entry: 'src/index.ts', formats: ['es'] }, minify: true,
    rolldownOptions: { external: [/^react($|\/)/, /^react-dom($|\/)/] },
  },
})
const chunks = [result].flat().flatMap((r) => r.output).filter((o) => o.type === 'chunk')
const first = new Set()
const take = (name) => {
  const chunk = chunks.find((c) => c.fileName === name)
  if (!chunk || first.has(chunk)) return
  first.add(chunk)
  chunk.imports.forEach(take)
}
take(chunks.find((c) => c.isEntry).fileName)
const size = (list) => [...list].reduce((sum, c) => sum + gzipSync(c.code, { level: 9 }).length, 0)
const kilo = (n) => `${(n / 1024).toFixed(1)} kB`
console.log(`tray: ${kilo(size(first))} gzip of ${kilo(LIMIT)}; loaded when a chart is shown: ${kilo(size(chunks.filter((c) => !first.has(c))))}`)
if (size(first) > LIMIT) process.exit(1)
