import { useEffect, useState, type ComponentType } from 'react'
import { useHere } from '../state/useHere'

/** A part that is loaded when it is first shown, or when `load` is called. */
export type Later<P> = ComponentType<P> & { load: () => Promise<void> }

/**
 * A part that is loaded later; until then `Instead` is shown, or nothing. If it
 * cannot be loaded, because the connection is lost or the page was rebuilt, it
 * is tried again while it is shown, and the rest of the page keeps working.
 */
export function later<P extends object>(fetch: () => Promise<{ default: ComponentType<P> }>, Instead?: ComponentType): Later<P> {
  let known: ComponentType<P> | undefined
  const load = () => fetch().then((module) => {
    known = module.default
  })
  function Part(props: P) {
    const [Shown, setShown] = useState(() => known)
    const here = useHere()
    useEffect(() => {
      let timer: ReturnType<typeof setTimeout>
      let wanted = true
      const show = () => {
        clearTimeout(timer)
        if (known) return setShown(() => known)
        load().then(show, () => {
          if (wanted) timer = setTimeout(show, RETRY)
        })
      }
      show()
      addEventListener('online', show)
      return () => {
        wanted = false
        clearTimeout(timer)
        removeEventListener('online', show)
      }
    }, [])
    return here && Shown ? <Shown {...props} /> : Instead ? <Instead /> : null
  }
  return Object.assign(Part, { load })
}

/** Milliseconds after which a part that could not be loaded is tried again. */
const RETRY = 3000
