import { useEffect, useRef, type RefObject } from 'react'

/** Characters that a field takes. A browser lays out all of a field's text again at each key, so a longer text becomes a file. */
export const MAX_TYPED = 20_000

/** Characters of a block that can be edited by hand. */
export const MAX_EDITED = 200_000

/** Parts a text that is too long for a field: `part` becomes a file, `rest` stays. A text that was added at once is the part; otherwise it is all but what was typed last. */
export function splitLong(before: string, next: string): { part: string; rest: string } {
  const most = Math.min(before.length, next.length)
  let start = 0
  while (start < most && before.charCodeAt(start) === next.charCodeAt(start)) start++
  let end = 0
  while (end < most - start && before.charCodeAt(before.length - 1 - end) === next.charCodeAt(next.length - 1 - end)) end++
  // A pair of code units is one character.
  if (isLow(next, start)) start--
  if (isLow(next, next.length - end)) end--
  const added = next.slice(start, next.length - end)
  const rest = next.slice(0, start) + next.slice(next.length - end)
  if (rest.trim() === '') return { part: next, rest: '' }
  return added.length * 2 > MAX_TYPED ? { part: added, rest } : { part: rest, rest: added }
}

function isLow(text: string, at: number): boolean {
  const unit = text.charCodeAt(at)
  return unit >= 0xdc00 && unit <= 0xdfff
}

/** A field's text, which is never longer than a field takes: what is too long is given to `attach`, and nothing changes where that returns false. */
export function useShort(text: string, keep: (text: string) => void, attach: (text: string) => boolean): [text: string, set: (text: string) => void] {
  const long = text.length > MAX_TYPED
  const set = (next: string) => {
    if (next.length <= MAX_TYPED) return keep(next)
    const { part, rest } = splitLong(long ? '' : text, next)
    if (attach(part)) keep(rest)
  }
  const given = useRef(false)
  // A draft, or a question that is changed, may be too long from the beginning. In strict mode an effect runs twice.
  useEffect(() => {
    if (long && !given.current && attach(text)) keep('')
    given.current = long
  }, [text])
  return [long ? '' : text, set]
}

/** Gives text that would be too long to `set` before it is in the field, where it would be laid out. */
export function useKeptShort(field: RefObject<HTMLTextAreaElement | null>, set: (text: string) => void, most = MAX_TYPED): void {
  useEffect(() => {
    const input = field.current
    const look = (e: InputEvent) => {
      const added = e.data ?? e.dataTransfer?.getData('text/plain') ?? ''
      const { value, selectionStart, selectionEnd } = input!
      if (value.length - (selectionEnd - selectionStart) + added.length <= most || !e.cancelable) return
      e.preventDefault()
      set(value.slice(0, selectionStart) + added.replace(/\r\n?/g, '\n') + value.slice(selectionEnd))
    }
    input?.addEventListener('beforeinput', look)
    return () => input?.removeEventListener('beforeinput', look)
  })
}
