import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { ApiError } from '../api/errors'
import { createDocumentApi, type Block, type DocumentRecord } from '../api/documents'
import { problemWords, type Labels } from '../labels/tray'
import { useAllLabels } from '../state/allLabels'
import { useChatState, useChatStore } from '../state/context'
import type { Folded } from '../state/delta'
import { text, type RunView } from '../state/run'
import { writesDocument } from '../state/view'
import type { SocketFold } from '../socket/chunks'
import { partialTexts } from './partial'
import { withChunks, withdraw, withdrawnIn } from './withChunks'
import { keep, keyOf, readKept, type Decided } from './keptDecisions'
import { applyAll, movedUp, pendingOf, placeOf, renamed, settleAll, undo, without, withProposals, type Decision, type Proposal } from './undo'

export interface DocumentState {
  document: DocumentRecord | null
  /** Blocks in order, with the text that the current run writes into them. */
  blocks: LiveBlock[]
  pending: number
  problem: string
  loading: boolean
  /** Whether the user, here or elsewhere, withdrew what the newest run was writing. */
  withdrawn: boolean
  reload: () => Promise<void>
  /** The following functions report whether they succeeded; `problem` has the reason if not. */
  accept: (block: Block) => Promise<boolean>
  revert: (block: Block) => Promise<boolean>
  acceptAll: () => Promise<boolean>
  revertAll: () => Promise<boolean>
  edit: (block: Block, content: string) => Promise<boolean>
  remove: (block: Block) => Promise<boolean>
  move: (block: Block, afterId: string) => Promise<boolean>
  add: (type: string, content: string, afterId?: string) => Promise<boolean>
  rename: (title: string) => Promise<boolean>
  /** The last decision, which can still be undone; null when there is none. */
  undoable: Decision['kind'] | null
  /** Undoes the last decision: its changes are pending again. It does nothing while `undoing`. */
  undo: () => Promise<boolean>
  /** Whether a decision is being undone: the next one waits until the document has been read again. */
  undoing: boolean
}

export interface LiveBlock extends Block {
  /** Set while the model writes into it. */
  writing: boolean
  /** Set while the block is only planned. */
  planned?: boolean
}

