import { laterLabels } from './later'
import { defaultLabels, type Labels } from './tray'

/** Every word in English. */
export const en: Labels = { ...defaultLabels, ...laterLabels }
