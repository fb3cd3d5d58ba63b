import { useCallback, useEffect, useId, useRef, useState } from 'react'
import type { SuggestedAction } from '../api/types'
import { SendIcon, StopIcon, WarnIcon } from '../components/icons'
import { PauseIcon } from '../components/laterIcons'
import { Approval } from '../components/laterParts'
import { ToolCallCard } from '../components/ToolCallCard'
import { Trail } from '../components/Trail'
import { problemWords, statusWords } from '../labels/tray'
import { Markdown } from '../markdown/Markdown'
import type { PayloadHandlers } from '../payloads/registry'
import { useAllLabels } from '../state/allLabels'
import { useChatStore } from '../state/context'
import { keyOf } from '../state/keys'
import { useKeptShort, useShort } from '../state/longText'
import { trimmed } from '../state/values/cut'
import { useStateOf } from '../state/useStateOf'
import type { SocketRun } from '../socket/chunks'
import { underWay, type ChatSocket, type SocketQuestion, type SocketState } from '../socket/socket'
import { firstWords } from './places'
import { SocketPayload } from './SocketPayload'
import { approvalOf, toolOf } from './socketViews'
import type { DocumentState } from './useDocument'

export interface DocumentAskProps {
  state: DocumentState
  /** From useSocket; useDocument gets the view, too. */
  socket: ChatSocket
  view: SocketState
  /** How this page shows payloads, in addition to the registered handlers. */
  payloadHandlers?: PayloadHandlers | undefined
  /** Does what a client action asks for. */
  onClientAction?: ((action: SuggestedAction) => void) | undefined
}

/** Where an answer goes: wherever the assistant decides, a new block, or a given block. */
const ANYWHERE = ''
const NEW = '+'

/** Asks about a document over the socket: the answer goes into blocks, and its calls, approvals and suggestions are shown under the question. */
export function DocumentAsk({ state, socket, view, payloadHandlers, onClientAction }: DocumentAskProps) {
  const labels = useAllLabels()
  const store = useChatStore()
  const where = useId()
  const field = useRef<HTMLTextAreaElement>(null)
  const [, draw] = useState(0)
  const documentId = state.document?.id ?? ''
  const [target, setTarget] = useStateOf(documentId, ANYWHERE)
  const [failed, setFailed] = useState({ documentId, problem: '' })
  const problem = failed.documentId === documentId ? failed.problem : ''
  const setProblem = useCallback((problem: string) => setFailed({ documentId, problem }), [documentId])
  // Each document has its own draft. A question that could not be sent goes back to it, also if another document is shown by then.
  const place = { user: '', tray: `ask ${documentId}`, chat: null }
  const question = store.drafts.read(place)
  const setQuestion = (next: string) => {
    store.drafts.keep(place, next)
    draw((n) => n + 1)
  }
  const [text, setText] = useShort(question, setQuestion, () => (setProblem(`${labels.attachText} ${labels.attachTooLarge}`), false))
  useKeptShort(field, setText)
  useEffect(() => {
    if (documentId) socket.watch(documentId)
  }, [socket, documentId])
  const run = view.runs.findLast((r) => r.chat_id === documentId)
  const busy = run !== undefined && underWay(run)
  useClientCalls(run)
  const tried = useCallback((doing: Promise<unknown>) => {
    setProblem('')
    return doing.then(() => true, (error: unknown) => {
      setProblem(problemWords(labels, error))
      return false
    })
  }, [labels, setProblem])
  const ask = (content: string, more: SocketQuestion = {}) => tried(socket.message(content, {
    document_id: documentId, chat_id: documentId, context: { ...store.getContext(), document_id: documentId }, client_tools: store.clientTools.specs(), ...more,
  }))
  const submit = async () => {
    const asked = trimmed(text)
    if (asked === '' || !documentId) return
    setQuestion('')
    const into: SocketQuestion = target === ANYWHERE ? { mode: 'agent' } : { mode: 'chat', ...(target !== NEW && { block_id: target }) }
    if (!(await ask(asked, into))) setQuestion([asked, store.drafts.read(place)].filter(Boolean).join('\n'))
  }
  const act = (action: SuggestedAction) => {
    if (action.handler !== 'server') return onClientAction?.(action)
    void ask(action.label, { interaction_type: 'action_executed', action_metadata: { action_identifier: action.action, ...(action.data !== undefined && { action_data: action.data }) } })
  }
  const gone = target !== ANYWHERE && target !== NEW && state.blocks.every((b) => b.id !== target)
  return (
    <section className="ct-doc-ask" aria-label={labels.docAsk}>
      <form onSubmit={(e) => {
        e.preventDefault()
        void submit()
      }}>
        <textarea
          ref={field} className="ct-input" rows={Math.min(6, text.split('\n').length)} value={text} placeholder={labels.docAsk} aria-label={labels.docAsk} dir={text ? 'auto' : undefined} onChange={(e) => setText(e.target.value)}
          onKeyDown={(e) => {
            if (keyOf(e) !== 'Enter' || e.shiftKey) return
            e.preventDefault()
            void submit()
          }}
        />
        <label className="ct-sr" htmlFor={where}>{labels.docAskWhere}</label>
        <select className="ct-input" id={where} value={gone ? ANYWHERE : target} onChange={(e) => setTarget(e.target.value)}>
          <option value={ANYWHERE}>{labels.docAskAnywhere}</option>
          <option value={NEW}>{labels.docAskNew}</option>
          {state.blocks.map((b, i) => <option key={b.id} value={b.id} label={labels.docAskBlock(i + 1, firstWords(b))} />)}
        </select>
        {busy && <button type="button" className="ct-button ct-small" title={labels.docPauseTitle} onClick={() => void tried(socket.pause(documentId))}><PauseIcon />{labels.docPause}</button>}
        {busy && <button type="button" className="ct-button ct-small" title={labels.stop} onClick={() => void tried(socket.stop(documentId))}><StopIcon />{labels.stop}</button>}
        <button type="submit" className="ct-button ct-small" data-style="primary" disabled={trimmed(text) === '' || !documentId}><SendIcon />{labels.docAskSend}</button>
      </form>
      {view.link === 'reconnecting' && <p className="ct-note" role="status">{labels.reconnecting} <button type="button" className="ct-button ct-small" onClick={() => socket.reconnect()}>{labels.reconnectNow}</button></p>}
      {(problem || view.problem) && <p className="ct-note" data-tone="error" role="alert">{problem || view.problem}</p>}
      {run && <RunCards run={run} view={view} socket={socket} handlers={payloadHandlers} busy={busy} ask={(value) => void ask(value, { mode: 'agent', interaction_type: 'value_selected' })} act={act} />}
    </section>
  )
}

