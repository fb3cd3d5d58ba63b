import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'
import { browser, call, installPack, run, service } from './world.js'

const web = fileURLToPath(new URL('..', import.meta.url))
let work, pack

before(() => {
  work = mkdtempSync(join(process.env.E2E_WORK, 'package-'))
  pack = installPack(work, ['@types/react', '@types/react-dom', 'csstype', '@types/unist', 'zod'])
  assert.equal(JSON.parse(readFileSync(join(pack, 'package.json'), 'utf8')).name, '@chattray/react')
})

test('the package has its licence, its changelog, its repository, and source maps', () => {
  for (const file of ['LICENSE', 'CHANGELOG.md', 'README.md', 'lib/index.js', 'lib/state/store/store.js.map', 'lib/index.d.ts', 'lib/chattray.css', 'lib/styles.css.d.ts', 'lib/labels/de.js', 'lib/labels/ar.d.ts']) {
    assert.ok(existsSync(join(pack, file)), file)
  }
  const { repository, keywords, homepage, exports } = JSON.parse(readFileSync(join(pack, 'package.json'), 'utf8'))
  assert.ok(repository && homepage && keywords.length > 0)
  for (const [name, entry] of Object.entries(exports)) {
    for (const file of typeof entry === 'string' ? [entry] : Object.values(entry)) assert.ok(existsSync(join(pack, file.replace('*', name.includes('themes') ? 'plain' : 'fr'))), `${name}: ${file}`)
  }
})

test('its types compile under Node\'s own resolution, with every import asked for', () => {
  writeFileSync(join(work, 'app.tsx'), `
import { ChatProvider, ChatTray, useThreads, type Command, type Labels } from '@chattray/react'
import type {
  AnswerActionsProps, ApprovalAnswerOptions, ApprovalProps, ChatApiOptions, ChatProviderProps, ChatTrayProps, ClientTool, ComposerProps, EmptyProps, HeaderProps, HistoryPanelProps, LauncherProps, MarkdownProps,
  MessageListProps, MessageProps, PayloadCardProps, SendOptions, StoreOptions, StreamOptions, SuggestionsProps, ToolCallCardProps, TrayComponents,
} from '@chattray/react'
import { DocumentPane, useDocument, type DocumentAskProps, type DocumentPaneProps, type DocumentVersionsProps, type SocketOptions } from '@chattray/react/documents'
import { registerBundledPayloads } from '@chattray/react/research'
import { de } from '@chattray/react/labels/de'
import '@chattray/react/styles.css'
import '@chattray/react/themes/plain.css'
import { mount, type MountOptions } from '@chattray/react/standalone'
const commands: Command[] = [{ name: 'report', title: 'Write a report', run: () => registerBundledPayloads() }]
const own: Partial<Labels> = { ...de, title: 'Hilfe', versionOf: (number, count) => \`\${number.toFixed()}/\${count}\` }
function Pinned() {
  const { items, pin } = useThreads()
  const document = useDocument('d')
  return <><button onClick={() => void pin(items[0]!.conversation_id, true)}>pin</button><DocumentPane state={document} /></>
}
// @ts-expect-error a command has a title
export const wrong: Command = { name: 'x', run: () => undefined }
/** Every prop that may be absent may also be undefined, so that a page can pass on one of its own. */
type Absent<T> = { [K in keyof T as {} extends Pick<T, K> ? K : never]-?: undefined }
type Pages = {
  AnswerActionsProps: AnswerActionsProps; ApprovalAnswerOptions: ApprovalAnswerOptions; ApprovalProps: ApprovalProps; ChatApiOptions: ChatApiOptions; ChatProviderProps: ChatProviderProps; ChatTrayProps: ChatTrayProps
  ClientTool: ClientTool; ComposerProps: ComposerProps; EmptyProps: EmptyProps; HeaderProps: HeaderProps; HistoryPanelProps: HistoryPanelProps; LauncherProps: LauncherProps; MarkdownProps: MarkdownProps
  MessageListProps: MessageListProps; MessageProps: MessageProps; PayloadCardProps: PayloadCardProps; SendOptions: SendOptions; StoreOptions: StoreOptions; StreamOptions: StreamOptions
  SuggestionsProps: SuggestionsProps; ToolCallCardProps: ToolCallCardProps; TrayComponents: TrayComponents; MountOptions: MountOptions
  DocumentAskProps: DocumentAskProps; DocumentPaneProps: DocumentPaneProps; DocumentVersionsProps: DocumentVersionsProps; SocketOptions: SocketOptions
}
export const none: { [K in keyof Pages as Absent<Pages[K]> extends Partial<Pages[K]> ? never : K]: true } = {}
export const shown = () => mount({ tray: { commands } })
export const App = () => <ChatProvider labels={own}><Pinned /><ChatTray commands={commands} /></ChatProvider>
`)
  writeFileSync(join(work, 'package.json'), '{"type":"module"}')
  writeFileSync(join(work, 'tsconfig.json'), JSON.stringify({
    compilerOptions: { module: 'nodenext', target: 'es2022', lib: ['es2023', 'dom', 'dom.iterable'], jsx: 'react-jsx', strict: true, exactOptionalPropertyTypes: true, noEmit: true, types: [], noUncheckedSideEffectImports: true, skipLibCheck: false }, files: ['app.tsx'],
  }))
  run(join(web, 'node_modules/.bin/tsc'), ['-p', '.'], work)
})

