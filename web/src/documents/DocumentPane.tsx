import { diffWordsWithSpace } from 'diff'
import { memo, useCallback, useMemo, useRef, useState, type ReactNode } from 'react'
import type { Block } from '../api/documents'
import { CheckIcon, CloseIcon, EditIcon, PlusIcon, TrashIcon } from '../components/icons'
import { IconButton } from '../components/IconButton'
import { useFocusKept } from '../components/useFocusKept'
import type { Labels } from '../labels'
import { useLabels } from '../state/ui'
import { LabelsProvider } from '../state/words'
import { BlockContent } from './BlockContent'
import type { DocumentState, LiveBlock } from './useDocument'

export interface DocumentPaneProps {
  state: DocumentState
  /** Shown above the blocks, beside the buttons for all. */
  toolbar?: ReactNode
  theme?: 'auto' | 'light' | 'dark'
  /** Words that differ from those of the ChatProvider. */
  labels?: Partial<Labels>
  dir?: 'ltr' | 'rtl'
}

/** A document with what the model proposes: current beside new, accept and revert for each block and for all. */
export function DocumentPane({ labels, ...props }: DocumentPaneProps) {
  return <LabelsProvider labels={labels}><Pane {...props} /></LabelsProvider>
}

function Pane({ state, toolbar, theme = 'auto', dir }: Omit<DocumentPaneProps, 'labels'>) {
  const labels = useLabels()
  const { document, blocks, pending, problem } = state
  const pane = useRef<HTMLDivElement>(null)
  const back = useCallback(() => pane.current, [])
  useFocusKept(pane, back)
  if (!document) {
    return <div ref={pane} className="ct-root" data-theme={theme} dir={dir}>{problem ? <p className="ct-note" data-tone="error" role="alert">{problem}</p> : <p className="ct-muted ct-center">{state.loading ? labels.loading : ''}</p>}</div>
  }
  return (
    <div ref={pane} className="ct-root ct-doc" data-theme={theme} dir={dir} tabIndex={-1}>
      <div className="ct-doc-bar">
        <Title state={state} />
        {toolbar && <div className="ct-own">{toolbar}</div>}
      </div>
      {problem && <p className="ct-note" data-tone="error" role="alert">{problem}</p>}
      {pending > 0 && (
        <div className="ct-doc-pending" role="status">
          <span>{labels.docPending(pending)}</span>
          <span className="ct-doc-decide">
            <button type="button" className="ct-button ct-small" onClick={() => void state.revertAll()}>{labels.revertAll}</button>
            <button type="button" className="ct-button ct-small" data-style="primary" onClick={() => void state.acceptAll()}>{labels.acceptAll}</button>
          </span>
        </div>
      )}
      {blocks.length === 0 && <p className="ct-muted ct-center">{labels.docEmpty}</p>}
      {blocks.map((block, i) => <BlockView key={block.id} block={block} state={state} previous={i === 0 ? null : (blocks[i - 2]?.id ?? '')} />)}
      <AddBlock state={state} />
    </div>
  )
}

function Title({ state }: { state: DocumentState }) {
  const labels = useLabels()
  const [editing, setEditing] = useState<string | null>(null)
  const document = state.document!
  const save = () => {
    const title = editing?.trim()
    setEditing(null)
    if (title && title !== document.title) void state.rename(title)
  }
  if (editing !== null) {
    return (
      <form className="ct-doc-title" onSubmit={(e) => {
        e.preventDefault()
        save()
      }}>
        <input className="ct-input" value={editing} maxLength={200} autoFocus aria-label={labels.docTitle} onChange={(e) => setEditing(e.target.value)} onBlur={save} onKeyDown={(e) => e.key === 'Escape' && setEditing(null)} />
      </form>
    )
  }
  return (
    <h2 className="ct-doc-title" dir="auto">
      {document.new_title && document.new_title !== document.title ? <span className="ct-diff"><del>{document.title}</del> <ins>{document.new_title}</ins></span> : document.title}
      <IconButton label={labels.docRename} onClick={() => setEditing(document.title)}><EditIcon /></IconButton>
    </h2>
  )
}

const words: Record<Block['state'], (labels: Labels) => string> = {
  clean: () => '', pending_new: (l) => l.blockNew, pending_edit: (l) => l.blockChanged, pending_delete: (l) => l.blockDeleted, pending_move: (l) => l.blockMoved,
}

