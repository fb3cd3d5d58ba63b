import { useCallback, useEffect, useState } from 'react'
import { whenSettled } from '../src/state/whenSettled'

/** Data that was loaded, and a function that loads it again; `key` identifies the data. */
export function useLoaded<T>(key: string, load: () => Promise<T>): { data: T | null; problem: string; reload: () => void } {
  const [state, setState] = useState<{ key: string; data: T | null; problem: string }>({ key, data: null, problem: '' })
  const [round, setRound] = useState(0)
  useEffect(() => whenSettled(
    load(),
    (data) => setState({ key, data, problem: '' }),
    (error) => setState({ key, data: null, problem: error instanceof Error ? error.message : 'Something went wrong.' }),
  ), [key, round])
  const reload = useCallback(() => setRound((n) => n + 1), [])
  return { data: state.key === key ? state.data : null, problem: state.key === key ? state.problem : '', reload }
}