/** Imports and declarations that the README's pieces of code leave out. */
const around = `
import { ChatProvider, ChatTray, Markdown, MarkdownPartsProvider, payloadHandler, registerPayloadHandler, useChatContext, useClientTool } from '@chattray/react'
import { useEffect, type ReactNode } from 'react'
import { z } from 'zod'
declare const auth: { freshToken(): string }, pmid: string, selected: number[], text: string, meine: Record<string, string>
interface Note { order_id: number; note: string }
declare function saveNote(note: Note): void
declare const App: () => ReactNode, Welcome: () => ReactNode, Preview: (p: { url: string; children: ReactNode }) => ReactNode, MyCode: (p: { children: ReactNode }) => ReactNode
`

test('its types have no any: data that nobody has described is unknown', () => {
  const found = readdirSync(join(pack, 'lib'), { recursive: true }).filter((file) => file.endsWith('.d.ts')).flatMap((file) => {
    const code = readFileSync(join(pack, 'lib', file), 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*$|'[^'\n]*'|"[^"\n]*"/gm, '')
    return /\bany\b/.test(code) ? [file] : []
  })
  assert.deepEqual(found, [])
})

test('the code of its README holds under the compiler, as strict as it can be', () => {
  const app = join(work, 'readme')
  mkdirSync(app)
  const readme = readFileSync(join(pack, 'README.md'), 'utf8')
  const pieces = [...readme.matchAll(/^```tsx\n([\s\S]*?)^```$/gm)].map(([, code]) => code)
  assert.ok(pieces.length >= 12, `${pieces.length} pieces`)
  const names = pieces.map((code, i) => {
    const imports = code.match(/^import .*$/gm) ?? []
    const taken = imports.join(' ').match(/\w+/g) ?? []
    const needs = around.replace(/^import \{(.*)\} from/gm, (_, list) => `import {${list.split(',').filter((name) => !taken.includes(name.trim())).join(',')}} from`) + (imports.some((line) => line.includes('labels/de')) ? '' : "import { de } from '@chattray/react/labels/de'\n")
    const rest = code.replace(/^import .*$/gm, '').trim()
    const body = /^(export|interface|const orders|registerPayloadHandler)/.test(rest) ? rest : rest.startsWith('<') ? `export const shown = <>${rest}</>` : `export function Piece() {\n${rest}\n}`
    const name = `piece${i}.tsx`
    writeFileSync(join(app, name), `${imports.join('\n')}\n${needs}\n${body}\nexport {}\n`)
    return name
  })
  writeFileSync(join(app, 'katex.ts'), "import type { RenderMath } from '@chattray/react'\nexport declare const draw: RenderMath\n")
  writeFileSync(join(app, 'tsconfig.json'), JSON.stringify({ compilerOptions: { module: 'esnext', moduleResolution: 'bundler', target: 'es2023', lib: ['es2023', 'dom', 'dom.iterable'], jsx: 'react-jsx', strict: true, noEmit: true, types: [], skipLibCheck: true }, files: names }))
  run(join(web, 'node_modules/.bin/tsc'), ['-p', '.'], app)
})

test('the service takes the token that its README makes', async () => {
  const [, code] = readFileSync(join(pack, 'README.md'), 'utf8').match(/^```js\n(import \{ createHmac \}[\s\S]*?)^```$/m)
  writeFileSync(join(work, 'token.mjs'), `${code}\nprocess.stdout.write(tokenFor({ id: 7, name: 'Ann' }))\n`)
  const secret = 'a secret of more than 32 bytes, for this test'
  const server = await service({ CHATTRAY_JWT_SECRET: secret })
  try {
    const token = run('env', [`CHATTRAY_JWT_SECRET=${secret}`, process.execPath, 'token.mjs'], work)
    const { user_id, name } = await call(server.url, 'GET', '/api/me', undefined, token)
    assert.deepEqual({ user_id, name }, { user_id: '|7', name: 'Ann' })
  } finally {
    await server.kill()
  }
})

