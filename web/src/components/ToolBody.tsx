import { useState } from 'react'
import type { ToolCall } from '../api/types'
import { CopyButton } from '../markdown/copy'
import { useChatState, useChatStore } from '../state/context'
import { digitsOf, withDigits } from '../state/values/digits'
import { text as textOf, type RunView } from '../state/values/run'
import { useAllLabels } from '../state/allLabels'
import type { ToolView } from '../state/values/view'

export interface ToolBodyProps {
  id: string
  tool: ToolView
  runId?: string
}

/** A call's input and output. */
export default function ToolBody({ id, tool, runId }: ToolBodyProps) {
  const labels = useAllLabels()
  const store = useChatStore()
  const [whole, setWhole] = useState<ToolCall | null>(null)
  const output = whole?.output ?? tool.output
  const written = useChatState((state) => writtenIn(state.run?.runId === runId ? state.run : state.messages.find((m) => m.run_id === runId)?.view, tool.key))
  const digits = digitsOf(tool.input, written)
  const input = typeof tool.input === 'string' ? tool.input : digits === undefined ? JSON.stringify(tool.input ?? {}, null, 2) : withDigits(JSON.stringify(digits, null, 2))
  const cut = runId && tool.index >= 0 && !whole && tool.output.length >= CUT_AT
  return (
    <div className="ct-tool-body" id={id}>
      <code className="ct-tool-id">{tool.name}</code>
      <div className="ct-tool-part"><span>{labels.toolInput}</span><CopyButton text={input} label={`${labels.copy}: ${labels.toolInput}`} /></div>
      <pre dir="ltr" tabIndex={0}>{input}</pre>
      <div className="ct-tool-part"><span>{labels.toolOutput}</span>{output && <CopyButton text={output} label={`${labels.copy}: ${labels.toolOutput}`} />}</div>
      {output ? <pre dir="auto" tabIndex={0}>{output}</pre> : <p className="ct-muted">{tool.status === 'running' ? labels.loading : labels.toolNoOutput}</p>}
      {cut && <button type="button" className="ct-button ct-small" onClick={() => void store.api.getToolCall(runId, tool.index).then(setWhole, (error: unknown) => store.note(error))}>{labels.toolWhole}</button>}
    </div>
  )
}

/** The input of a call as the model has written it; empty if that is not known. */
function writtenIn(run: RunView | null | undefined, key: string): string {
  return textOf(run?.fold.messages.findLast((m) => m.type === 'tool_call' && (textOf(m.props.id) || m.id) === key)?.props.arguments)
}

/** Characters at which the service cuts an output on the wire. */
const CUT_AT = 16_000
