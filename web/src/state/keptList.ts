type Place = 'localStorage' | 'sessionStorage'

/** A list that the browser keeps; an empty one where it keeps none, and without a key. */
export function keptList(place: Place, key: string): unknown[] {
  try {
    const kept: unknown = JSON.parse((key && globalThis[place].getItem(key)) || '[]')
    return Array.isArray(kept) ? kept : []
  } catch {
    return []
  }
}

/** Keeps a list, or no longer one that is empty. Without storage, without a key and where it does not fit, it lives as long as the page. */
export function keepList(place: Place, key: string, list: readonly unknown[]): void {
  try {
    if (!key) return
    if (list.length === 0) globalThis[place].removeItem(key)
    else globalThis[place].setItem(key, JSON.stringify(list))
  } catch {
    // it is lost with the page
  }
}
