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
