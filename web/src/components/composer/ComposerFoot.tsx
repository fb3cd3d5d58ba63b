import { useEffect, useId, useState } from 'react'
import type { ModelOffer } from '../../api/types'
import { useChatState, useChatStore } from '../../state/context'
import { useAllLabels } from '../../state/allLabels'
import { whenSettled } from '../../state/whenSettled'
import { ChipIcon } from '../laterIcons'

export interface ComposerFootProps {
  className?: string
}

/** Below the input: the model with its price and, less prominently, what the chat has used and how full its context is. */
export default function ComposerFoot({ className }: ComposerFootProps) {
  const store = useChatStore()
  const labels = useAllLabels()
  const id = useId()
  const models = useModels()
  const { usage, chosen, messages, wanted } = useChatState((s) => ({ usage: s.usage, chosen: s.model, messages: s.messages, wanted: store.pageModel() }))
  const model = models.find((m) => m.name === chosen) ?? models.find((m) => m.name === wanted) ?? models.find((m) => m.default)
  useEffect(() => {
    // A model that was chosen earlier may no longer be offered.
    if (chosen && models.length > 0 && !models.some((m) => m.name === chosen)) store.chooseModel('')
  }, [store, chosen, models])
  const last = messages.findLast((m) => m.role === 'assistant' && m.usage)
  // Each call of a tool sends the whole context again, so the tokens do not
  // show its size.
  const context = last?.usage && !last.tool_history?.length && model?.context_window ? last.usage.total_tokens / model.context_window : 0
  const facts = [
    usage ? labels.chatTokens(usage.total_tokens) : '',
    usage?.cost_usd ? labels.chatCost(usage.cost_usd) : '',
    context > 0 ? labels.chatContext(context) : '',
  ].filter(Boolean)
  if (models.length < 2 && facts.length === 0) return null
  return (
    <div className={`ct-composer-foot ${className ?? ''}`}>
      {models.length > 1 && (
        <label htmlFor={id} className="ct-model" title={labels.model}>
          <ChipIcon />
          <span className="ct-hidden">{labels.model}</span>
          <select id={id} value={model?.name ?? ''} onChange={(e) => store.chooseModel(e.target.value)}>
            {models.map((m) => <option key={m.name} value={m.name}>{m.price ? labels.modelPriced(m.name, m.price.input, m.price.output) : m.name}</option>)}
          </select>
        </label>
      )}
      {facts.length > 0 && <span className="ct-facts" role="note" aria-label={labels.chatUsed} title={usage ? labels.usage(usage.input_tokens, usage.output_tokens) : undefined}>{facts.join(' · ')}</span>}
    </div>
  )
}

/** The models of the service; none if it does not list them. */
function useModels(): readonly ModelOffer[] {
  const store = useChatStore()
  const [models, setModels] = useState<readonly ModelOffer[]>([])
  useEffect(() => whenSettled(store.api.listModels(), (list) => setModels(list.items)), [store])
  return models
}
