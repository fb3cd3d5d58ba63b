import type { Labels, OpenPayloads, TrayLayout, TrayTheme } from '../../../src'
import compact from '../../../src/styles/themes/compact.css?raw'
import plain from '../../../src/styles/themes/plain.css?raw'
import shadcn from '../../../src/styles/themes/shadcn.css?raw'
import * as parts from './parts'
import source from './parts.tsx?raw'

export const LANGUAGES = ['en', 'de', 'fr', 'es', 'zh', 'ar'] as const
export type Language = (typeof LANGUAGES)[number]
export type PartName = keyof typeof parts
export const PARTS = ['Composer', 'Empty', 'Code', 'ToolCall', 'Actions'] as const satisfies readonly PartName[]

/** The themes of the package, which are files. */
export const THEMES = { default: '', plain, compact, shadcn }
export type ThemeFile = keyof typeof THEMES

/** Tokens with a slider here, and their defaults. */
export const TOKENS = {
  '--ct-accent': { label: 'Accent', kind: 'color', usual: '#2458d6' },
  '--ct-user': { label: 'Question', kind: 'color', usual: '#e4ecff' },
  '--ct-radius': { label: 'Corners', kind: 'range', usual: '0.75', max: 1.5 },
  '--ct-font-size': { label: 'Text', kind: 'range', usual: '0.9375', min: 0.75, max: 1.25 },
  '--ct-space': { label: 'Space', kind: 'range', usual: '0.25', min: 0.15, max: 0.4 },
} as const
export type Token = keyof typeof TOKENS

/** What has been chosen in the playground. */
export interface Look {
  layout: TrayLayout
  theme: TrayTheme
  openPayloads: OpenPayloads
  dir: 'ltr' | 'rtl'
  language: Language
  title: string
  placeholder: string
  file: ThemeFile
  tokens: Partial<Record<Token, string>>
  own: readonly PartName[]
}

export const usual: Look = { layout: 'sidebar', theme: 'auto', openPayloads: 'decisions', dir: 'ltr', language: 'en', title: '', placeholder: '', file: 'default', tokens: {}, own: [] }

/** Words that differ from those of the language. */
export function wordsOf({ title, placeholder }: Look): Partial<Labels> {
  return { ...(title && { title }), ...(placeholder && { placeholder }) }
}

/** The chosen parts as `components` takes them. */
export function componentsOf(own: readonly PartName[]): { [K in PartName]?: (typeof parts)[K] } {
  return Object.fromEntries(own.map((name) => [name, parts[name]]))
}

function value(token: Token, chosen: string): string {
  return TOKENS[token].kind === 'color' ? chosen : `${chosen}rem`
}

function ruleOf({ tokens }: Look, selector: string): string {
  const lines = (Object.keys(tokens) as Token[]).map((token) => `  ${token}: ${value(token, tokens[token]!)};`)
  return lines.length > 0 ? `${selector} {\n${lines.join('\n')}\n}` : ''
}

/** The variables that a page has from shadcn/ui, for the theme that uses them. */
const shadcnPage = `{
  --background: light-dark(#fff, #0a0a0a); --foreground: light-dark(#0a0a0a, #fafafa); --card: light-dark(#fff, #171717); --primary: light-dark(#7c3aed, #a78bfa); --primary-foreground: light-dark(#fff, #0a0a0a);
  --secondary: light-dark(#f5f3ff, #2e2350); --secondary-foreground: var(--foreground); --muted: light-dark(#f5f5f5, #262626); --muted-foreground: light-dark(#5f5f5f, #a1a1a1); --border: light-dark(#e5e5e5, #2e2e2e);
  --input: light-dark(#d4d4d4, #404040); --destructive: light-dark(#b91c1c, #f87171); --radius: 0.625rem;
}`

/** The styles of a look, limited to the trays below a selector. */
export function stylesOf(look: Look, below: string): string {
  const theme = THEMES[look.file].replaceAll('.ct-root', `${below} .ct-root`)
  return [look.file === 'shadcn' ? `${below} .ct-root ${shadcnPage}` : '', theme, ruleOf(look, `${below} .ct-root`)].filter(Boolean).join('\n')
}

/** The code that gives a tray this look. */
export function codeOf(look: Look): { tsx: string; css: string } {
  const words = Object.entries(wordsOf(look)).map(([key, word]) => `${key}: ${quoted(word as string)}`)
  const labels = look.language === 'en' ? (words.length > 0 ? `{ ${words.join(', ')} }` : '') : words.length > 0 ? `{ ...${look.language}, ${words.join(', ')} }` : look.language
  const props = [
    look.layout !== 'tray' && `layout="${look.layout}"`, look.theme !== 'auto' && `theme="${look.theme}"`, look.openPayloads !== 'decisions' && `openPayloads="${look.openPayloads}"`,
    look.dir === 'rtl' && 'dir="rtl"', look.own.length > 0 && `components={{ ${look.own.join(', ')} }}`,
  ].filter(Boolean)
  const own = look.own.map((name) => sourceOf(name))
  const types = [...new Set(own.join('\n').match(/\b(?:CodeProps|SlotProps)\b/g))]
  const tsx = [
    own.some((text) => text.includes('ReactNode')) && "import type { ReactNode } from 'react'",
    `import { ChatProvider, ChatTray${types.map((name) => `, type ${name}`).join('')} } from '@chattray/react'`,
    look.language !== 'en' && `import { ${look.language} } from '@chattray/react/labels/${look.language}'`,
    "import '@chattray/react/styles.css'",
    look.file !== 'default' && `import '@chattray/react/themes/${look.file}.css'`,
    ...own.map((text) => `\n${text}`),
    `\nexport function Page() {\n  return (\n    <ChatProvider${labels && ` labels={${labels}}`}>\n      <ChatTray${props.map((prop) => ` ${prop}`).join('')} />\n    </ChatProvider>\n  )\n}`,
  ]
  return { tsx: tsx.filter(Boolean).join('\n'), css: ruleOf(look, '.ct-root') }
}

function sourceOf(name: PartName): string {
  return new RegExp(`^export (const ${name} = [\\s\\S]*?)(?:\\n\\n|\\n*$(?![\\s\\S]))`, 'm').exec(source)?.[1] ?? ''
}

const quoted = (text: string) => `'${text.replace(/[\\']/g, '\\$&')}'`
