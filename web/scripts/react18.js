// Runs the unit tests on React 18, in a copy of the package that has the same modules except React.
import { spawnSync } from 'node:child_process'
import { cpSync, linkSync, mkdirSync, mkdtempSync, readdirSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const web = fileURLToPath(new URL('..', import.meta.url))
const work = mkdtempSync(join(web, 'node_modules/.react18-'))
const copy = join(work, 'web')

/** Copies a folder as links to its files. */
function link(from, to) {
  mkdirSync(to, { recursive: true })
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    if (entry.name.startsWith('.')) continue
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) link(source, target)
    else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target)
    else linkSync(source, target)
  }
}

let code = 1
try {
  link(join(web, 'node_modules'), join(copy, 'node_modules'))
  for (const name of ['react', 'react-dom', 'scheduler']) {
    rmSync(join(copy, 'node_modules', name), { recursive: true })
    renameSync(join(copy, 'node_modules', `${name}-18`), join(copy, 'node_modules', name))
  }
  for (const name of ['src', 'test', 'page', 'package.json', 'vite.config.ts', 'README.md']) cpSync(join(web, name), join(copy, name), { recursive: true })
  for (const name of ['agents', 'app', 'schemas']) symlinkSync(join(dirname(web.replace(/\/$/, '')), name), join(work, name))
  code = spawnSync(process.execPath, [join(copy, 'node_modules/vitest/vitest.mjs'), 'run', ...process.argv.slice(2)], { cwd: copy, stdio: 'inherit', env: { ...process.env, REACT_MAJOR: '18' } }).status ?? 1
} finally {
  rmSync(work, { recursive: true, force: true })
}
process.exit(code)
