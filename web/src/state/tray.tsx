import { createContext, useContext, type ReactNode } from 'react'
import { defaultLabels, type Labels, type TrayLabels } from '../labels/tray'
import type { CustomPayload, User } from '../api/types'
import type { Drops } from './drops'
import type { PayloadHandlers } from '../payloads/registry'
import { perObject } from './perObject'
import type { ToolRenderers } from './slots'
import type { GeneralChatMessage } from './values/state'
import { Words, wordsOf } from './words'

/** Something that a `/` at the beginning of the message offers. */
export interface Command {
  /** Without the slash: letters, digits, dot, dash and underscore. */
  name: string
  title: string
  run: () => void
}

/** What the parts of one tray share. */
export interface TrayContext {
  handlers: PayloadHandlers
  me: User | null
  /** Shows a payload in the panel, or in its place in the answer where there is no room for one. Absent outside of a tray: there it opens in its place. */
  openPayload?: (payload: CustomPayload) => void
  closePayload: () => void
  /** The payload that is open in its place; empty when none is. */
  expanded: string
  /** How the page shows calls of its tools. */
  toolRenderers: ToolRenderers
  openDiagnostics: (message: GeneralChatMessage) => void
  announce: (text: string) => void
  /** Commands of the page, beside the tray's own. */
  commands: readonly Command[]
  startNew?: () => void
  openHistory?: () => void
  /** Files that were dropped on the tray; absent outside of one. */
  drops?: Drops
  /** Puts an answer into the page's document; absent if there is none. */
  applyToDocument?: (message: GeneralChatMessage) => unknown
}

const Context = createContext<TrayContext>({
  handlers: {}, me: null, closePayload: () => undefined, expanded: '', toolRenderers: {}, openDiagnostics: () => undefined, announce: () => undefined, commands: [],
})

export function TrayContextProvider({ value, children }: { value: TrayContext; children: ReactNode }) {
  return <Context.Provider value={value}>{children}</Context.Provider>
}

export function useTray(): TrayContext {
  return useContext(Context)
}

/** Whether Escape in the input is for the tray: it stops the answer or closes the panel. Apart from TrayContext, with which every message is drawn. */
export const HasEscape = createContext(false)

const labelsOf = perObject((own: Partial<Labels>) => wordsOf<TrayLabels>(defaultLabels, own))

/** The words of the nearest ChatTray, DocumentPane or ChatProvider: the page's words, else those of defaultLabels. */
export function useLabels(): TrayLabels {
  return labelsOf(useContext(Words))
}
