import { useId, useMemo, useState } from 'react'
import type { Labels } from '../labels/tray'
import { useChatState, useChatStore } from '../state/context'
import { isObject } from '../state/values/delta'
import { digitsOf, withDigits } from '../state/values/digits'
import { MAX_TYPED } from '../state/longText'
import { perObject } from '../state/perObject'
import { text as textOf, type RunView } from '../state/values/run'
import { classes, type PartProps } from '../state/slots'
import { nameWords, titleOf } from '../state/values/trail'
import { useAllLabels } from '../state/allLabels'
import type { ChatStore } from '../state/store/store'
import { useApproval, type SendApproval } from './useApproval'
import type { ApprovalView } from '../state/values/view'
import { ShieldIcon } from './laterIcons'

export interface ApprovalProps extends PartProps {
  approval: ApprovalView
  runId?: string | undefined
  /** Sends the answer; over HTTP when absent. */
  send?: SendApproval | undefined
}

/** A call that waits until the user allows or denies it: what the tool does, why the user is asked, and its input, which can be changed. */
export default function Approval({ approval, runId, send, className, children }: ApprovalProps) {
  const labels = useAllLabels()
  const title = useId()
  const { sending, problem, approve, deny, mayAllowAlways } = useApproval(approval, runId, send)
  const fields = useMemo(() => fieldsOf(approval.input), [approval.input])
  const [texts, setTexts, forget] = useTexts(`${runId}:${approval.id}`)
  const [always, setAlways] = useState(false)
  const [shown, setShown] = useState(MOST_FIELDS)
  const values = fields.map((field) => valueOf(field, texts.get(field.key) ?? field.text))
  const changed = fields.some((field) => (texts.get(field.key) ?? field.text) !== field.text)
  const exact = isExact(approval.input)
  const digits = useChatState((state) => (exact ? null : writtenBy(state.run, approval)))
  const wrongWords = (value: unknown) => (value === undefined ? labels.approvalNoJson : isExact(value) ? '' : labels.approvalRounds)
  const wrong = exact && values.some((value) => wrongWords(value) !== '')
  const why = approvalReason(labels, approval.reason)
  // The service's own question names the tool, which the title says better.
  const words = approval.message.includes(approval.tool) ? firstSentence(approval.description) : approval.message
  return (
    <form
      className={classes('ct-approval', className)} data-waits data-tool={approval.tool} role="group" aria-label={labels.approvalTitle} aria-describedby={title}
      onSubmit={(e) => {
        e.preventDefault()
        if (!wrong) void approve({ ...(changed && { input: inputOf(approval.input, fields, values) }), always }).then(forget)
      }}
    >
      <p className="ct-approval-head" aria-hidden="true"><ShieldIcon /><span>{labels.approvalTitle}</span></p>
      <p className="ct-approval-title" id={title} dir="auto">{originOf(approval.tool) + titleOf({ title: approval.title, name: approval.tool })}</p>
      {words && <p className="ct-approval-words" dir="auto">{words}</p>}
      {why && <p className="ct-approval-why">{why}</p>}
      {fields.length > 0 && (
        <fieldset disabled={sending || !exact}>
          <legend className="ct-sr">{labels.approvalInput}</legend>
          {fields.slice(0, shown).map((field, i) => <FieldRow key={field.key} field={field} text={texts.get(field.key) ?? digits?.[i] ?? field.text} wrong={wrongWords(values[i])} onText={(text) => setTexts(new Map(texts).set(field.key, text))} />)}
          {fields.length > shown && <button type="button" className="ct-more" onClick={() => setShown(Infinity)}>{labels.showMore} ({fields.length - shown})</button>}
        </fieldset>
      )}
      {problem && <p className="ct-composer-problem" role="alert">{problem}</p>}
      {mayAllowAlways && <label className="ct-check"><input type="checkbox" checked={always} disabled={sending} onChange={(e) => setAlways(e.target.checked)} />{labels.approvalAlways}</label>}
      <div className="ct-row">
        <button type="submit" className="ct-button" data-style="primary" disabled={sending || wrong}>{changed ? labels.approveChanged : labels.approve}</button>
        <button type="button" className="ct-button" disabled={sending} onClick={() => void deny().then(forget)}>{labels.deny}</button>
      </div>
      {children}
    </form>
  )
}

/** Texts that were changed in inputs and not sent; a card is removed with the tray that shows it. */
const changes = perObject<ChatStore, Map<string, Texts>>(() => new Map())

/** Texts by the keys of their fields, which the model may have chosen. */
type Texts = ReadonlyMap<string, string>

/** The changed texts of one input, by their fields. They exist until the call is answered: `forget` is called with whether it was. */
function useTexts(key: string): [Texts, (texts: Texts) => void, (answered: boolean) => void] {
  const kept = changes(useChatStore())
  const [texts, setTexts] = useState(kept.get(key) ?? new Map<string, string>())
  const change = (next: Texts) => {
    setTexts(next)
    kept.set(key, next)
  }
  return [texts, change, (answered) => answered && kept.delete(key)]
}

