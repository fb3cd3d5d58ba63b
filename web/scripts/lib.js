// Finishes the package: its types import files by their full names, as Node's resolution requires, and none only for its effect; themes are copied as files; styles
// get types, for compilers that want them for every import; and LICENSE and CHANGELOG.md are copied.
import { copyFileSync, cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const lib = fileURLToPath(new URL('../lib', import.meta.url))
for (const entry of readdirSync(lib, { recursive: true })) {
  if (!entry.endsWith('.d.ts')) continue
  const path = join(lib, entry)
  const text = readFileSync(path, 'utf8')
  writeFileSync(path, text.replace(/^import '[^']*';\n/gm, '').replace(/(\bfrom |\bimport\()(['"])(\.{1,2}\/[^'"]+)\2/g, '$1$2$3.js$2'))
}
cpSync(fileURLToPath(new URL('../src/styles/themes', import.meta.url)), join(lib, 'themes'), { recursive: true })
for (const name of ['styles', ...readdirSync(join(lib, 'themes')).map((file) => `themes/${file.replace(/\.css$/, '')}`)]) writeFileSync(join(lib, `${name}.css.d.ts`), 'export {}\n')
for (const name of ['LICENSE', 'CHANGELOG.md']) copyFileSync(join(lib, '../..', name), join(lib, '..', name))
