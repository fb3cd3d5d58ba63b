import { memo, useEffect, useMemo, useRef, useState } from 'react'
import type { CustomPayload, SuggestedAction } from '../api/types'
import { failureWords, statusWords } from '../labels'
import { CopyButton } from '../markdown/copy'
import { SourcesProvider } from '../markdown/sources'
import { openActions } from '../state/actions'
import { useChatState, useChatStore } from '../state/context'
import { LIVE, LOCAL_ID, type GeneralChatMessage } from '../state/state'
import { useLabels, useTray } from '../state/ui'
import { headerOf } from '../payloads/registry'
import { openable, partsOfContent, sectionsOf, type Part } from '../state/view'
import { BugIcon, CheckIcon, CloseIcon, DocIcon, DownIcon, EditIcon, FileIcon, PanelIcon, RetryIcon, UpIcon, WarnIcon } from './icons'
import { composes } from './Composer'
import { Parts, Sections } from './Parts'

export interface MessageProps {
  message: GeneralChatMessage
  /** Chips, buttons and "answer again" belong to the last message only. */
  last: boolean
  busy: boolean
  onAction: (action: SuggestedAction) => void
}

/** One message of the conversation. */
export const MessageView = memo(function MessageView(props: MessageProps) {
  return props.message.role === 'user' ? <UserMessage {...props} /> : <Answer {...props} />
})

function UserMessage({ message, busy }: MessageProps) {
  const labels = useLabels()
  const [editing, setEditing] = useState(false)
  if (editing) return <EditMessage message={message} done={() => setEditing(false)} />
  const named = !message.id.startsWith(LOCAL_ID)
  return (
    <article className="ct-message" data-role="user" aria-label={labels.you}>
      {message.attachments && message.attachments.length > 0 && (
        <div className="ct-files">{message.attachments.map((a, i) => <span className="ct-file" key={i}><FileIcon />{a.name}</span>)}</div>
      )}
      {(message.content || message.action) && <div className="ct-bubble" dir="auto">{message.content || message.action?.action_identifier}</div>}
      {named && (
        <div className="ct-tools-row">
          <CopyButton text={message.content} />
          {!message.action && <IconButton label={labels.edit} onClick={() => setEditing(true)} disabled={busy}><EditIcon /></IconButton>}
        </div>
      )}
    </article>
  )
}

function EditMessage({ message, done }: { message: GeneralChatMessage; done: () => void }) {
  const labels = useLabels()
  const store = useChatStore()
  const [text, setText] = useState(message.content)
  const send = () => {
    if (text.trim() === '') return
    done()
    void store.sendMessage(text.trim(), { editMessageId: message.id })
  }
  return (
    <article className="ct-message ct-editing" data-role="user" aria-label={labels.editing}>
      <textarea
        className="ct-input" aria-label={labels.editing} value={text} rows={Math.min(8, text.split('\n').length + 1)} autoFocus dir="auto"
        onChange={(e) => setText(e.target.value)}
        onKeyDown={(e) => {
          if (e.key === 'Escape') {
            e.stopPropagation()
            done()
          } else if (e.key === 'Enter' && !e.shiftKey && !composes(e)) {
            e.preventDefault()
            send()
          }
        }}
      />
      <div className="ct-row">
        <button type="button" className="ct-button" onClick={done}>{labels.cancel}</button>
        <button type="button" className="ct-button" data-style="primary" onClick={send}>{labels.resend}</button>
      </div>
    </article>
  )
}

