/** Does something when the browser is idle, at the latest after IDLE_TIMEOUT; the returned function cancels it. */
export function whenIdle(act: () => void): () => void {
  if (!('requestIdleCallback' in globalThis)) {
    const timer = setTimeout(act)
    return () => clearTimeout(timer)
  }
  const idle = requestIdleCallback(act, { timeout: IDLE_TIMEOUT })
  return () => cancelIdleCallback(idle)
}

/** Milliseconds after which the work is done even if the browser is not idle. */
const IDLE_TIMEOUT = 1000
