import { createContext, useContext, useMemo, type ReactNode } from 'react'
import { defaultLabels, type Labels } from '../labels'
import type { CustomPayload, User } from '../api/types'
import type { PayloadHandler, PayloadHandlers } from '../payloads/registry'
import type { GeneralChatMessage } from './state'

/** What the parts of one tray share. */
export interface TrayContext {
  handlers: PayloadHandlers
  handlerOf: (type: string) => PayloadHandler | undefined
  me: User | null
  openPayload: (payload: CustomPayload) => void
  openDiagnostics: (message: GeneralChatMessage) => void
  announce: (text: string) => void
  /** Puts an answer into the page's document; absent where there is none. */
  applyToDocument?: (message: GeneralChatMessage) => Promise<void>
}

const Context = createContext<TrayContext>({
  handlers: {}, handlerOf: () => undefined, me: null, openPayload: () => undefined, openDiagnostics: () => undefined, announce: () => undefined,
})

export function TrayContextProvider({ value, children }: { value: TrayContext; children: ReactNode }) {
  return <Context.Provider value={value}>{children}</Context.Provider>
}

export function useTray(): TrayContext {
  return useContext(Context)
}

const Words = createContext<Labels>(defaultLabels)

/** Gives words to what is below it; those left out are as above it. */
export function LabelsProvider({ labels, children }: { labels?: Partial<Labels>; children: ReactNode }) {
  const above = useContext(Words)
  const all = useMemo(() => (labels ? { ...above, ...labels } : above), [above, labels])
  return <Words.Provider value={all}>{children}</Words.Provider>
}

/** The words of the nearest ChatTray, DocumentPane or ChatProvider. */
export function useLabels(): Labels {
  return useContext(Words)
}