/** A document with its blocks, kept up to date with the chat's run, and with what a socket shows. */
export function useDocument(id: string | null, view?: SocketFold): DocumentState {
  const store = useChatStore()
  const { run, isLoading } = useChatState()
  // Another document, or the same for another user.
  const place = useMemo(() => ({ id, api: createDocumentApi(store.api) }), [store, id])
  const { api } = place
  const labels = useAllLabels()
  const latest = useRef(labels)
  const [found, setFound] = useState<{ place: object; document: DocumentRecord } | null>(null)
  const document = found?.place === place ? found.document : null
  const [problem, setProblem] = useState('')
  const [loading, setLoading] = useState(false)
  const { proposals, setProposals, decisions, setDecisions, title, setTitle, keepNow } = useDecided(place, document)
  const wanted = useRef(place)
  const steps = useRef(0)
  const [read, setRead] = useState(0)
  const frames = useRef<Read>(none)
  // Before the effects that read the document. A render that is not shown changes nothing.
  useEffect(() => {
    latest.current = labels
    wanted.current = place
    steps.current = view?.steps ?? 0
    frames.current = run ? { run: run.runId, last: run.fold.last } : none
  })
  const [readFrames, setReadFrames] = useState<Read>(none)
  const reads = useRef({ begun: 0, shown: 0 })
  /** Reads a document. The answer to an earlier read does not replace that to a later one. */
  const readNow = useCallback(async (from: typeof place) => {
    const number = ++reads.current.begun
    const upTo = steps.current
    const upToFrames = frames.current
    const now = await from.api.get(from.id ?? '')
    if (wanted.current !== from || number < reads.current.shown) return
    reads.current.shown = number
    setFound({ place: from, document: now })
    setRead(upTo)
    setReadFrames(upToFrames)
  }, [])
  const reload = useCallback(async () => {
    if (!place.id) return
    setLoading(true)
    try {
      await readNow(place)
      if (wanted.current === place) setProblem('')
    } catch (error) {
      if (wanted.current === place) setProblem(error instanceof ApiError ? problemWords(latest.current, error) : latest.current.docFailed)
    } finally {
      setLoading(false)
    }
  }, [place, readNow])
  useEffect(() => {
    setProblem('')
    void reload()
  }, [reload])

  // The document may have changed when a tool begins or ends, or a block is
  // closed.
  const step = run ? stepsOf(run) : ''
  useEffect(() => {
    if (step !== '') void reload()
  }, [step, reload])
  const told = view?.steps ?? 0
  useEffect(() => {
    if (told > 0) void reload()
  }, [told, reload])
  const was = useRef(false)
  useEffect(() => {
    if (was.current && !isLoading) void reload()
    was.current = isLoading
  }, [isLoading, reload])

  const act = useCallback(async (doing: () => Promise<unknown>) => {
    const from = wanted.current
    const tell = (words: string) => wanted.current === from && setProblem(words)
    let done = true
    try {
      await doing()
      tell('')
    } catch (error) {
      done = false
      tell(whyNot(latest.current, error))
    }
    if (wanted.current.id) await readNow(wanted.current).catch(() => undefined)
    return done
  }, [readNow])

  const proposed = useMemo(() => withProposals(document, proposals, title), [document, proposals, title])
  // What a run does not write stays the same object, so that it is not drawn with each of its frames.
  const still = useMemo(() => (proposed?.blocks ?? []).map((b) => ({ ...b, writing: false })), [proposed])
  const blocks = useMemo(() => withChunks(withLive(proposed, still, run, readFrames), proposed, view, read), [proposed, still, run, readFrames, view, read])
  const writing = new Set(blocks.filter((b) => b.writing).map((b) => b.id))
  const here = (block: Block) => proposals.find((p) => p.block.id === block.id && (document?.blocks ?? []).every((b) => b.id !== block.id || b.state === 'clean'))
  const pending = pendingOf(proposed?.blocks ?? [])

  const deciding = useRef(new Set<string>())
  /** Decides and remembers it, each change once; proposals of this page are carried out here, the others by the service. `all` is the document whose changes are all decided. */
  const decide = (decision: Decision, service: (() => Promise<unknown>) | null, ...all: string[]) => {
    const ids = [...decision.proposals.map((p) => p.block.id), ...all]
    ids.forEach((id) => deciding.current.add(id))
    return carryOut(decision, service).finally(() => ids.forEach((id) => deciding.current.delete(id)))
  }
  const carryOut = (decision: Decision, service: (() => Promise<unknown>) | null) => act(async () => {
    const own = decision.proposals.flatMap((p) => here(p.block) ?? [])
    await service?.()
    const ids = new Map<string, string>()
    const done: Proposal[] = decision.kind === 'accept' ? [] : own
    try {
      if (decision.kind === 'accept') await applyAll(api, id ?? '', own, proposals, document?.blocks ?? [], ids, done)
      if (decision.title) {
        if (decision.kind === 'accept' && !document?.new_title) await api.rename(id ?? '', decision.title.proposed)
        if (wanted.current === place) setTitle('')
      }
    } finally {
      if (wanted.current === place) setProposals((all) => without(all, done, ids))
    }
    // A second click may decide about nothing more, which cannot be undone.
    const decides = decision.proposals.length > 0 || decision.title !== undefined
    if (decides && wanted.current === place) setDecisions((all) => [...all, renamed(decision, ids)].slice(-MAX_DECISIONS))
  })
  const decideOne = (kind: Decision['kind'], block: Block) => {
    const one = pending.filter((p) => p.block.id === block.id)
    if (deciding.current.has(block.id)) return Promise.resolve(false)
    return decide({ kind, proposals: one }, here(block) ? null : () => api[kind](block.id, block.revision))
  }
  const decideAll = (kind: Decision['kind']) => {
    const all = id ?? ''
    if (deciding.current.has(all)) return Promise.resolve(false)
    const { title: old, new_title: next } = proposed ?? {}
    // An unfinished block cannot be proposed again.
    const whole = pending.filter((p) => !writing.has(p.block.id) && !deciding.current.has(p.block.id))
    return decide({ kind, proposals: whole, ...(old !== undefined && next && next !== old && { title: { old, proposed: next } }) }, () => settleAll(api, kind, { ...document!, blocks }, writing.size > 0), all)
  }
  const busy = useRef(false)
  const [undoing, setUndoing] = useState(false)
  const setBusy = (is: boolean) => setUndoing((busy.current = is))
  const takeBack = async () => {
    const last = decisions.at(-1)
    if (!last || !id || !document || busy.current) return false
    setBusy(true)
    const back = [...proposals]
    const left = [...last.proposals]
    let whole = false
    const and = (all: readonly Proposal[]) => {
      const again = back.slice(proposals.length)
      return [...all.filter((p) => again.every((b) => b.block.id !== p.block.id)), ...again]
    }
    // The page may be left before the end.
    const step = () => keepNow({ proposals: and(proposals), decisions: [], title: last.title?.proposed ?? title })
    return act(async () => {
      try {
        await undo(api, id, last, back, left, document, step)
        whole = true
      } finally {
        if (wanted.current === place) {
          if (whole && last.title) setTitle(last.title.proposed)
          // What failed is undone with the next try.
          setDecisions((all) => all.flatMap((d) => (d !== last ? d : whole ? [] : { ...last, proposals: left })))
          setProposals(and)
        }
      }
    }).finally(() => setBusy(false))
  }
  return {
    document: proposed, blocks, problem, loading, reload,
    withdrawn: withdrawnIn(view, id) || (run !== null && withdrawnBy(run)),
    pending: pending.length + (proposed?.new_title ? 1 : 0),
    accept: (b) => decideOne('accept', b),
    // Its revision changes while it is written, and an unfinished text need not
    // be restored.
    revert: (b) => (writing.has(b.id) ? act(() => api.revert(b.id)) : decideOne('revert', b)),
    acceptAll: () => decideAll('accept'),
    revertAll: () => decideAll('revert'),
    undoable: decisions.at(-1)?.kind ?? null,
    undo: takeBack,
    undoing,
    edit: (b, content) => act(() => api.updateBlock(b.id, { content }, b.revision)),
    remove: (b) => act(() => api.removeBlock(b.id, writing.has(b.id) ? undefined : b.revision)),
    // The service does not have the blocks that only this page proposes.
    move: (b, after) => {
      const at = blocks.findIndex((other) => other.id === b.id)
      const above = at > 0 && (blocks[at - 2]?.id ?? '') === after ? here(blocks[at - 1]!) : undefined
      if (above?.block.state !== 'pending_new') return act(() => api.updateBlock(b.id, { after_block_id: placeOf(after, proposals, new Map()) }, b.revision))
      setProposals((all) => movedUp(all, b.id, above))
      return Promise.resolve(true)
    },
    add: (type, content, after) => act(() => api.addBlock(id ?? '', { type, content, ...(after !== undefined && { after_block_id: after }) })),
    rename: (title) => act(() => api.rename(id ?? '', title)),
  }
}

