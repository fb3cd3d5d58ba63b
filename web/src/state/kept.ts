type Place = 'localStorage' | 'sessionStorage'

/** A text that the browser keeps; null where it keeps none, and without a key. */
export function keptText(place: Place, key: string): string | null {
  try {
    return key ? globalThis[place].getItem(key) : null
  } catch {
    return null
  }
}

/** Keeps a text, or with null none. Without storage, without a key and where it does not fit, it lives as long as the page. */
export function keepText(place: Place, key: string, text: string | null): void {
  try {
    if (!key) return
    if (text === null) globalThis[place].removeItem(key)
    else globalThis[place].setItem(key, text)
  } catch {
    // it is lost with the page
  }
}

/** The same for a text whose former one must not be found where this one does not fit. */
export function replaceText(place: Place, key: string, text: string | null): void {
  keepText(place, key, null)
  keepText(place, key, text)
}

/** A list that the browser keeps; an empty one where it keeps none. */
export function keptList(place: Place, key: string): unknown[] {
  try {
    const kept: unknown = JSON.parse(keptText(place, key) ?? '[]')
    return Array.isArray(kept) ? kept : []
  } catch {
    return []
  }
}

export function keepList(place: Place, key: string, list: readonly unknown[]): void {
  keepText(place, key, list.length > 0 ? JSON.stringify(list) : null)
}