/** An answer, while it is written and when it is kept: one component, so that nothing is laid out anew at its end. */
function Answer({ message, last, busy, onAction }: MessageProps) {
  const labels = useLabels()
  const view = message.view
  const live = message.status === LIVE
  const sections = useMemo(() => {
    const seen = view && (live || (view.attempt === 1 && view.refused === 0)) ? sectionsOf(view) : []
    return seen.length > 0 ? seen : null
  }, [view, live])
  const parts = useMemo(() => (sections ? [] : partsOfContent(message.content, message.tool_history)), [sections, message.content, message.tool_history])
  const payloads = useMemo(() => (message.payloads ?? []).filter(openable), [message.payloads])
  const empty = !sections && parts.length === 0 && payloads.length === 0
  const box = useRecalled(message, live)
  if (live && empty) {
    return (
      <article className="ct-message" data-role="assistant" aria-label={labels.assistant}>
        <div className="ct-bubble ct-thinking"><Dots />{statusWords(labels, view?.status ?? labels.thinking)}</div>
      </article>
    )
  }
  return (
    <article ref={box} className="ct-message" data-role="assistant" data-status={live ? 'streaming' : message.status} aria-label={labels.assistant} aria-busy={live || undefined}>
      {!(empty && message.status === 'error') && (
        <div className="ct-bubble">
          <SourcesProvider {...citedOf(sections?.flatMap((s) => s.parts) ?? parts)}>
            {sections ? <Sections sections={sections} runId={message.run_id} streaming={live} /> : <Parts parts={parts} runId={message.run_id} streaming={false} />}
          </SourcesProvider>
          {empty && <p className="ct-muted">{labels.incomplete}</p>}
          {!live && <Notes message={message} />}
          <PayloadButtons payloads={payloads} />
          {live && <div className="ct-live"><Dots />{view?.status && <span>{statusWords(labels, view.status)}</span>}</div>}
        </div>
      )}
      {message.status === 'error' && <ErrorNote message={message} last={last} busy={busy} />}
      {last && !live && <Suggestions message={message} busy={busy} onAction={onAction} />}
      {!live && <AnswerTools message={message} last={last} busy={busy} />}
    </article>
  )
}

/** What the numbers in brackets of an answer may stand for: what its tools gave, and its own text. */
function citedOf(parts: Part[]): { outputs: string[]; text: string } {
  return { outputs: parts.flatMap((p) => (p.kind === 'tool' && !p.tool.isError ? [p.tool.output] : [])), text: parts.map((p) => (p.kind === 'text' ? p.text : '')).join('\n') }
}

/** Has an answer's run read again once the answer is in sight. */
function useRecalled(message: GeneralChatMessage, live: boolean) {
  const box = useRef<HTMLElement>(null)
  const store = useChatStore()
  const wanted = !live && !message.view && message.run_id !== undefined
  useEffect(() => {
    if (!wanted || !box.current) return
    const seen = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return
      seen.disconnect()
      store.recall(message)
    })
    seen.observe(box.current)
    return () => seen.disconnect()
  }, [store, message, wanted])
  return box
}

function Dots() {
  return <span className="ct-dots" aria-hidden="true"><i /><i /><i /></span>
}

function Notes({ message }: { message: GeneralChatMessage }) {
  const labels = useLabels()
  const stop = { max_tokens: labels.stopMaxTokens, max_iterations: labels.stopMaxIterations, content_filter: labels.stopContentFilter, refusal: labels.stopRefusal, end_turn: '' }
  const notes = [
    message.status === 'cancelled' ? labels.stopped : message.status === 'incomplete' ? labels.incomplete : '',
    message.stop_reason ? stop[message.stop_reason] : '',
    ...(message.warnings ?? []),
  ].filter(Boolean)
  if (notes.length === 0) return null
  return <ul className="ct-notes" aria-label={labels.warnings}>{notes.map((note, i) => <li key={i}><WarnIcon />{note}</li>)}</ul>
}

function ErrorNote({ message, last, busy }: { message: GeneralChatMessage; last: boolean; busy: boolean }) {
  const labels = useLabels()
  const store = useChatStore()
  return (
    <div className="ct-note" data-tone="error">
      <WarnIcon />
      <div><strong>{labels.errorTitle}</strong><span>{message.error && failureWords(labels, message.error.code, message.error.message)}</span></div>
      {last && <button type="button" className="ct-button ct-small" disabled={busy} onClick={() => void store.retry()}><RetryIcon />{labels.retry}</button>}
    </div>
  )
}

