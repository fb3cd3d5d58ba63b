import type { ReactNode } from 'react'
import type { CustomPayload } from '../api/types'
import type { Labels } from '../labels'

/** What a card may do with its payload (spec 002). */
export interface PayloadCallbacks {
  /** Calls the handler's onAccept, keeps the decision and closes the panel. Give data that the user has changed. */
  onAccept: (data?: unknown) => void
  onReject: (data?: unknown) => void
  /** The decision, once there is one. */
  outcome?: 'accepted' | 'rejected'
  close: () => void
  sendMessage: (message: string) => void
  payload: CustomPayload
}

/** Shows payloads of one type, beside the tray. */
export interface PayloadHandler<T = any> {
  render: (data: T, callbacks: PayloadCallbacks) => ReactNode
  renderOptions?: {
    /** Any CSS width. */
    panelWidth?: string
    headerTitle?: string | ((labels: Labels) => string)
  }
  /** Given by pages that act on a decision; the panel then has buttons, unless the card has its own (`ownButtons`). */
  onAccept?: (data: T, payload: CustomPayload) => void | Promise<void>
  onReject?: (data: T, payload: CustomPayload) => void | Promise<void>
  ownButtons?: boolean
}

export type PayloadHandlers = Record<string, PayloadHandler>

const registry = new Map<string, PayloadHandler>()

/** Registers the handler of a payload type for every tray; a page's own handler goes before it. Returns what takes it back. */
export function registerPayloadHandler<T = any>(type: string, handler: PayloadHandler<T>): () => void {
  registry.set(type, handler as PayloadHandler)
  return () => {
    if (registry.get(type) === handler) registry.delete(type)
  }
}

/** The title over a handler's cards; empty when it has none. */
export function headerOf(handler: PayloadHandler | undefined, labels: Labels): string {
  const title = handler?.renderOptions?.headerTitle
  return typeof title === 'function' ? title(labels) : (title ?? '')
}

/** The page's handler, else the registered one. */
export function payloadHandlerFor(type: string, own: PayloadHandlers = {}): PayloadHandler | undefined {
  return Object.hasOwn(own, type) ? own[type] : registry.get(type)
}
