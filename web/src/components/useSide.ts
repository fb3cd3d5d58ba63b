import { useCallback, useEffect, useRef, useState } from 'react'
import type { CustomPayload } from '../api/types'
import { isDecisive, payloadHandlerFor, type PayloadHandlers } from '../payloads/registry'
import { payloadsOf } from '../state/values/run'
import { liveMessage, LOCAL_ID, type ChatState, type GeneralChatMessage } from '../state/values/state'
import { openable } from '../state/values/view'
import type { Room } from './useRoom'

export type OpenPayloads = 'all' | 'decisions' | 'none'

/** What is beside the tray. A panel that the user asked for takes the focus; one that opens by itself leaves it where it is. */
export type Side = { kind: 'payload'; id: string; payload: CustomPayload; asked: boolean } | { kind: 'diagnostics'; message: GeneralChatMessage } | { kind: 'keys' } | null

const idOf = (payload: CustomPayload) => payload.payload_id ?? payload.type

/**
 * What is open beside the tray. It closes with the next question, unless that one
 * has waited for its turn, with the next page and another chat. Only the payload of a new answer opens by itself; of a
 * loaded answer, only a proposal that still waits. A panel that was closed
 * stays closed.
 */
export function useSide(state: ChatState, handlers: PayloadHandlers | undefined, room: Room, which: OpenPayloads, opened: (payload: CustomPayload) => void) {
  const [side, setSide] = useState<Side>(null)
  const openPayload = useCallback((payload: CustomPayload) => setSide({ kind: 'payload', id: idOf(payload), payload, asked: true }), [])
  const closePayload = useCallback(() => setSide(null), [])
  const question = state.messages.findLast((m) => m.role === 'user')?.id
  const asked = useRef(question)
  const waited = useRef<string[]>([])
  useEffect(() => {
    // A question gets its id from the service, and with it a new chat its own.
    const isNamed = asked.current?.startsWith(LOCAL_ID) && question?.startsWith(LOCAL_ID) === false
    asked.current = question
    if (!isNamed && !waited.current.includes(question ?? '')) setSide(null)
  }, [state.conversationId, state.page, question])
  useEffect(() => {
    waited.current = [...state.queue.map((m) => LOCAL_ID + m.id), ...state.waiting.map((m) => m.id)]
  }, [state.queue, state.waiting])

  const seen = useRef(new Set<string>())
  const last = state.messages.at(-1)
  const latest = state.run ? payloadsOf(state.run).at(-1) : (last?.payloads?.findLast((p) => !p.outcome && isDecisive(payloadHandlerFor(p.type, handlers))) ?? last?.custom_payload)
  const live = state.run !== null || last?.view !== undefined
  const id = latest?.payload_id ?? ''
  useEffect(() => {
    if (!openable(latest) || id === '' || seen.current.has(id)) return
    seen.current.add(id)
    const handler = payloadHandlerFor(latest.type, handlers)
    if (!handler?.render || latest.outcome || which === 'none' || room.panel === 0) return
    if (which === 'all' ? !live && !isDecisive(handler) : !isDecisive(handler) || handler.inline) return
    setSide({ kind: 'payload', id: idOf(latest), payload: latest, asked: false })
    opened(latest)
  }, [id])
  return { side, setSide, openPayload, closePayload }
}

/** The payload as the messages have it now, with its decision. */
export function currentPayload(state: ChatState, id: string): CustomPayload | undefined {
  const messages = state.run ? [...state.messages, liveMessage(state.run, state.decided)] : state.messages
  return messages.flatMap((m) => m.payloads ?? []).findLast((p) => p.payload_id === id)
}
