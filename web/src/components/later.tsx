import { useEffect, useState, type ComponentType } from 'react'

/**
 * A part that is loaded when it is first shown; until then there is nothing in its place. One that cannot be loaded, because the
 * line is away or the page was built again, is tried again the next time: it never takes the rest with it.
 */
export function later<P extends object>(load: () => Promise<{ default: ComponentType<P> }>): ComponentType<P> {
  let known: ComponentType<P> | undefined
  return function Later(props: P) {
    const [Part, setPart] = useState(() => known)
    useEffect(() => {
      if (known) return setPart(() => known)
      let here = true
      load().then((module) => {
        known = module.default
        if (here) setPart(() => known)
      }, () => undefined)
      return () => {
        here = false
      }
    }, [])
    return Part ? <Part {...props} /> : null
  }
}
