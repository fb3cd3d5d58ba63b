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

/** The attribute of an element with the focus that a dialog of Mantine leaves alone. */
const MANTINE = 'data-mantine-stop-propagation'

/** The props of what has Escape for itself: a part of the tray while it is open, except what the page shows in it. */
export const OWN_ESCAPE = { 'data-ct-escape': '', [MANTINE]: 'true' }

/** The element of an event, if it is in such a part. */
function ownOf(e: Event): Element | undefined {
  const [target] = e.composedPath()
  return target instanceof Element && target.closest('[data-ct-escape], .ct-own, dialog, [popover]')?.matches('[data-ct-escape]') ? target : undefined
}

/** Prevents Escape for such parts before it is on its way down: dialogs such as those of Radix take it there. It does so until the returned function is called. */
export function keepEscape(): () => void {
  const keep = (e: KeyboardEvent) => {
    if (e.defaultPrevented || keyOf(e) !== 'Escape' || !ownOf(e)) return
    e.preventDefault()
    // What takes it before the part does has it. The mark is on the event: a page may have the package twice.
    e.preventDefault = () => Reflect.deleteProperty(e, 'preventDefault')
  }
  const mark = (e: Event) => ownOf(e)?.setAttribute(MANTINE, 'true')
  addEventListener('keydown', keep, true)
  addEventListener('focusin', mark)
  return () => {
    removeEventListener('keydown', keep, true)
    removeEventListener('focusin', mark)
  }
}

/**
 * Whether Escape was pressed and nothing has taken it, such as a list of the page. Then it does nothing else: it closes no dialog of the page, and no full screen.
 * In a dialog or a popover of the page within the part, and in a window that React knows to be within it, it is not for the part.
 */
export function takeEscape(e: KeyPress & Pick<Event, 'currentTarget' | 'defaultPrevented' | 'preventDefault' | 'stopPropagation' | 'target'>): boolean {
  if ((e.defaultPrevented && !Object.hasOwn(e.nativeEvent ?? e, 'preventDefault')) || keyOf(e) !== 'Escape') return false
  const { currentTarget: part, target } = e
  if (part instanceof Element && target instanceof Element) {
    const over = target.closest('dialog, [popover]')
    if (!part.contains(target) || (over !== part && part.contains(over))) return false
  }
  e.preventDefault()
  e.stopPropagation()
  return true
}
