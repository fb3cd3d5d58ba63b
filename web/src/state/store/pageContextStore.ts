import type { PageContext } from '../../api/types'

/** The page's context: the page's own, and what its components add. The later value of a key wins. */
export class PageContextStore {
  private own: PageContext = {}
  private added: PageContext = {}

  /** Adds keys; an undefined value removes an added key. */
  add(change: PageContext): void {
    this.added = defined({ ...this.added, ...change })
  }

  /** Replaces the page's own context. Added keys stay, except those whose own value has changed. */
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
