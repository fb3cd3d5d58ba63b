import type { Attachment } from '../../api/types'
import { ATTACHMENT_LIMITS, isText, sizeOf } from '../../state/values/files'
import { useLabels } from '../../state/tray'
import { useStateOf } from '../../state/useStateOf'

/** Where the files of a message are; `get` has what `put` was given last. Another message has another `home`. */
export interface FileHolder {
  home?: unknown
  files: Attachment[]
  get: () => Attachment[]
  put: (files: Attachment[]) => void
}

/** The files of a message that is being written, beside those that it `keeps`. */
export function useFiles({ home, files, get, put }: FileHolder, keeps = 0) {
  const labels = useLabels()
  const [problem, setProblem] = useStateOf(home, '')
  /** Adds a file, or returns why it is too much. */
  const take = (file: Attachment): string => {
    const all = [...get(), file]
    if (all.length + keeps > ATTACHMENT_LIMITS.files) return labels.attachTooMany
    const characters = all.reduce((sum, f) => sum + f.content.length, 0)
    const texts = all.reduce((sum, f) => sum + (isText(f) ? sizeOf(f) : 0), 0)
    if (characters > ATTACHMENT_LIMITS.characters || texts > ATTACHMENT_LIMITS.texts) return `${file.name} ${labels.attachTooLarge}`
    put(all)
    return ''
  }
  const add = async (list: Iterable<File> & { length: number }) => {
    const chosen = [...list].slice(0, Math.max(0, ATTACHMENT_LIMITS.files - keeps - files.length))
    const problems = new Set(chosen.length < list.length ? [labels.attachTooMany] : [])
    setProblem([...problems].join(' '))
    const why = (reason: unknown) => reason === 'large' ? ` ${labels.attachTooLarge}` : reason === 'kind' ? ` ${labels.attachUnsupported}` : `: ${labels.attachLost}`
    // One after the other, so that they keep their order.
    for (const file of chosen) {
      const refused = await import('./readFile').then((module) => module.default(file)).then(take, (reason: unknown) => file.name + why(reason))
      if (refused) setProblem([...problems.add(refused)].join(' '))
    }
  }
  /** Adds a text that is too long for the input; false if it is too long for a file too. */
  const addText = (content: string): boolean => {
    const names = new Set(get().map((f) => f.name))
    let name = `${labels.attachText}.txt`
    for (let n = 2; names.has(name); n++) name = `${labels.attachText} ${n}.txt`
    const file = { name, mime: 'text/plain', content }
    const refused = sizeOf(file) > ATTACHMENT_LIMITS.text ? `${name} ${labels.attachTooLarge}` : take(file)
    setProblem(refused)
    return refused === ''
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
