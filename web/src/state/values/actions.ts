import type { SuggestedAction } from '../../api/types'
import type { GeneralChatMessage } from './state'

/** The action that every page has; it belongs to no payload. */
const CLOSE_CHAT = 'close_chat'

/**
 * The actions of a message that can still be done. An action of a payload is removed once the payload is accepted or
 * rejected: it would do what was rejected, or do twice what was accepted. An action names its payload (`payload_id`, its
 * own or in its data); one that names none belongs to its whole message.
 */
export function openActions(message: GeneralChatMessage, deciding: readonly string[] = []): SuggestedAction[] {
  const decided = new Set(deciding)
  for (const p of [...(message.payloads ?? []), ...(message.custom_payload ? [message.custom_payload] : [])]) {
    if (p.outcome && p.payload_id) decided.add(p.payload_id)
  }
  const all = message.suggested_actions ?? []
  if (decided.size === 0) return all
  const mine = new Set((message.payloads ?? []).map((p) => p.payload_id).concat(message.custom_payload?.payload_id))
  return all.filter((action) => {
    const named = payloadOf(action)
    if (named !== undefined) return !decided.has(named)
    return action.action === CLOSE_CHAT || ![...decided].some((id) => mine.has(id))
  })
}

function payloadOf(action: SuggestedAction): string | undefined {
  const { payload_id: own, data } = action
  const inData = typeof data === 'object' && data !== null && 'payload_id' in data ? data.payload_id : undefined
  return [own, inData].find((id): id is string => typeof id === 'string' && id !== '')
}
