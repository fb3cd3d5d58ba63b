import { useEffect, type RefObject } from 'react'
import { useLatest } from '../state/useLatest'

/** Does something when an element comes into sight, once for each key; nothing without a key. */
export function useReached(element: RefObject<Element | null>, key: unknown, act: () => void, root?: RefObject<Element | null>): void {
  const latest = useLatest(act)
  useEffect(() => {
    if (!key || !element.current || typeof IntersectionObserver === 'undefined') return
    const seen = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return
      seen.disconnect()
      latest.current()
    }, { root: root?.current })
    seen.observe(element.current)
    return () => seen.disconnect()
  }, [element, root, key, latest])
}
