import { common, createLowlight } from 'lowlight'
import type { Highlight } from './plugins'

const lowlight = createLowlight(common)
lowlight.registerAlias({ bash: ['console', 'shell', 'terminal'], javascript: ['jsonc', 'json5'], xml: ['vue', 'svelte'] })

/** Colours code of the languages that are common; others stay as they are. */
export const highlight: Highlight = (code, language) => (lowlight.registered(language) ? lowlight.highlight(language, code) : null)
