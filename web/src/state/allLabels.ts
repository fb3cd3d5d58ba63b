import { useContext } from 'react'
import { defaultLabels, type Labels } from '../labels/tray'
import { laterLabels } from '../labels/later'
import { perObject } from './perObject'
import { Words, wordsOf } from './words'

const labelsOf = perObject((own: Partial<Labels>) => wordsOf<Labels>({ ...defaultLabels, ...laterLabels }, own))

/** All words, for parts that are loaded later. */
export function useAllLabels(): Labels {
  return labelsOf(useContext(Words))
}
