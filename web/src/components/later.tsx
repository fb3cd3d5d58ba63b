import { useEffect, useState, type ComponentType } from 'react'

/**
 * A part that is loaded when it is first shown; until then nothing is shown. If
 * it cannot be loaded, because the connection is lost or the page was rebuilt,
 * it is tried again the next time, and the rest of the page keeps working.
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
