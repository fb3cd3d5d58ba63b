import { useContext } from 'react'
import { defaultLabels, type Labels } from '../labels/tray'
import { laterLabels } from '../labels/later'
import { Words, wordsOf } from './words'

const whole = new WeakMap<Partial<Labels>, Labels>()

/** All words, for parts that are loaded later. */
export function useAllLabels(): Labels {
  const own = useContext(Words)
  let all = whole.get(own)
  if (!all) whole.set(own, (all = wordsOf<Labels>({ ...defaultLabels, ...laterLabels }, own)))
  return all
}