const BlockView = memo(function BlockView({ block, state, previous }: { block: LiveBlock; state: DocumentState; previous: string | null }) {
  const labels = useLabels()
  const [view, setView] = useState<'new' | 'diff' | 'current'>('diff')
  const [editing, setEditing] = useState(false)
  const [removing, setRemoving] = useState(false)
  const both = block.current !== undefined && block.new !== undefined
  const shown = block.writing || (both && !diffable(block) && view === 'diff') ? 'new' : view
  return (
    <section className="ct-block" data-state={block.state} data-block={block.id} data-writing={block.writing || undefined} tabIndex={-1} aria-label={labels.blockName(block.type)}>
      <div className="ct-block-bar">
        {block.writing ? <span className="ct-tag" data-tone="warning"><span className="ct-spinner" /> {labels.blockWriting}</span> : block.state !== 'clean' && <span className="ct-tag" data-tone={tones[block.state]}>{words[block.state](labels)}</span>}
        {both && !block.writing && (
          <span className="ct-segmented">
            {diffable(block) && <button type="button" aria-pressed={shown === 'diff'} onClick={() => setView('diff')}>{labels.viewDiff}</button>}
            <button type="button" aria-pressed={shown === 'new'} onClick={() => setView('new')}>{labels.viewNew}</button>
            <button type="button" aria-pressed={shown === 'current'} onClick={() => setView('current')}>{labels.viewCurrent}</button>
          </span>
        )}
        <span className="ct-spacer" />
        {block.state !== 'clean' && !block.writing && (
          <span className="ct-doc-decide">
            <button type="button" className="ct-button ct-small" onClick={() => void state.revert(block)}><CloseIcon />{labels.revert}</button>
            <button type="button" className="ct-button ct-small" data-style="primary" onClick={() => void state.accept(block)}><CheckIcon />{labels.accept}</button>
          </span>
        )}
        {removing && (
          <span className="ct-row ct-block-sure" role="group" aria-label={labels.blockRemoveSure} onKeyDown={(e) => e.key === 'Escape' && setRemoving(false)}>
            <span>{labels.blockRemoveSure}</span>
            <button type="button" className="ct-button ct-small" data-style="warning" autoFocus onClick={() => void state.remove(block).then(() => setRemoving(false))}>{labels.remove}</button>
            <button type="button" className="ct-button ct-small" onClick={() => setRemoving(false)}>{labels.cancel}</button>
          </span>
        )}
        {block.state === 'clean' && !removing && (
          <span className="ct-block-tools">
            {editable(block) && <IconButton label={labels.blockEdit} onClick={() => setEditing(true)}><EditIcon /></IconButton>}
            {previous !== null && <IconButton label={labels.blockUp} onClick={() => void state.move(block, previous)}>↑</IconButton>}
            <IconButton label={labels.blockRemove} onClick={() => setRemoving(true)}><TrashIcon /></IconButton>
          </span>
        )}
      </div>
      {editing ? (
        <EditBlock block={block} save={(content) => state.edit(block, content)} close={() => setEditing(false)} />
      ) : shown === 'diff' && both ? (
        <WordDiff before={block.current ?? ''} after={block.new ?? ''} />
      ) : (
        <BlockContent type={block.type} content={(shown === 'current' ? block.current : (block.new ?? block.current)) ?? ''} meta={shown === 'current' ? block.meta : (block.new_meta ?? block.meta)} streaming={block.writing} />
      )}
    </section>
  )
})

const tones: Partial<Record<Block['state'], string>> = { pending_new: 'added', pending_edit: 'warning', pending_delete: 'invalid', pending_move: 'warning' }

function diffable(block: Block): boolean {
  return block.type === 'md' || block.type === 'csv' || block.type.startsWith('text')
}

function editable(block: Block): boolean {
  return diffable(block) || block.type.endsWith('chart')
}

/** The words that differ. Texts too long for it are shown one under the other. */
function WordDiff({ before, after }: { before: string; after: string }) {
  const changes = useMemo(() => (before.length + after.length > DIFF_LIMIT ? undefined : diffWordsWithSpace(before, after, { timeout: 500 })), [before, after])
  return (
    <div className="ct-diff" dir="auto">
      {changes ? changes.map((c, i) => (c.added ? <ins key={i}>{c.value}</ins> : c.removed ? <del key={i}>{c.value}</del> : <span key={i}>{c.value}</span>)) : <><del>{before}</del><ins>{after}</ins></>}
    </div>
  )
}

/** Characters of both texts up to which words are compared. */
const DIFF_LIMIT = 200_000

/** Stays open until its content is kept, so that nothing that was written is lost. */
function EditBlock({ block, save, close }: { block: Block; save: (content: string) => Promise<boolean>; close: () => void }) {
  const labels = useLabels()
  const [content, setContent] = useState(block.current ?? '')
  const [saving, setSaving] = useState(false)
  return (
    <form className="ct-block-edit" onSubmit={(e) => {
      e.preventDefault()
      setSaving(true)
      void save(content).then((done) => {
        setSaving(false)
        if (done) close()
      })
    }}>
      <textarea className="ct-input" value={content} rows={Math.min(20, content.split('\n').length + 2)} aria-label={labels.blockContent} autoFocus dir="auto" onChange={(e) => setContent(e.target.value)} onKeyDown={(e) => e.key === 'Escape' && content === (block.current ?? '') && close()} />
      <div className="ct-row">
        <button type="submit" className="ct-button ct-small" data-style="primary" disabled={saving}>{labels.save}</button>
        <button type="button" className="ct-button ct-small" onClick={close}>{labels.cancel}</button>
      </div>
    </form>
  )
}

function AddBlock({ state }: { state: DocumentState }) {
  const labels = useLabels()
  const [open, setOpen] = useState(false)
  if (!open) return <button type="button" className="ct-button ct-small ct-doc-add" onClick={() => setOpen(true)}><PlusIcon />{labels.blockAdd}</button>
  return (
    <section className="ct-block" tabIndex={-1}>
      <EditBlock block={{ id: '', type: 'md', state: 'clean', position: '', revision: 0 }} save={(content) => (content ? state.add('md', content) : Promise.resolve(true))} close={() => setOpen(false)} />
    </section>
  )
}
