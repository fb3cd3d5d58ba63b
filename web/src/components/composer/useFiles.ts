import { useState } from 'react'
import type { Attachment } from '../../api/types'
import { ATTACHMENT_LIMITS, isText, sizeOf } from '../../state/values/files'
import { useLabels } from '../../state/tray'

/** Where the files of a message are; `get` has what `put` was given last. */
export interface FileHolder {
  files: Attachment[]
  get: () => Attachment[]
  put: (files: Attachment[]) => void
}

/** The files of a message that is being written, beside those that it `keeps`. */
export function useFiles({ files, get, put }: FileHolder, keeps = 0) {
  const labels = useLabels()
  const [problem, setProblem] = useState('')
  /** Adds a file unless it is too much. */
  const take = (file: Attachment): boolean => {
    const all = [...get(), file]
    if (all.length + keeps > ATTACHMENT_LIMITS.files) return setProblem(labels.attachTooMany), false
    const characters = all.reduce((sum, f) => sum + f.content.length, 0)
    const texts = all.reduce((sum, f) => sum + (isText(f) ? sizeOf(f) : 0), 0)
    if (characters > ATTACHMENT_LIMITS.characters || texts > ATTACHMENT_LIMITS.texts) return setProblem(`${file.name} ${labels.attachTooLarge}`), false
    put(all)
    return true
  }
  const add = async (list: Iterable<File> & { length: number }) => {
    setProblem('')
    const chosen = [...list].slice(0, Math.max(0, ATTACHMENT_LIMITS.files - keeps - files.length))
    if (chosen.length < list.length) setProblem(labels.attachTooMany)
    const why = (reason: unknown) => reason === 'large' ? ` ${labels.attachTooLarge}` : reason === 'kind' ? ` ${labels.attachUnsupported}` : `: ${labels.attachLost}`
    // One after the other, so that they keep their order.
    for (const file of chosen) await import('./readFile').then((module) => module.default(file)).then(take, (reason: unknown) => setProblem((before) => [before, file.name + why(reason)].filter(Boolean).join(' ')))
  }
  /** Adds a text that is too long for the input; false if it is too long for a file too. */
  const addText = (content: string): boolean => {
    setProblem('')
    const names = new Set(get().map((f) => f.name))
    let name = `${labels.attachText}.txt`
    for (let n = 2; names.has(name); n++) name = `${labels.attachText} ${n}.txt`
    const file = { name, mime: 'text/plain', content }
    return sizeOf(file) > ATTACHMENT_LIMITS.text ? (setProblem(`${name} ${labels.attachTooLarge}`), false) : take(file)
  }
  const remove = (at: number) => put(get().filter((_, i) => i !== at))
  /** Adds files that were sent. Those without content could not be kept. */
  const bring = (back: Attachment[]) => {
    const [whole, lost] = [back.filter((file) => file.content), back.filter((file) => !file.content)]
    put([...whole, ...get()].slice(0, ATTACHMENT_LIMITS.files))
    if (lost[0]) setProblem(`${lost.map((file) => file.name).join(', ')}: ${labels.attachLost}`)
  }
  const clear = () => {
    put([])
    setProblem('')
  }
  return { files, problem, add, addText, remove, bring, clear, refuse: setProblem }
}
