import { createContext, useContext, type ReactNode } from 'react'
import { defaultLabels, type Labels } from '../labels'
import type { CustomPayload, User } from '../api/types'
import type { PayloadHandler, PayloadHandlers } from '../payloads/registry'
import type { GeneralChatMessage } from './state'

/** What the parts of one tray share. */
export interface TrayContext {
  labels: Labels
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
  labels: defaultLabels, handlers: {}, handlerOf: () => undefined, me: null, openPayload: () => undefined, openDiagnostics: () => undefined, announce: () => undefined,
})

export function TrayContextProvider({ value, children }: { value: TrayContext; children: ReactNode }) {
  return <Context.Provider value={value}>{children}</Context.Provider>
}

export function useTray(): TrayContext {
  return useContext(Context)
}

export function useLabels(): Labels {
  return useContext(Context).labels
}