/** Decisions that can be undone, one after the other. */
const MAX_DECISIONS = 50

/** The proposals of this page, its proposed title or an empty one, and the decisions that can be undone. They survive a reload of the tab. */
function useDecided(place: { id: string | null }, document: DocumentRecord | null) {
  const store = useChatStore()
  const [proposals, setProposals] = useState<readonly Proposal[]>([])
  const [decisions, setDecisions] = useState<readonly Decision[]>([])
  const [title, setTitle] = useState('')
  /** The document whose kept decisions have been read. */
  const [readFor, setReadFor] = useState<object | null>(null)
  useEffect(() => {
    setProposals([])
    setDecisions([])
    setTitle('')
    setReadFor(null)
  }, [place])
  useEffect(() => {
    if (!document) return
    const key = keyOf(store.keyOf(), document)
    if (readFor === place) return keep(key, document.revision, { proposals, decisions, title })
    const kept = readKept(key, document.revision)
    setProposals(kept.proposals)
    setDecisions(kept.decisions)
    setTitle(kept.title)
    setReadFor(place)
  }, [store, place, document, readFor, proposals, decisions, title])
  const keepNow = (now: Decided) => document && keep(keyOf(store.keyOf(), document), document.revision, now)
  return { proposals, setProposals, decisions, setDecisions, title, setTitle, keepNow }
}

const documentTools = new Set(['plan_document', 'write_block', 'edit_block', 'delete_block', 'move_block'])