function PayloadButtons({ payloads }: { payloads: CustomPayload[] }) {
  const tray = useTray()
  const labels = useLabels()
  if (payloads.length === 0) return null
  return (
    <div className="ct-payloads">
      {payloads.map((p, i) => (
        <button type="button" className="ct-payload" key={p.payload_id ?? i} onClick={() => tray.openPayload(p)} title={p.summary}>
          <PanelIcon />
          <span>{p.summary || headerOf(tray.handlerOf(p.type), labels) || p.type}</span>
          {p.outcome && <em data-outcome={p.outcome}>{p.outcome === 'accepted' ? <CheckIcon /> : <CloseIcon />}{p.outcome === 'accepted' ? labels.accepted : labels.rejected}</em>}
        </button>
      ))}
    </div>
  )
}

function Suggestions({ message, busy, onAction }: Omit<MessageProps, 'last'>) {
  const store = useChatStore()
  const { deciding } = useChatState()
  const { suggested_values: values = [] } = message
  const actions = openActions(message, deciding)
  if (values.length === 0 && actions.length === 0) return null
  return (
    <div className="ct-suggestions">
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
    </div>
  )
}

function AnswerTools({ message, last, busy }: { message: GeneralChatMessage; last: boolean; busy: boolean }) {
  const tray = useTray()
  const labels = useLabels()
  const store = useChatStore()
  const [asking, setAsking] = useState(false)
  const [applied, setApplied] = useState(false)
  const kept = !message.id.startsWith('answer:')
  const rating = message.feedback?.rating
  const mayDiagnose = message.run_id !== undefined && (tray.me?.roles.includes('admin') ?? false)
  const plain = message.content.replace(/\[\[tool:\d+\]\]\s*/g, '')
  return (
    <>
      <div className="ct-tools-row">
        {plain && <CopyButton text={plain} />}
        {kept && message.status !== 'error' && (
          <>
            <IconButton label={labels.goodAnswer} pressed={rating === 'up'} onClick={() => void store.feedback(message.id, 'up').then(() => tray.announce(labels.feedbackThanks), () => undefined)}><UpIcon /></IconButton>
            <IconButton label={labels.badAnswer} pressed={rating === 'down'} onClick={() => setAsking(!asking)}><DownIcon /></IconButton>
          </>
        )}
        {last && kept && message.status !== 'error' && <IconButton label={labels.regenerate} disabled={busy} onClick={() => void store.sendMessage('', { regenerateMessageId: message.id })}><RetryIcon /></IconButton>}
        {tray.applyToDocument && plain && kept && (
          <IconButton label={applied ? labels.applied : labels.applyToDocument} onClick={() => void tray.applyToDocument?.(message).then(() => setApplied(true), () => undefined)}>{applied ? <CheckIcon /> : <DocIcon />}</IconButton>
        )}
        {mayDiagnose && <IconButton label={labels.diagnostics} onClick={() => tray.openDiagnostics(message)}><BugIcon /></IconButton>}
        {message.usage && message.usage.total_tokens > 0 && <bdi className="ct-usage">{labels.usage(message.usage.input_tokens, message.usage.output_tokens)}</bdi>}
      </div>
      {asking && <FeedbackForm message={message} done={() => setAsking(false)} />}
    </>
  )
}

function FeedbackForm({ message, done }: { message: GeneralChatMessage; done: () => void }) {
  const tray = useTray()
  const labels = useLabels()
  const store = useChatStore()
  const [comment, setComment] = useState(message.feedback?.comment ?? '')
  return (
    <form
      className="ct-feedback"
      onSubmit={(e) => {
        e.preventDefault()
        void store.feedback(message.id, 'down', comment.trim()).then(() => tray.announce(labels.feedbackThanks), () => undefined)
        done()
      }}
    >
      <input className="ct-input" value={comment} maxLength={4000} onChange={(e) => setComment(e.target.value)} placeholder={labels.feedbackComment} aria-label={labels.feedbackComment} autoFocus />
      <button type="submit" className="ct-button">{labels.send}</button>
    </form>
  )
}

export function IconButton({ label, pressed, children, ...rest }: { label: string; pressed?: boolean } & React.ComponentProps<'button'>) {
  return <button type="button" className="ct-icon-button" aria-label={label} title={label} aria-pressed={pressed} {...rest}>{children}</button>
}
