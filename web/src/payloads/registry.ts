import type { ReactNode } from 'react'
import type { CustomPayload } from '../api/types'
import type { Labels } from '../labels/tray'
import type { OutputOf, StandardSchema } from './standardSchema'

/** What a card may do with its payload. */
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

/** Shows payloads of one type: `inline` in the answer, `render` in the panel beside it, for what is large. One of them is enough. */
export interface PayloadHandler<T = unknown> {
  inline?(data: T, callbacks: PayloadCallbacks): ReactNode
  render?(data: T, callbacks: PayloadCallbacks): ReactNode
  /** Checks the data first; what does not fit is shown as JSON. The data is what comes out of it. */
  schema?: StandardSchema<unknown, T>
  renderOptions?: {
    /** Any CSS width. */
    panelWidth?: string
    headerTitle?: string | ((labels: Labels) => string)
  }
  /**
   * Given by pages that act on a decision. There are then buttons under the card, unless the card has its own: one that takes
   * `callbacks.onAccept` or `callbacks.onReject` while it renders has. `ownButtons` says it where that cannot be seen.
   */
  onAccept?(data: T, payload: CustomPayload): void | Promise<void>
  onReject?(data: T, payload: CustomPayload): void | Promise<void>
  ownButtons?: boolean
}

export type PayloadHandlers = Record<string, PayloadHandler>

/** A handler whose schema says what its data is. */
export type SchemaHandler<S extends StandardSchema> = Omit<PayloadHandler<OutputOf<S>>, 'schema'> & { schema: S }

/** Makes a handler whose data has the type that the schema says; for `payloadHandlers`. */
export function payloadHandler<S extends StandardSchema>(handler: SchemaHandler<S>): PayloadHandler {
  return handler as PayloadHandler
}

const registry = new Map<string, PayloadHandler>()

/** Registers the handler of a payload type for every tray; a page's own handler goes before it. Returns what takes it back. */
export function registerPayloadHandler<S extends StandardSchema>(type: string, handler: SchemaHandler<S>): () => void
export function registerPayloadHandler<T = unknown>(type: string, handler: PayloadHandler<T>): () => void
export function registerPayloadHandler(type: string, handler: PayloadHandler): () => void {
  registry.set(type, handler)
  return () => {
    if (registry.get(type) === handler) registry.delete(type)
  }
}

/** The title over a handler's cards; empty when it has none. */
export function headerOf(handler: PayloadHandler | undefined, labels: Labels): string {
  const title = handler?.renderOptions?.headerTitle
  return typeof title === 'function' ? title(labels) : (title ?? '')
}

/** Whether the user is asked to accept or reject payloads of this handler. */
export function isDecisive(handler: PayloadHandler | undefined): boolean {
  return handler !== undefined && (handler.onAccept !== undefined || handler.onReject !== undefined)
}

/** The page's handler, else the registered one. */
export function payloadHandlerFor(type: string, own: PayloadHandlers = {}): PayloadHandler | undefined {
  return Object.hasOwn(own, type) ? own[type] : registry.get(type)
}
