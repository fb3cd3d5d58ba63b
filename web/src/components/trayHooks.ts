import { useCallback, useEffect, useRef, useState } from 'react'
import { ApiError } from '../api/errors'
import { pause, STREAM_LIMITS, waitAfter } from '../api/stream'
import type { User } from '../api/types'
import { statusWords, type TrayLabels } from '../labels/tray'
import { keepText, keptText } from '../state/kept'
import { text, type RunView } from '../state/values/run'
import type { ChatState } from '../state/values/state'
import type { ChatStore } from '../state/store/store'
import { titleOf } from '../state/values/trail'
import { waitingApproval } from '../state/values/view'

/**
 * The user's choice, stored in the browser under a name of a tray (not stored
 * if `tray` is empty); the page's value until the user chooses. A stored value
 * that is not in `allowed` is ignored.
 */
export function useKept<T extends string>(tray: string, name: string, first: T, allowed?: readonly T[]): [T, (value: T) => void] {
  const key = tray && `${tray}:${name}`
  const [chosen, setChosen] = useState(() => {
    const kept = keptText('localStorage', key) as T | null
    return kept !== null && (!allowed || allowed.includes(kept)) ? kept : null
  })
  const keep = useCallback((next: T) => {
    setChosen(next)
    keepText('localStorage', key, next)
  }, [key])
  return [chosen ?? first, keep]
}

/**
 * The current user. The service is asked until it answers, and again when an error appears or disappears and, while the user is not known, when an answer
 * begins or ends: the page may have signed in. If it no longer knows the user, the user is cleared, but not if it cannot be reached.
 */
export function useMe(store: ChatStore, error: string | undefined, busy: boolean): User | null {
  const [me, setMe] = useState<User | null>(null)
  const begins = busy && me === null
  useEffect(() => {
    const here = new AbortController()
    const { signal } = here
    const learn = (user: User | null) => signal.aborted || setMe(user)
    const ask = async (failures: number): Promise<void> => {
      try {
        learn(await store.api.getMe())
      } catch (problem) {
        if (!(problem instanceof ApiError)) return
        if (problem.status === 401) learn(null)
        if (!problem.retryable || failures > STREAM_LIMITS.attempts) return
        await pause(waitAfter(problem, failures, STREAM_LIMITS), signal)
        if (!signal.aborted) await ask(failures + 1)
      }
    }
    void ask(1)
    return () => here.abort()
  }, [store, error, begins])
  return me
}

/** Words for screen readers; each has an id, because the same words may be said again. */
interface Said {
  id: number
  words: string
  ends: boolean
}

/**
 * The announcements for screen readers, in the order of what happened: beginnings and ends, never every token. New words
 * replace the last ones. Those about the end of an answer stay before the next two, which may come before they are
 * heard: a panel opens, and another answer begins.
 */
export function useAnnouncements(state: ChatState, labels: TrayLabels) {
  const [announcements, setAnnouncements] = useState<readonly Said[]>([])
  const announce = useCallback((words: string, ends = false) => setAnnouncements((all) => {
    const last = all.at(-1)
    // The same words again are said only if they differ.
    const said = { id: (last?.id ?? 0) + 1, words: words && words === last?.words ? `${words}\u00a0` : words, ends }
    return !ends && all[0]?.ends && all.length < 3 ? [...all, said] : [said]
  }), [])
  const busy = useRef(false)
  const { run } = state
  useEffect(() => {
    const last = state.messages.at(-1)
    const ends: Record<string, string> = {
      complete: labels.announceDone, cancelled: labels.announceStopped, error: labels.announceError,
    }
    if (state.isLoading !== busy.current) announce(state.isLoading ? labels.announceBusy : (last?.role === 'assistant' && ends[last.status]) || '', !state.isLoading)
    busy.current = state.isLoading
  }, [state.isLoading, state.messages, labels])
  const asked = waitingApproval(run)
  const step = asked ? labels.waitingForUser(titleOf({ title: asked.title, name: asked.tool }))
    : run?.status && HELD.test(run.status.code) ? statusWords(labels, run.status)
      : run?.active ? labels.announceTool(titleIn(run, run.active.toolName)) : ''
  useEffect(() => {
    if (step) announce(step)
  }, [step, asked?.id])
  return { announcements, announce }
}

/** The codes of status lines that tell why an answer does not go on. */
const HELD = /^(resuming|waiting)/

/** What a tool of the run does, for people. */
function titleIn(run: RunView, name: string): string {
  return titleOf({ name, title: text(run.fold.messages.findLast((m) => m.props.name === name && m.props.title !== undefined)?.props.title) })
}
