import type { MessageFrame, Props } from '../../api/types'

/**
 * The delta rules of the dialect messages. Go has the same rules in app/apptest/delta, and both run the tables in
 * app/apptest/delta/testdata. Everything here is pure: arguments are never changed.
 */

/** Bounds the length of a path and the depth of a value. */
export const MAX_DEPTH = 32

export type DeltaAction = 'append' | 'replace' | 'merge' | 'set'

/** A frame that is not applied; the state is as it was. */
export class Refused extends Error {}

/** A message, folded from its frames so far. */
export interface Folded {
  id: string
  type: string
  props: Props
  block: string
  thread: string
  /** Set by message_end; later frames are refused. */
  closed: boolean
  /** How it ended: completed, partial, error or cancelled. */
  status?: string
  /** Sequence numbers of its first and its last frame. */
  first: number
  last: number
}

/** The messages of a stream in the order of their first frames. */
export interface Fold {
  messages: readonly Folded[]
  /** Number of the last chunk that was taken; chunks up to it are duplicates. */
  last: number
}

/** The state before the first frame. */
export const emptyFold: Fold = { messages: [], last: 0 }

/** Adds a frame. It throws Refused when the frame breaks the rules. */
export function fold(state: Fold, frame: MessageFrame): Fold {
  const seq = sequenceOf(frame)
  if (seq > 0 && seq <= state.last) return state
  const messages = foldMessages(state.messages, frame, seq)
  return { messages, last: Math.max(seq, state.last) }
}

/** The number in a chunk's id; 0 when there is none. */
export function sequenceOf(frame: MessageFrame): number {
  return Number(/^C(\d{1,15})$/.exec(frame.chunk_id ?? '')?.[1] ?? 0)
}

function foldMessages(messages: readonly Folded[], frame: MessageFrame, seq: number): readonly Folded[] {
  const props = (frame.props ?? {}) as Props
  if (!isObject(props)) throw new Refused('props are no object')
  if (frame.type === 'event') return closeMessage(messages, props)
  const at = frame.message_id ? messages.findLastIndex((m) => m.id === frame.message_id) : -1
  const old = messages[at]
  if (!old) return [...messages, begin(frame, props, seq)]
  return messages.with(at, { ...continued(old, frame, props), last: seq })
}

function begin(frame: MessageFrame, props: Props, seq: number): Folded {
  refuseUnsafe(props, 0)
  return {
    id: frame.message_id ?? '', type: frame.type, props, block: frame.block_id ?? '', thread: frame.thread_id ?? '',
    closed: false, first: seq, last: seq,
  }
}

function continued(old: Folded, frame: MessageFrame, props: Props): Folded {
  if (old.closed) throw new Refused(`message ${old.id} has ended`)
  if (old.type === frame.type || frame.type_change) {
    return { ...old, type: frame.type, props: applyDelta(old.props, frame.delta_path ?? '', frame.delta_action, props) }
  }
  if (frame.delta) throw new Refused(`message ${old.id} is ${old.type}, not ${frame.type}`)
  refuseUnsafe(props, 0)
  return { ...old, type: frame.type, props }
}

function closeMessage(messages: readonly Folded[], props: Props): readonly Folded[] {
  if (props.event !== 'message_end' || !isObject(props.data)) return messages
  const { message_id: id, status } = props.data
  const at = messages.findLastIndex((m) => m.id === id && m.id !== '')
  const old = messages[at]
  return old ? messages.with(at, { ...old, closed: true, ...(typeof status === 'string' && { status }) }) : messages
}

/**
 * Returns props with an action applied. With a path the value is the one at the same path in frame; without one the action
 * applies to each key of frame.
 */
export function applyDelta(props: Props, path: string, action: string | undefined, frame: Props): Props {
  const act = (action || 'append') as DeltaAction
  if (!['append', 'replace', 'merge', 'set'].includes(act)) throw new Refused(`unknown action ${action}`)
  refuseUnsafe(frame, 0)
  if (path === '') {
    const next: Props = { ...props }
    for (const key of Object.keys(frame)) next[key] = combine(props[key], Object.hasOwn(props, key), act, frame[key])
    return next
  }
  const keys = split(path)
  return update(props, true, keys, act, lookUp(frame, keys)) as Props
}

/** Splits a path: a.b[0].c or a.b.0.c, with or without "props." in front. */
function split(path: string): string[] {
  const keys = path.replace(/^props\./, '').replaceAll(']', '').replaceAll('[', '.').split('.')
  if (keys.length > MAX_DEPTH) throw new Refused(`the path is deeper than ${MAX_DEPTH}`)
  for (const key of keys) if (key === '' || forbidden(key)) throw new Refused(`the key "${key}" is not allowed`)
  return keys
}

function forbidden(key: string): boolean {
  return key === '__proto__' || key === 'constructor' || key === 'prototype'
}

/** Refuses values that are too deep, or have a key that is none for some readers. The other keys that paths may not have are names like any in data. */
function refuseUnsafe(value: unknown, depth: number): void {
  if (depth > MAX_DEPTH) throw new Refused(`the value is deeper than ${MAX_DEPTH}`)
  if (Array.isArray(value)) {
    for (const inner of value) refuseUnsafe(inner, depth + 1)
  } else if (isObject(value)) {
    for (const key of Object.keys(value)) {
      if (key === '__proto__') throw new Refused(`the key "${key}" is not allowed`)
      refuseUnsafe(value[key], depth + 1)
    }
  }
}

function lookUp(value: unknown, keys: string[]): unknown {
  let at = value
  for (const key of keys) {
    const n = indexOf(key)
    if (Array.isArray(at) && n >= 0 && n < at.length) at = at[n]
    else if (isObject(at) && Object.hasOwn(at, key)) at = at[key]
    else throw new Refused(`the frame has nothing under "${key}"`)
  }
  return at
}

/** The index that a key is, or -1. */
function indexOf(key: string): number {
  return /^(0|[1-9]\d*)$/.test(key) ? Number(key) : -1
}

/** Only set creates missing objects on the path. Lists grow by one at most. */
function update(node: unknown, there: boolean, keys: string[], action: DeltaAction, value: unknown): unknown {
  const [key, ...rest] = keys
  if (key === undefined) return combine(node, there, action, value)
  const n = indexOf(key)
  let into = node
  if (!there) {
    if (action !== 'set') throw new Refused(`there is nothing before "${key}"`)
    into = n >= 0 ? [] : {}
  }
  if (Array.isArray(into)) {
    if (n < 0 || n > into.length) throw new Refused(`"${key}" is no index of a list of ${into.length}`)
    const out = [...into]
    out[n] = update(into[n], n < into.length, rest, action, value)
    return out
  }
  if (isObject(into)) return { ...into, [key]: update(into[key], Object.hasOwn(into, key), rest, action, value) }
  throw new Refused(`what is before "${key}" has no keys`)
}

/** The action on one value. Where the kinds do not fit, the new value replaces the old. */
function combine(was: unknown, there: boolean, action: DeltaAction, value: unknown): unknown {
  if (!there) return value
  if (action === 'append') {
    if (typeof was === 'string' && typeof value === 'string') return was + value
    if (Array.isArray(was) && Array.isArray(value)) return [...was, ...value]
  }
  if (action === 'merge' && isObject(was) && isObject(value)) {
    const out: Props = { ...was }
    for (const key of Object.keys(value)) out[key] = combine(was[key], Object.hasOwn(was, key), 'merge', value[key])
    return out
  }
  return value
}

export function isObject(value: unknown): value is Props {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
