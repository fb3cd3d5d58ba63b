import type { ReactNode } from 'react'
import type { CustomPayload } from '../api/types'
import type { Labels, TrayLabels } from '../labels/tray'
import type { OutputOf, StandardSchema } from './standardSchema'

/** The functions that a card may call. */
export interface PayloadCallbacks {
  /** Calls the handler's onAccept, stores the decision and closes the panel. Pass the data if the user has changed it. */
  onAccept: (data?: unknown) => void
  onReject: (data?: unknown) => void
  /** The decision, once there is one. */
  outcome?: 'accepted' | 'rejected'
  close: () => void
  sendMessage: (message: string) => void
  payload: CustomPayload
}

/** Shows payloads of one type: `inline` in the answer, `render` in the panel beside it, for large content. One of them is enough. */
export interface PayloadHandler<T = unknown> {
  inline?(data: T, callbacks: PayloadCallbacks): ReactNode
  render?(data: T, callbacks: PayloadCallbacks): ReactNode
  /** Checks the data first, and determines the type of the handler's data. Data that does not fit is shown as JSON. */
  schema?: StandardSchema<unknown, T>
  renderOptions?: {
    /** Any CSS width. */
    panelWidth?: string
    /** The labels have the words of the tray, and others if the page provides them. */
    headerTitle?: string | ((labels: TrayLabels & Partial<Labels>) => string)
  }
  /**
   * Set by pages that act on a decision. The tray then shows buttons under the card, unless the card has its own: a card that reads
   * `callbacks.onAccept` or `callbacks.onReject` while it renders counts as having some. `ownButtons` overrides that. A promise that
   * they return is awaited before the decision is stored; one that is rejected is shown, and nothing is stored.
   */
  onAccept?(data: T, payload: CustomPayload): unknown
  onReject?(data: T, payload: CustomPayload): unknown
  ownButtons?: boolean
}

export type PayloadHandlers = Record<string, PayloadHandler>

/** A handler whose schema determines the type of its data. */
export type SchemaHandler<S extends StandardSchema> = Omit<PayloadHandler<OutputOf<S>>, 'schema'> & { schema: S }

/** Makes a handler for `payloadHandlers`; the schema determines the type of its data. */
export function payloadHandler<S extends StandardSchema>(handler: SchemaHandler<S>): PayloadHandler {
  return handler as PayloadHandler
}

const registry = new Map<string, PayloadHandler>()

/** Registers the handler of a payload type for every tray; a page's own handler takes precedence. Returns a function that removes it. */
export function registerPayloadHandler<S extends StandardSchema>(type: string, handler: SchemaHandler<S>): () => void
export function registerPayloadHandler<T = unknown>(type: string, handler: PayloadHandler<T>): () => void
export function registerPayloadHandler(type: string, handler: PayloadHandler): () => void {
  registry.set(type, handler)
  return () => {
    if (registry.get(type) === handler) registry.delete(type)
  }
}

/** The title over a handler's cards; empty when it has none. */
export function headerOf(handler: PayloadHandler | undefined, labels: TrayLabels & Partial<Labels>): string {
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
