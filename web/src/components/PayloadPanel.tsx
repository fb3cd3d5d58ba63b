import type { CustomPayload } from '../api/types'
import { PayloadContent, useOwnButtons } from '../payloads/PayloadContent'
import { headerOf, isDecisive, payloadHandlerFor } from '../payloads/registry'
import { useDecision, type Decided } from '../payloads/useDecision'
import { useLabels, useTray } from '../state/tray'
import { DecisionButtons, useDecidedElsewhere } from './PayloadCard'
import { SidePanel } from './SidePanel'

export interface PayloadPanelProps {
  payload: CustomPayload
  focus?: boolean
  onClose: () => void
}

/** A payload in the panel, with the page's handler, else the registered one, else as JSON. */
export default function PayloadPanel({ payload, focus, onClose }: PayloadPanelProps) {
  const { handlers } = useTray()
  const labels = useLabels()
  const { deciding, problem, decide } = useDecision(payload)
  const handler = payloadHandlerFor(payload.type, handlers)
  useDecidedElsewhere(isDecisive(handler) && !payload.outcome ? payload.payload_id : undefined)
  const act = (outcome: Decided, data?: unknown) => void decide(outcome, data).then((done) => done && onClose())
  const [own, setOwn] = useOwnButtons(handler)
  const decided = isDecisive(handler) && !own && payload.outcome && !problem
  return (
    <SidePanel
      title={headerOf(handler, labels) || payload.summary || payload.type} width={handler?.renderOptions?.panelWidth} focus={focus} onClose={onClose}
      footer={decided
        ? <span className="ct-outcome" data-outcome={payload.outcome}>{payload.outcome === 'accepted' ? labels.accepted : labels.rejected}</span>
        : (problem || isDecisive(handler)) && <DecisionButtons payload={payload} handler={handler} own={own} deciding={deciding} problem={problem} decide={act} />}
    >
      <PayloadContent payload={payload} handler={handler} place="render" decide={act} close={onClose} onOwnButtons={setOwn} />
    </SidePanel>
  )
}
