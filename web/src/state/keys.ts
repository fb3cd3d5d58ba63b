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

/**
 * Whether Escape was pressed and nothing has taken it, such as a list of the page. Then it does nothing else: it closes no dialog of the page, and no full screen.
 * In a dialog or a popover of the page within the part, and in a window that React knows to be within it, it is not for the part.
 */
export function takeEscape(e: KeyPress & Pick<Event, 'currentTarget' | 'defaultPrevented' | 'preventDefault' | 'stopPropagation' | 'target'>): boolean {
  if (e.defaultPrevented || keyOf(e) !== 'Escape') return false
  const { currentTarget: part, target } = e
  if (part instanceof Element && target instanceof Element) {
    const over = target.closest('dialog, [popover]')
    if (!part.contains(target) || (over !== part && part.contains(over))) return false
  }
  e.preventDefault()
  e.stopPropagation()
  return true
}