/** Runs the tools of the page that a run asks for. */
function useClientCalls(run: SocketRun | undefined): void {
  const { clientTools } = useChatStore()
  useEffect(() => {
    for (const call of run?.calls ?? []) clientTools.take(run!.run_id, { id: call.tool_use_id, name: call.tool, input: call.input, expires_at: call.expires_at })
    for (const tool of run?.tools ?? []) clientTools.drop(run!.run_id, tool.tool_use_id)
  }, [clientTools, run])
}

interface RunCardsProps {
  run: SocketRun
  view: SocketState
  socket: ChatSocket
  handlers?: PayloadHandlers
  busy: boolean
  ask: (value: string) => void
  act: (action: SuggestedAction) => void
}

/** The calls, approvals and suggestions of a run. */
function RunCards({ run, view, socket, handlers, busy, ask, act }: RunCardsProps) {
  const labels = useAllLabels()
  const tools = run.tools.map(toolOf)
  const waiting = run.approvals.filter((a) => a.approved === undefined)
  const prose = view.blocks[run.message_id]
  const words = prose && prose.document_id === '' ? prose.content : ''
  const send = useCallback((id: string, approval: string, approved: boolean, input?: unknown) => socket.approve(id, approval, approved, input), [socket])
  return (
    <div className="ct-doc-run" aria-live="polite" data-run={run.run_id} data-state={run.state || 'running'}>
      {tools.length > 0 && <Trail tools={tools}>{tools.map((tool) => <ToolCallCard key={tool.key} tool={tool} runId={run.run_id} />)}</Trail>}
      {waiting.map((a) => <Approval key={a.approval_id} approval={approvalOf(a)} runId={run.run_id} send={send} />)}
      {words && <Markdown text={words} streaming={busy} />}
      {busy && run.status && waiting.length === 0 && <p className="ct-doc-status" role="status"><span className="ct-spinner" /> {statusWords(labels, { message: run.status, code: run.status_code, tool: run.status_tool })}</p>}
      {run.payloads.map(({ payload }, i) => <SocketPayload key={payload.payload_id ?? i} payload={payload} conversationId={run.conversation_id} handlers={handlers} alone={run.payloads.length === 1} />)}
      {run.warnings.length > 0 && <ul className="ct-notes" aria-label={labels.warnings}>{run.warnings.map((warning) => <li key={warning}><WarnIcon />{warning}</li>)}</ul>}
      {run.error && <p className="ct-note" data-tone="error" role="alert">{run.error.message}</p>}
      {run.state === 'cancelled' && <p className="ct-note" role="status">{labels.stopped}</p>}
      {run.actions.length > 0 && (
        <div className="ct-row">{run.actions.map((action, i) => <button type="button" className="ct-button ct-small" key={i} data-style={action.style ?? 'secondary'} disabled={busy} onClick={() => act(action)}>{action.label}</button>)}</div>
      )}
      {run.values.length > 0 && (
        <div className="ct-chips">{run.values.map((value, i) => <button type="button" className="ct-chip" key={i} disabled={busy} onClick={() => ask(value.value)}>{value.label}</button>)}</div>
      )}
    </div>
  )
}
