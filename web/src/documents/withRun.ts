import type { DocumentRecord } from '../api/documents'
import type { Folded } from '../state/values/delta'
import { text, type RunView } from '../state/values/run'
import { writesDocument } from '../state/values/view'
import { withdraw, type LiveBlock } from './liveBlock'
import { partialTexts } from './partial'

/** The frames of a run up to a number. */
export interface Frames {
  run: string
  last: number
}

export const noFrames: Frames = { run: '', last: 0 }

const documentTools = new Set(['plan_document', 'write_block', 'edit_block', 'delete_block', 'move_block'])

/** Changes whenever a run has done something for which the document has to be read again. */
export function stepsOf(run: RunView): string {
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
export function withdrawnBy(run: RunView): boolean {
  return run.withdrawn.some((w) => !w.again) || writtenBy(run).some((w) => w.withdrawn > 0)
}

/** What a run writes: messages in blocks that name a block of the document, and calls whose arguments are still arriving and are not shown as such messages. */
function writtenBy(run: RunView): Written[] {
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
export function withRun(still: readonly LiveBlock[], document: DocumentRecord | null, run: RunView | null, read: Frames): LiveBlock[] {
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