/** Whether a value has only numbers that a browser reads without rounding them. */
function isExact(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isInteger(value) || Number.isSafeInteger(value)
  return typeof value !== 'object' || value === null || Object.values(value).every(isExact)
}

/** The texts of an input's fields with the digits that the model has written; null where these are not known. */
function writtenBy(run: RunView | null, { id, input }: ApprovalView): string[] | null {
  const messages = run?.fold.messages ?? []
  const call = messages.find((m) => m.type === 'approval' && m.props.approval_id === id)?.props.id
  const written = textOf(messages.findLast((m) => m.type === 'tool_call' && m.props.id === call)?.props.arguments)
  const marked = digitsOf(input, written)
  return marked === undefined ? null : fieldsOf(marked).map(({ kind, text }) => (kind === 'json' ? withDigits(text) : text.replace('\0', '')))
}

/** A value of an input as a field; an input that is not an object is one field with an empty key. */
interface Field {
  key: string
  kind: 'text' | 'number' | 'boolean' | 'json'
  text: string
}

function fieldsOf(input: unknown): Field[] {
  if (input === undefined || input === null) return []
  if (!isObject(input)) return [{ key: '', kind: 'json', text: jsonOf(input) }]
  return Object.entries(input).map(([key, value]) => {
    if (typeof value === 'string' && value.search(HIDDEN) < 0) return { key, kind: 'text', text: value }
    if (typeof value === 'number' || typeof value === 'boolean') return { key, kind: typeof value as 'number' | 'boolean', text: String(value) }
    return { key, kind: 'json', text: jsonOf(value) }
  })
}

/** Characters that are invisible or change the order of others, so that a text is not what it seems to be. Those that words and emoji need are not among them. */
const HIDDEN = /(?![\n\t\u061c\u200c-\u200f]|[\ufe00-\ufe0f]|\r\n)[\p{Cc}\p{Default_Ignorable_Code_Point}\u2028\u2029]/gu

/** JSON in which hidden characters are escaped. */
function jsonOf(value: unknown): string {
  return JSON.stringify(value, null, 2).replace(HIDDEN, (hidden) => hidden.split('').map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''))
}

/** The value of a field's text; undefined if it has none. */
function valueOf({ kind }: Field, text: string): unknown {
  if (kind === 'text') return text
  if (kind === 'boolean') return text === 'true'
  try {
    const value: unknown = JSON.parse(text)
    return kind === 'number' && typeof value !== 'number' ? undefined : value
  } catch {
    return undefined
  }
}

function inputOf(before: unknown, fields: Field[], values: unknown[]): unknown {
  return !isObject(before) ? values[0] : Object.fromEntries(fields.map((field, i) => [field.key, values[i]]))
}

/** Text from which on a field has several lines. */
const LONG = 60

/** Fields that are shown at first; all are sent. */
const MOST_FIELDS = 30

function FieldRow({ field, text, wrong, onText }: { field: Field; text: string; wrong: string; onText: (text: string) => void }) {
  const labels = useAllLabels()
  const [whole, setWhole] = useState(false)
  const cut = !whole && text.length > MAX_TYPED
  const name = field.key === '' ? labels.approvalInput : nameWords(field.key)
  if (field.kind === 'boolean') return <label className="ct-check"><input type="checkbox" checked={text === 'true'} onChange={(e) => onText(String(e.target.checked))} />{name}</label>
  const shared = { className: 'ct-input', value: cut ? text.slice(0, MAX_TYPED) : text, readOnly: cut, 'aria-invalid': wrong !== '' || undefined, dir: 'auto' as const }
  const lines = field.kind === 'json' || field.text.length > LONG || field.text.includes('\n')
  return (
    <>
      <label className="ct-field">
        <span>{name}</span>
        {lines
          ? <textarea {...shared} data-mono={field.kind === 'json' || undefined} rows={Math.min(8, text.split('\n').length + (field.kind === 'text' ? 1 : 0))} onChange={(e) => onText(e.target.value)} />
          : <input {...shared} inputMode={field.kind === 'number' ? 'decimal' : undefined} onChange={(e) => onText(e.target.value)} />}
        {wrong && <small role="alert">{wrong}</small>}
      </label>
      {cut && <button type="button" className="ct-more" onClick={() => setWhole(true)}>{labels.showMore}</button>}
    </>
  )
}

/** The name that the operator gave to the MCP server of a tool, which chose the rest of the tool's name itself: `shop__find` has "shop: ". */
function originOf(tool: string): string {
  const end = tool.indexOf('__')
  return end > 0 ? `${tool.slice(0, end)}: ` : ''
}

function firstSentence(words: string): string {
  return /^.{1,200}?[.!?](?=\s|$)/s.exec(words)?.[0] ?? words.slice(0, 200)
}

/** Why a call needs the user's approval, in words; empty for an unknown code. */
function approvalReason(labels: Labels, code: string): string {
  switch (code) {
    case 'tool_confirms':
      return labels.approvalConfirms
    case 'after_untrusted':
      return labels.approvalUntrusted
    case 'unseen_url':
      return labels.approvalUnseenUrl
    default:
      return ''
  }
}
