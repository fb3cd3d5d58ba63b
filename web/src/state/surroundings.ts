import type { PageContext } from '../api/types'

/** What the page shows: what it says itself, and what its parts add. The later word about a key counts. */
export class Surroundings {
  private own: PageContext = {}
  private added: PageContext = {}

  /** Adds; a key that is undefined takes its addition back. */
  add(change: PageContext): void {
    this.added = defined({ ...this.added, ...change })
  }

  /** Replaces what the page says itself. Additions stay, but for the keys that have another value now. */
  set(context: PageContext): void {
    const changed = Object.keys(context).filter((key) => JSON.stringify(context[key]) !== JSON.stringify(this.own[key]))
    this.added = defined({ ...this.added, ...Object.fromEntries(changed.map((key) => [key, undefined])) })
    this.own = context
  }

  get(): PageContext {
    return { ...this.own, ...this.added }
  }
}

function defined(context: PageContext): PageContext {
  return Object.fromEntries(Object.entries(context).filter(([, value]) => value !== undefined))
}
