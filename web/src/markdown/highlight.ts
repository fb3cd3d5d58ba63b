import { common, createLowlight } from 'lowlight'
import type { Highlight } from './plugins'

const lowlight = createLowlight(common)
lowlight.registerAlias({ bash: ['console', 'shell', 'terminal'], javascript: ['jsonc', 'json5'], xml: ['vue', 'svelte'] })

/** Colours code of common languages; code of others is not coloured. */
export const highlight: Highlight = (code, language) => (lowlight.registered(language) ? lowlight.highlight(language, code) : null)
