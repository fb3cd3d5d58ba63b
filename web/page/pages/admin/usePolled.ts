import { useCallback, useEffect, useRef, useState } from 'react'

const FIRST = 2_000, LAST = 60_000

/** Data that is loaded again and again while the page is seen: soon after it has changed, ever later while it stays the same or cannot be loaded. */
export function usePolled<T>(key: string, load: () => Promise<T>, live = true): { data: T | null; problem: string; reload: () => void } {
  const [state, setState] = useState<{ key: string; data: T | null; problem: string }>({ key, data: null, problem: '' })
  const [round, setRound] = useState(0)
  const latest = useRef(load)
  latest.current = load
  useEffect(() => {
    let here = true, timer = 0, wait = FIRST, before = ''
    const next = () => {
      window.clearTimeout(timer)
      if (here && live && !document.hidden) timer = window.setTimeout(look, wait)
    }
    const look = () => {
      latest.current().then(
        (data) => {
          const now = JSON.stringify(data)
          wait = now === before ? Math.min(wait * 2, LAST) : FIRST
          if (here && now !== before) setState({ key, data, problem: '' })
          before = now
        },
        (error: unknown) => {
          wait = Math.min(wait * 2, LAST)
          before = ''
          if (here) setState((s) => ({ key, data: s.key === key ? s.data : null, problem: error instanceof Error ? error.message : 'Something went wrong.' }))
        },
      ).finally(next)
    }
    const seen = () => {
      if (document.hidden || !live) return
      wait = FIRST
      window.clearTimeout(timer)
      look()
    }
    look()
    document.addEventListener('visibilitychange', seen)
    return () => {
      here = false
      window.clearTimeout(timer)
      document.removeEventListener('visibilitychange', seen)
    }
  }, [key, live, round])
  const reload = useCallback(() => setRound((n) => n + 1), [])
  return { data: state.key === key ? state.data : null, problem: state.key === key ? state.problem : '', reload }
}
