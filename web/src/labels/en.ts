import { asideLabels } from './aside'
import { defaultLabels, type Labels } from './tray'

/** Every word in English. */
export const en: Labels = { ...defaultLabels, ...asideLabels }