/** The state of a document that was read: it includes the frames of a run up to a number. */
interface Read {
  run: string
  last: number
}

const none: Read = { run: '', last: 0 }

/** Why the service refused a request, in words. */
function whyNot(labels: Labels, error: unknown): string {
  if (error instanceof ApiError && error.status === 412) return labels.docStale
  if (error instanceof ApiError && error.code === 'being_written') return labels.docBeingWritten
  return problemWords(labels, error)
}

/** Changes whenever a run has done something for which the document has to be read again. */
function stepsOf(run: RunView): string {
  const done = run.fold.messages.filter((m) => hasRun(m) && documentTools.has(text(m.props.name))).length
  const opened = run.blocks.filter((b) => b.type === 'document').length
  const withdrawn = run.fold.messages.filter((m) => m.props.withdrawn === true).length + run.withdrawn.length
  return done + opened + withdrawn === 0 ? '' : `${run.runId}:${done}:${opened}:${withdrawn}`
}

/** Whether a message is a call that has run. */
const hasRun = (m: Folded) => m.type === 'tool_call' && typeof m.props.index === 'number' && m.closed

/** A text that the run writes into a block. */
interface Written {
  id: string
  type: string
  content: string
  writing: boolean
  /** The number of the frame that ended it; 0 while it is written. */
  end: number
  /** The number of the frame that withdrew it; 0 if none did. */
  withdrawn: number
}

/** Whether the user withdrew what a run was writing. */
function withdrawnBy(run: RunView): boolean {
  return run.withdrawn.some((w) => !w.again) || writtenBy(run).some((w) => w.withdrawn > 0)
}

/** What a run writes: messages in blocks that name a block of the document, and calls whose arguments are still arriving and are not shown as such messages. */
export function writtenBy(run: RunView): Written[] {
  const written = new Map<string, Written>()
  for (const level of run.blocks) {
    const messages = run.fold.messages.filter((m) => m.block === level.id && writesDocument(run, m))
    if (messages.length === 0 || (level.end > 0 && run.withdrawn.some((w) => w.ref === level.ref && w.at > level.end))) continue
    const withdrawn = messages.findLast((m) => m.props.withdrawn === true)?.last ?? 0
    written.set(level.ref, { id: level.ref, type: messages[0]!.type, content: messages.map((m) => text(m.props.content)).join(''), writing: level.status === '' && withdrawn === 0, end: level.end, withdrawn })
  }
  const done = new Set(run.fold.messages.filter(hasRun).map((m) => m.props.id))
  for (const m of run.fold.messages) {
    if (m.type !== 'tool_call' || m.props.streamed !== undefined || done.has(m.props.id) || !['write_block', 'edit_block'].includes(text(m.props.name))) continue
    const { block_id: id, type = '', content } = partialTexts(text(m.props.arguments))
    if (id && content !== undefined && !written.has(id)) written.set(id, { id, type, content, writing: !m.closed, end: 0, withdrawn: 0 })
  }
  return [...written.values()]
}

/** Overlays the stored blocks with what the run writes. Texts that had ended when the blocks were read are already in them, and may have been decided about. */
function withLive(document: DocumentRecord | null, still: readonly LiveBlock[], run: RunView | null, read: Read): LiveBlock[] {
  const blocks = [...still]
  if (!run || !document) return blocks
  for (const { id, type, content, writing, end, withdrawn } of writtenBy(run)) {
    if (end > 0 && withdrawn === 0 && read.run === run.runId && end <= read.last) continue
    const at = blocks.findIndex((b) => b.id === id)
    const old = blocks[at]
    if (withdrawn > 0) {
      if (read.run !== run.runId || read.last < withdrawn) withdraw(blocks, at)
    } else if (old && (writing || old.new !== content)) blocks[at] = { ...old, new: content, writing, type: type || old.type, state: old.current === undefined ? 'pending_new' : 'pending_edit' }
    else if (!old) blocks.push({ id, type: type || 'md', new: content, state: 'pending_new', position: '', revision: 0, writing })
  }
  return run.outcome ? blocks : blocks.map((b) => (b.state === 'pending_new' && !b.writing && !b.new ? { ...b, planned: true } : b))
}
