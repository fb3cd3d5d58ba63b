import { useCallback, useState } from 'react'
import type { CustomPayload } from '../api/types'
import { problemWords } from '../labels/tray'
import { locked } from '../state/store/clientTools'
import { useChatState, useChatStore } from '../state/context'
import { keepText, keptText } from '../state/kept'
import { perObject } from '../state/perObject'
import type { ChatStore } from '../state/store/store'
import { useLabels, useTray } from '../state/tray'
import { payloadHandlerFor, type PayloadHandler, type PayloadHandlers } from './registry'
import { issueWords } from './standardSchema'

export type Decided = 'accepted' | 'rejected'

/** The decision about a payload, wherever it is shown. */
export interface Decision {
  outcome?: Decided
  /** Whether the page's handler or the service is working on the decision. */
  deciding: boolean
  /** Why the last attempt failed; empty if it did not. */
  problem: string
  /** Calls the handler, unless another tab or device has decided, then stores the decision. Reports whether both succeeded. */
  decide: (outcome: Decided, data?: unknown) => Promise<boolean>
}

/** Decisions that the page's handler has carried out and that are not stored yet; they are not carried out twice. The browser keeps those of chats over a reload. */
const done = perObject<ChatStore, Map<string, Decided>>(() => new Map())

interface Own {
  id: string
  deciding: boolean
  problem: string
  /** The decision that is stored. */
  outcome?: Decided
}

/** The decision about a payload. Wherever it is shown, it is decided once. */
export function useDecision(payload: CustomPayload): Decision {
  return useDecisionIn(payload, useTray().handlers)
}

/** The same with the handlers of a place, and of a chat, null if it is not known; by default the one that is open. */
export function useDecisionIn(payload: CustomPayload, handlers: PayloadHandlers, of?: number | null): Decision {
  const { announce } = useTray()
  const labels = useLabels()
  const store = useChatStore()
  const id = payload.payload_id ?? ''
  const [own, setOwn] = useState<Own>({ id, deciding: false, problem: '' })
  const state = useChatState()
  const deciding = state.deciding.includes(id) || (own.id === id && own.deciding)
  // The state has the decisions about the payloads of the open chat.
  const decided = payload.outcome ?? (of !== undefined && own.id === id ? own.outcome : undefined)
  const decide = useCallback(async (outcome: Decided, data?: unknown) => {
    // Another chat may be open when the handler has ended.
    const chat = store.getSnapshot()
    if (chat.deciding.includes(id) || decided) return false
    const handler = payloadHandlerFor(payload.type, handlers)
    const kept = done(store)
    setOwn({ id, deciding: true, problem: '' })
    store.deciding(id, true)
    let stored: Decided | undefined
    try {
      const { conversationId } = of === undefined ? chat : { conversationId: of }
      const key = id && conversationId !== null ? store.keyOf(`done:${conversationId}:${id}`) : ''
      await locked(`chattray:decision:${conversationId}:${id}`, new AbortController().signal, async () => {
        const act = (kept.get(id) ?? keptText('localStorage', key)) === outcome ? undefined : outcome === 'accepted' ? handler?.onAccept : handler?.onReject
        if (id && conversationId !== null) stored = (await store.api.getPayload(conversationId, id)).outcome
        if (stored) store.dispatch({ type: 'resolved', payloadId: id, outcome: stored })
        else if (act) await act.call(handler, data === undefined ? await dataOf(handler, payload.data) : data, payload)
        if (!id) return
        keepText('localStorage', key, stored ? null : outcome)
        if (!stored) kept.set(id, outcome)
        await store.resolve(id, outcome, { conversationId })
        kept.delete(id)
        keepText('localStorage', key, null)
      })
      announce(outcome === 'accepted' ? labels.accepted : labels.rejected)
      setOwn({ id, deciding: false, problem: '', outcome })
      return true
    } catch (error) {
      setOwn({ id, deciding: false, problem: problemWords(labels, error), outcome: stored })
      return false
    } finally {
      store.deciding(id, false)
    }
  }, [store, id, payload, handlers, of, decided, announce, labels])
  return { outcome: decided, deciding, problem: own.id === id ? own.problem : '', decide }
}

/** The data as the handler's schema returns it; data that does not fit cannot be accepted. */
async function dataOf(handler: PayloadHandler | undefined, data: unknown): Promise<unknown> {
  if (!handler?.schema) return data
  const result = await handler.schema['~standard'].validate(data)
  if (result.issues) throw new Error(issueWords(result.issues))
  return result.value
}
