import { useEffect, useRef } from 'react'
import { useLatest } from './useLatest'

/** Does something each time that an answer ends which was under way here. */
export function useEnd(busy: boolean, act: () => void): void {
  const latest = useLatest(act)
  const was = useRef(false)
  useEffect(() => {
    if (was.current && !busy) latest.current()
    was.current = busy
  }, [busy, latest])
}
