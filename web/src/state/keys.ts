/** A key of the page or of React. */
export interface KeyPress {
  key: string
  keyCode: number
  isComposing?: boolean
  nativeEvent?: KeyboardEvent
}

/** The name of a pressed key; empty while it belongs to a word that is being composed, which Safari shows only by the key's code. */
export function keyOf(e: KeyPress): string {
  return (e.nativeEvent ?? e).isComposing || e.keyCode === COMPOSING ? '' : e.key
}

const COMPOSING = 229

/** Whether Escape was pressed and nothing has taken it, such as a list of the page. Then it does nothing else: it closes no dialog of the page, and no full screen. */
export function takeEscape(e: KeyPress & Pick<Event, 'defaultPrevented' | 'preventDefault' | 'stopPropagation'>): boolean {
  if (e.defaultPrevented || keyOf(e) !== 'Escape') return false
  e.preventDefault()
  e.stopPropagation()
  return true
}
