import { useEffect, useLayoutEffect, useMemo, useRef, useState, type ReactNode } from 'react'
import type { CustomPayload } from '../api/types'
import { Boundary } from '../state/Boundary'
import { useChatStore } from '../state/context'
import { whenSettled } from '../state/whenSettled'
import type { PayloadHandler } from './registry'
import type { SchemaResult, StandardSchema } from './standardSchema'
import type { Decided } from './useDecision'

export interface PayloadContentProps {
  payload: CustomPayload
  handler: PayloadHandler | undefined
  place: 'inline' | 'render'
  decide: (outcome: Decided, data?: unknown) => void
  close: () => void
  /** Called, before the browser paints, with whether the card has buttons of its own. */
  onOwnButtons: (own: boolean) => void
}

/** Whether a payload's card has buttons of its own, and a function to report it. If the handler does not say, it is known once the card has rendered. */
export function useOwnButtons(handler: PayloadHandler | undefined): [boolean, (own: boolean) => void] {
  const [seen, setSeen] = useState(false)
  return [handler?.ownButtons ?? seen, setSeen]
}

/** A payload as its handler shows it in this place; if the handler cannot show it, it is shown as JSON. */
export function PayloadContent({ payload, handler, place, decide, close, onOwnButtons }: PayloadContentProps) {
  const store = useChatStore()
  const checked = useChecked(handler, payload.data)
  const plain = <JsonCard value={payload.data} />
  const took = useRef(false)
  took.current = false
  useLayoutEffect(() => onOwnButtons(took.current))
  const show = handler?.[place] ?? handler?.render ?? handler?.inline
  if (!handler || !show || checked === 'misfit') return plain
  if (checked === 'checking') return null
  return (
    <Boundary key={payload.payload_id ?? payload.type} instead={plain} meanwhile={null}>
      <div className="ct-own">
        <Card render={() => show.call(handler, checked.data, {
          get onAccept() {
            took.current = true
            return (data?: unknown) => decide('accepted', data)
          },
          get onReject() {
            took.current = true
            return (data?: unknown) => decide('rejected', data)
          },
          outcome: payload.outcome, close, sendMessage: (message) => void store.sendMessage(message), payload,
        })} />
      </div>
    </Boundary>
  )
}

type Checked = { data: unknown } | 'misfit' | 'checking'

/** The data as the handler's schema returns it. A synchronous schema is called during the render. */
function useChecked(handler: PayloadHandler | undefined, data: unknown): Checked {
  const [late, setLate] = useState<{ of: unknown; result: Checked } | null>(null)
  const schema = handler?.schema
  const result = useMemo(() => (schema ? resultOf(schema, data) : null), [schema, data])
  useEffect(() => {
    if (!(result instanceof Promise)) return
    const take = (is: Checked) => setLate({ of: result, result: is })
    return whenSettled(result, (r) => take(checkedOf(r)), () => take('misfit'))
  }, [result])
  if (!result) return { data }
  if (result instanceof Promise) return late?.of === result ? late.result : 'checking'
  return checkedOf(result)
}

/** What a schema says; a schema that throws takes nothing. */
function resultOf(schema: StandardSchema, data: unknown) {
  try {
    return schema['~standard'].validate(data)
  } catch (error) {
    console.error(error)
    return { issues: [] }
  }
}

const checkedOf = (result: SchemaResult<unknown>): Checked => (result.issues ? 'misfit' : { data: result.value })

/** Calls render inside the error boundary, so that a payload whose card fails is shown as JSON. */
function Card({ render }: { render: () => ReactNode }) {
  return <>{render()}</>
}

/** Any data as formatted JSON. */
export function JsonCard({ value }: { value: unknown }) {
  return <pre className="ct-json" dir="ltr" tabIndex={0}>{JSON.stringify(value, null, 2)}</pre>
}
