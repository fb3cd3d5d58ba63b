import { useMemo, useState } from 'react'
import type { CustomPayload } from '../api/types'
import { PanelIcon } from '../components/icons'
import { DecisionButtons } from '../components/PayloadCard'
import { PayloadContent, useOwnButtons } from '../payloads/PayloadContent'
import { isDecisive, payloadHandlerFor, type PayloadHandlers } from '../payloads/registry'
import { useDecisionIn } from '../payloads/useDecision'
import { TrayContextProvider, useLabels, useTray } from '../state/tray'

interface SocketPayloadProps {
  payload: CustomPayload
  conversationId?: number
  handlers?: PayloadHandlers
  /** The run has no other payload, so there is room for it. */
  alone: boolean
}

/**
 * A payload of a run over the socket, which opens to what its handler shows: by
 * itself if it is the only one or waits for a decision. The decision is stored
 * in the run's chat.
 */
export function SocketPayload({ payload: given, conversationId, handlers = {}, alone }: SocketPayloadProps) {
  const labels = useLabels()
  const tray = useTray()
  const [chosen, setOpen] = useState<boolean | null>(null)
  const { outcome, deciding, problem, decide } = useDecisionIn(given, handlers, conversationId ?? null)
  const handler = payloadHandlerFor(given.type, handlers)
  const [own, setOwn] = useOwnButtons(handler)
  const open = chosen ?? (alone || (isDecisive(handler) && !outcome))
  const payload = outcome ? { ...given, outcome } : given
  const value = useMemo(() => ({ ...tray, handlers }), [tray, handlers])
  return (
    <TrayContextProvider value={value}>
      <section className="ct-payload-card" data-type={payload.type} data-inline={open || undefined}>
        <button type="button" className="ct-payload" aria-expanded={open} onClick={() => setOpen(!open)}>
          <PanelIcon /><span>{payload.summary || payload.type}</span>
          {outcome && <em data-outcome={outcome}>{outcome === 'accepted' ? labels.accepted : labels.rejected}</em>}
        </button>
        {open && <div className="ct-payload-body" role="group" aria-label={payload.summary || payload.type} tabIndex={0}><PayloadContent payload={payload} handler={handler} place="inline" decide={(decision, data) => void decide(decision, data)} close={() => setOpen(false)} onOwnButtons={setOwn} /></div>}
        <DecisionButtons payload={payload} handler={handler} own={own} deciding={deciding} problem={problem} decide={(decision) => void decide(decision)} />
      </section>
    </TrayContextProvider>
  )
}
