import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { ApiError } from '../api/errors'
import { createDocumentApi, type Block, type DocumentRecord } from '../api/documents'
import { problemWords } from '../labels'
import { useLabels } from '../state/ui'
import { useChatState, useChatStore } from '../state/context'
import { text, type RunView } from '../state/run'
import { writesDocument } from '../state/view'
import { partialTexts } from './partial'

export interface DocumentState {
  document: DocumentRecord | null
  /** Blocks in order, with what the run under way writes into them. */
  blocks: LiveBlock[]
  pending: number
  problem: string
  loading: boolean
  reload: () => Promise<void>
  /** What follows tells whether it was done; why not is in `problem`. */
  accept: (block: Block) => Promise<boolean>
  revert: (block: Block) => Promise<boolean>
  acceptAll: () => Promise<boolean>
  revertAll: () => Promise<boolean>
  edit: (block: Block, content: string) => Promise<boolean>
  remove: (block: Block) => Promise<boolean>
  move: (block: Block, afterId: string) => Promise<boolean>
  add: (type: string, content: string, afterId?: string) => Promise<boolean>
  rename: (title: string) => Promise<boolean>
}

export interface LiveBlock extends Block {
  /** Set while the model writes into it. */
  writing: boolean
}

/** A document with its blocks, kept up to date with the chat's run (spec 000, flows 1 to 3). */
export function useDocument(id: string | null): DocumentState {
  const store = useChatStore()
  const { run, isLoading } = useChatState()
  const api = useMemo(() => createDocumentApi(store.api), [store])
  const labels = useLabels()
  const latest = useRef(labels)
  latest.current = labels
  const [document, setDocument] = useState<DocumentRecord | null>(null)
  const [problem, setProblem] = useState('')
  const [loading, setLoading] = useState(false)
  const wanted = useRef(id)
  wanted.current = id

  const reload = useCallback(async () => {
    if (!id) return setDocument(null)
    setLoading(true)
    try {
      const read = await api.get(id)
      if (wanted.current === id) {
        setDocument(read)
        setProblem('')
      }
    } catch (error) {
      if (wanted.current === id) setProblem(error instanceof ApiError ? problemWords(latest.current, error) : latest.current.docFailed)
    } finally {
      setLoading(false)
    }
  }, [api, id])
  useEffect(() => void reload(), [reload])

  // What the run does to the document is known when a tool of it begins, ends, or a block is closed.
  const step = run ? stepsOf(run) : ''
  useEffect(() => {
    if (step !== '') void reload()
  }, [step, reload])
  const was = useRef(false)
  useEffect(() => {
    if (was.current && !isLoading) void reload()
    was.current = isLoading
  }, [isLoading, reload])

  const act = useCallback(async (doing: () => Promise<unknown>) => {
    let done = true
    try {
      await doing()
      setProblem('')
    } catch (error) {
      done = false
      const stale = error instanceof ApiError && error.status === 412
      setProblem(stale ? latest.current.docStale : problemWords(latest.current, error))
    }
    const kept = wanted.current
    if (kept) await api.get(kept).then((read) => wanted.current === kept && setDocument(read), () => undefined)
    return done
  }, [api])

  const blocks = useMemo(() => withLive(document, run), [document, run])
  return {
    document, blocks, problem, loading, reload,
    pending: (document?.blocks ?? []).filter((b) => b.state !== 'clean').length + (document?.new_title ? 1 : 0),
    accept: (b) => act(() => api.accept(b.id, b.revision)),
    revert: (b) => act(() => api.revert(b.id, b.revision)),
    acceptAll: () => act(() => api.acceptAll(id ?? '')),
    revertAll: () => act(() => api.revertAll(id ?? '')),
    edit: (b, content) => act(() => api.updateBlock(b.id, { content }, b.revision)),
    remove: (b) => act(() => api.removeBlock(b.id)),
    move: (b, after) => act(() => api.updateBlock(b.id, { after_block_id: after }, b.revision)),
    add: (type, content, after) => act(() => api.addBlock(id ?? '', { type, content, ...(after !== undefined && { after_block_id: after }) })),
    rename: (title) => act(() => api.rename(id ?? '', title)),
  }
}

const documentTools = new Set(['plan_document', 'write_block', 'edit_block', 'delete_block', 'move_block'])

/** Changes whenever a run has done something that the document has to be read again for. */
function stepsOf(run: RunView): string {
  const done = run.fold.messages.filter((m) => m.type === 'tool_result' && m.props.status !== 'running' && documentTools.has(text(m.props.name))).length
  const opened = run.blocks.filter((b) => b.type === 'document').length
  return done + opened === 0 ? '' : `${run.runId}:${done}:${opened}`
}

/** A text that the run writes into a block. */
interface Written {
  id: string
  type: string
  content: string
  writing: boolean
}

/** What a run writes: messages in blocks that name a block of the document, and calls whose arguments still come. */
export function writtenBy(run: RunView): Written[] {
  const written: Written[] = []
  for (const level of run.blocks) {
    const messages = run.fold.messages.filter((m) => m.block === level.id && writesDocument(run, m))
    if (messages.length > 0) written.push({ id: level.ref, type: messages[0]!.type, content: messages.map((m) => text(m.props.content)).join(''), writing: level.status === '' })
  }
  const done = new Set(run.fold.messages.filter((m) => m.type === 'tool_result' && m.props.status !== 'running').map((m) => m.props.id))
  for (const m of run.fold.messages) {
    if (m.type !== 'tool_call' || done.has(m.props.id) || !['write_block', 'edit_block'].includes(text(m.props.name))) continue
    const { block_id: id, type = '', content } = partialTexts(text(m.props.arguments))
    if (id && content !== undefined && !written.some((w) => w.id === id)) written.push({ id, type, content, writing: !m.closed })
  }
  return written
}

/** Lays what the run writes over what is stored. */
function withLive(document: DocumentRecord | null, run: RunView | null): LiveBlock[] {
  const blocks: LiveBlock[] = (document?.blocks ?? []).map((b) => ({ ...b, writing: false }))
  if (!run || !document) return blocks
  for (const { id, type, content, writing } of writtenBy(run)) {
    const at = blocks.findIndex((b) => b.id === id)
    const old = blocks[at]
    if (old && (writing || old.new !== content)) blocks[at] = { ...old, new: content, writing, type: type || old.type, state: old.current === undefined ? 'pending_new' : 'pending_edit' }
    else if (!old) blocks.push({ id, type: type || 'md', new: content, state: 'pending_new', position: '', revision: 0, writing })
  }
  return blocks
}