test('the example for Vite is built from it', async () => {
  const app = join(work, 'app')
  run('cp', ['-r', join(web, 'examples/vite'), app], work)
  await build({ root: app, logLevel: 'error', configFile: join(app, 'vite.config.js') })
  assert.ok(existsSync(join(app, 'dist/index.html')))
})

test('the example for Next.js compiles, and its page is rendered on a server', async () => {
  const app = join(work, 'next')
  run('cp', ['-r', join(web, 'examples/next'), app], work)
  writeFileSync(join(app, 'tsconfig.test.json'), JSON.stringify({ extends: './tsconfig.json', compilerOptions: { incremental: false, types: [] }, include: ['app/**/*'] }))
  run(join(web, 'node_modules/.bin/tsc'), ['-p', 'tsconfig.test.json'], app)
  writeFileSync(join(app, 'render.jsx'), `
import { renderToString } from 'react-dom/server'
import Page from './app/page'
process.stdout.write(renderToString(<Page />))
`)
  await build({ root: app, configFile: false, logLevel: 'error', build: { ssr: 'render.jsx', outDir: 'server', rolldownOptions: { output: { entryFileNames: 'page.mjs' } } }, ssr: { noExternal: true } })
  const html = run(process.execPath, ['server/page.mjs'], app)
  assert.match(html, /<h1>Report 1<\/h1>.*<div class="ct-root " data-layout="tray"/s)
  const config = run(process.execPath, ['-e', "import('./next.config.mjs').then(async ({ default: c }) => console.log(JSON.stringify(await c.rewrites())))"], app)
  const documented = readFileSync(join(pack, 'README.md'), 'utf8').match(/rewrites: async \(\) => \((\{ fallback: .*\})\),/)[1]
  writeFileSync(join(app, 'documented.mjs'), `process.stdout.write(JSON.stringify(${documented}))`)
  assert.equal(config.trim(), run(process.execPath, ['documented.mjs'], app))
})

/** What React's server makes of a module for the browser: its exports may be named and rendered there, and not called. */
const forBrowser = {
  name: 'for-browser', enforce: 'pre',
  transform(code) {
    if (!/^['"]use client['"]/.test(code)) return undefined
    const names = code.match(/^export \{(.*)\};$/m)[1].split(',').map((name) => name.trim().split(' as '))
    return `${names.map(([name], i) => `const own${i} = () => { throw new Error('${name} is called on the server') }`).join('\n')}\nexport { ${names.map(([name, as = name], i) => `own${i} as ${as}`).join(', ')} }`
  },
}

test('a server component may import each of its entries', async () => {
  const app = join(work, 'server')
  mkdirSync(app)
  writeFileSync(join(app, 'entries.js'), `
import * as tray from '@chattray/react'
import * as documents from '@chattray/react/documents'
import * as research from '@chattray/react/research'
process.stdout.write([tray.HistoryPanel, documents.DocumentPane, research.registerBundledPayloads].map((part) => typeof part).join())
`)
  await build({ root: app, configFile: false, logLevel: 'error', plugins: [forBrowser], build: { ssr: 'entries.js', outDir: 'built', rolldownOptions: { treeshake: false, output: { entryFileNames: 'entries.mjs' } } }, ssr: { noExternal: true } })
  assert.equal(run(process.execPath, ['built/entries.mjs'], app), 'function,function,function')
})

test('the example without a build runs under its strict policy: a script, a style sheet and the service', async () => {
  const app = join(work, 'script-tag')
  run('cp', ['-r', join(web, 'examples/script-tag'), app], work)
  mkdirSync(join(app, 'node_modules/@chattray'), { recursive: true })
  symlinkSync(pack, join(app, 'node_modules/@chattray/react'))
  const [server, chromium] = await Promise.all([service(), browser()])
  const page = spawn(process.execPath, ['serve.js'], { cwd: app, stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, PORT: '0', SERVICE_URL: server.url } })
  try {
    const { value: url } = await createInterface({ input: page.stdout })[Symbol.asyncIterator]().next()
    const policy = (await fetch(url)).headers.get('content-security-policy')
    assert.match(policy, /default-src 'none'/)
    assert.doesNotMatch(policy, /unsafe/)
    const shown = await chromium.open(url)
    await shown.button('Summarize report 1').click()
    await shown.settled()
    await shown.answers.last().waitFor()
    await shown.ask('list reports')
    await shown.settled()
    await shown.shot('script-tag')
    assert.deepEqual(shown.bad, [])
  } finally {
    page.kill()
    await chromium.close()
    await server.kill()
  }
})
