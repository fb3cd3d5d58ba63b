import { useEffect, useState } from 'react'
import { useChatState } from '../state/context'
import { classes, type PartProps } from '../state/slots'
import type { ChatState } from '../state/values/state'
import { useLabels } from '../state/tray'
import { useEnd } from '../state/useEnd'
import { waitingApproval } from '../state/values/view'
import { ChatIcon } from './icons'

export interface LauncherProps extends PartProps {
  onOpen: () => void
  /** Answers that arrived while the tray was closed. */
  unread?: number | undefined
}

/** What a closed tray shows: something waits for the user, the assistant works, or there are new answers. */
export type LauncherState = 'idle' | 'working' | 'done' | 'waits'

function launcherState(state: Pick<ChatState, 'run' | 'isLoading'>, unread: number): LauncherState {
  if (waitingApproval(state.run)) return 'waits'
  if (state.isLoading) return 'working'
  return unread > 0 ? 'done' : 'idle'
}

/** The button that opens the tray. */
export function Launcher({ onOpen, unread = 0, className, children }: LauncherProps) {
  const labels = useLabels()
  const state = useChatState((s) => launcherState(s, unread))
  const words = { idle: '', working: labels.launcherWorking, done: labels.launcherUnread(unread), waits: labels.launcherWaits }[state]
  const name = words ? `${labels.open}. ${words}` : labels.open
  return (
    <button type="button" className={classes('ct-launcher', className)} data-state={state} onClick={onOpen} aria-label={name} title={name}>
      <ChatIcon />
      {state === 'working' && <span className="ct-spinner" />}
      {(state === 'waits' || unread > 0) && <span className="ct-badge" aria-hidden="true">{state === 'waits' ? '!' : unread}</span>}
      {children}
    </button>
  )
}

/** Counts the answers that arrive while the tray is closed. */
export function useUnread(state: ChatState, open: boolean): number {
  const [unread, setUnread] = useState(0)
  useEffect(() => {
    if (open) setUnread(0)
  }, [open])
  useEnd(state.isLoading, () => open || setUnread((n) => n + 1))
  return unread
}
