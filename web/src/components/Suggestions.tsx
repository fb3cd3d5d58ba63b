import type { SuggestedAction } from '../api/types'
import { isDecisive, payloadHandlerFor } from '../payloads/registry'
import { openActions } from '../state/values/actions'
import { useBusy, useChatState, useChatStore } from '../state/context'
import { classes, type PartProps } from '../state/slots'
import type { GeneralChatMessage } from '../state/values/state'
import { useTray } from '../state/tray'

export interface SuggestionsProps extends PartProps {
  message: GeneralChatMessage
  onAction: (action: SuggestedAction) => void
}

/** What an answer offers: its actions as buttons, and values that are sent as the next message. */
export function Suggestions({ message, onAction, className, children }: SuggestionsProps) {
  const store = useChatStore()
  const busy = useBusy()
  const deciding = useChatState((state) => state.deciding)
  const { suggested_values: values = [] } = message
  const { handlers } = useTray()
  // A payload that the page itself accepts already has its buttons.
  const answered = new Set((message.payloads ?? []).filter((p) => isDecisive(payloadHandlerFor(p.type, handlers))).map((p) => p.payload_id))
  const actions = openActions(message, deciding).filter((action) => !action.payload_id || !answered.has(action.payload_id))
  if (values.length === 0 && actions.length === 0 && !children) return null
  return (
    <div className={classes('ct-suggestions', className)}>
      {actions.length > 0 && (
        <div className="ct-row">
          {actions.map((action, i) => (
            <button type="button" className="ct-button" key={i} data-style={action.style ?? 'secondary'} disabled={busy && action.handler === 'server'} onClick={() => onAction(action)}>{action.label}</button>
          ))}
        </div>
      )}
      {values.length > 0 && (
        <div className="ct-chips">
          {values.map((value, i) => (
            <button type="button" className="ct-chip" key={i} disabled={busy} onClick={() => void store.sendMessage(value.value, { interactionType: 'value_selected' })}>{value.label}</button>
          ))}
        </div>
      )}
      {children}
    </div>
  )
}
