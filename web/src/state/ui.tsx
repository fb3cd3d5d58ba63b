import { createContext, useContext, type ReactNode } from 'react'
import { defaultLabels, type Labels } from '../labels'
import type { CustomPayload, User } from '../api/types'
import type { PayloadHandler, PayloadHandlers } from '../payloads/registry'
import type { GeneralChatMessage } from './state'
import { Words } from './words'

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

const whole = new WeakMap<Partial<Labels>, Labels>()

/** The words of the nearest ChatTray, DocumentPane or ChatProvider. */
export function useLabels(): Labels {
  const own = useContext(Words)
  let all = whole.get(own)
  if (!all) whole.set(own, (all = { ...defaultLabels, ...own }))
  return all
}
