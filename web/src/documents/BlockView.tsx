import { memo, useRef, useState, type RefObject } from 'react'
import type { Block, DocumentRecord } from '../api/documents'
import type { Props } from '../api/types'
import { CheckIcon, CloseIcon, EditIcon } from '../components/icons'
import { TrashIcon } from '../components/laterIcons'
import { IconButton } from '../components/IconButton'
import type { Labels } from '../labels/tray'
import { useAllLabels } from '../state/allLabels'
import { useChatStore } from '../state/context'
import { OWN_ESCAPE, takeEscape } from '../state/keys'
import { text } from '../state/values/run'
import { MAX_EDITED, useKeptShort } from '../state/longText'
import { BlockContent } from './BlockContent'
import { firstWords, type Place } from './places'
import { RenderedDiff } from './RenderedDiff'
import type { LiveBlock } from './liveBlock'
import { isPlanned } from './undo'
import type { DocumentState } from './useDocument'

/** Moves the focus and the view to a part of a document. */
export function goTo(part: HTMLElement | null | undefined): void {
  part?.focus({ preventScroll: true })
  part?.scrollIntoView({ block: 'nearest' })
}

/** Names a block by its first words, or by its type. */
export function useName(): (block: Block) => string {
  const labels = useAllLabels()
  return (block) => (block.type === 'md' && firstWords(block)) || labels.blockName(block.type)
}

/** The label of a block's state. */
const words: Record<Block['state'], (labels: Labels) => string> = {
  clean: () => '', pending_new: (l) => l.blockNew, pending_edit: (l) => l.blockChanged, pending_delete: (l) => l.blockDeleted, pending_move: (l) => l.blockMoved,
}

interface BlockViewProps {
  block: LiveBlock
  document: DocumentRecord
  /** What is done with the block; a new value of it does not draw the block again. */
  state: RefObject<DocumentState>
  previous: string | null
  place?: Place<LiveBlock>
}

/** One block with its pending changes. */
export const BlockView = memo(function BlockView({ block, document, state, previous, place }: BlockViewProps) {
  const labels = useAllLabels()
  const nameOf = useName()
  const [view, setView] = useState<'new' | 'diff' | 'current'>('diff')
  const unsaved = useUnsaved(document).of(block.id)
  const [editing, setEditing] = useState(() => unsaved.read() !== undefined)
  const [removing, setRemoving] = useState(false)
  const remove = async () => {
    const text = unsaved.read()
    if (text) unsaved.keep({ ...text, content: text.begun })
    if (!(await state.current.remove(block)) && text) unsaved.keep(text)
    setRemoving(false)
  }
  const both = block.current !== undefined && block.new !== undefined
  const changed = both && (block.current !== block.new || block.new_meta !== undefined)
  const shown = block.writing || (!changed && view === 'diff') ? 'new' : view
  const planned = isPlanned(block)
  const waits = block.state !== 'clean' && !block.writing && !block.planned
  return (
    <section className="ct-block" data-state={block.state} data-block={block.id} data-writing={block.writing || undefined} data-planned={block.planned || undefined} data-waits={waits || undefined} tabIndex={-1} role="group" aria-label={nameOf(block)}>
      <div className="ct-block-bar">
        {block.writing ? <span className="ct-tag" data-tone="warning"><span className="ct-spinner" /> {labels.blockWriting}</span> : block.planned || planned ? <span className="ct-tag">{labels.blockPlanned}</span> : block.state !== 'clean' && <span className="ct-tag" data-tone={tones[block.state]}>{words[block.state](labels)}</span>}
        {place && waits && (
          <>
            {block.state !== 'pending_move' && <span className="ct-tag" data-tone="warning">{labels.blockMoved}</span>}
            <button type="button" className="ct-block-goes" onClick={(e) => goTo(e.currentTarget.closest('.ct-doc')?.querySelector<HTMLElement>(`[data-place="${CSS.escape(block.id)}"]`))}>{place.after ? labels.blockMovedAfter(nameOf(place.after)) : labels.blockMovedFirst}</button>
          </>
        )}
        {changed && waits && (
          <span className="ct-segmented">
            <button type="button" aria-pressed={shown === 'diff'} onClick={() => setView('diff')}>{labels.viewDiff}</button>
            <button type="button" aria-pressed={shown === 'new'} onClick={() => setView('new')}>{labels.viewNew}</button>
            <button type="button" aria-pressed={shown === 'current'} onClick={() => setView('current')}>{labels.viewCurrent}</button>
          </span>
        )}
        <span className="ct-spacer" />
        {block.writing && <button type="button" className="ct-button ct-small" onClick={() => void state.current.revert(block)}><CloseIcon />{labels.revert}</button>}
        {waits && (
          <span className="ct-doc-decide">
            <button type="button" className="ct-button ct-small" onClick={() => void state.current.revert(block)}><CloseIcon />{labels.revert}</button>
            {!planned && <button type="button" className="ct-button ct-small" data-style="primary" onClick={() => void state.current.accept(block)}><CheckIcon />{labels.accept}</button>}
          </span>
        )}
        {removing && (
          <span className="ct-row ct-block-sure" {...OWN_ESCAPE} role="group" aria-label={labels.blockRemoveSure} onKeyDown={(e) => takeEscape(e) && setRemoving(false)}>
            <span>{labels.blockRemoveSure}</span>
            <button type="button" className="ct-button ct-small" data-style="warning" autoFocus onClick={() => void remove()}>{labels.remove}</button>
            <button type="button" className="ct-button ct-small" onClick={() => setRemoving(false)}>{labels.cancel}</button>
          </span>
        )}
        {block.state === 'clean' && !removing && (
          <span className="ct-block-tools">
            {editable(block) && <IconButton label={labels.blockEdit} onClick={() => setEditing(true)}><EditIcon /></IconButton>}
            {previous !== null && <IconButton label={labels.blockUp} onClick={() => void state.current.move(block, previous)}>↑</IconButton>}
            <IconButton label={labels.blockRemove} onClick={() => setRemoving(true)}><TrashIcon /></IconButton>
          </span>
        )}
      </div>
      {editing ? (
        <EditBlock block={block} unsaved={unsaved} save={(content) => state.current.edit(block, content)} close={() => setEditing(false)} />
      ) : block.planned ? (
        <div className="ct-skeleton" aria-hidden="true"><span /><span /><span /></div>
      ) : planned ? (
        <p className="ct-muted" dir="auto">{text((block.meta?.plan as Props | undefined)?.heading)}</p>
      ) : shown === 'diff' && both ? (
        <RenderedDiff type={block.type} before={block.current ?? ''} after={block.new ?? ''} meta={block.meta} newMeta={block.new_meta} />
      ) : (
        <BlockContent type={block.type} content={(shown === 'current' ? block.current : (block.new ?? block.current)) ?? ''} meta={shown === 'current' ? block.meta : (block.new_meta ?? block.meta)} streaming={block.writing} />
      )}
    </section>
  )
})

const tones: Partial<Record<Block['state'], string>> = { pending_new: 'added', pending_edit: 'warning', pending_delete: 'invalid', pending_move: 'warning' }

function editable(block: Block): boolean {
  if ((block.current?.length ?? 0) > MAX_EDITED) return false
  return block.type === 'md' || block.type === 'csv' || block.type.startsWith('text') || block.type.endsWith('chart')
}

/** What is typed into the editor of a block, and the text with which that began. */
interface UnsavedText {
  type: string
  begun: string
  content: string
}

/** The text of one block that is not saved. */
interface Unsaved {
  read: () => UnsavedText | undefined
  keep: (text: UnsavedText) => void
}

/** The texts that the user is writing into blocks of a document, that of a new one under ''. They exist as long as the store, also while they are not shown. */
export function useUnsaved(document: DocumentRecord | null): { all: () => Map<string, UnsavedText>; of: (block: string) => Unsaved } {
  const { drafts } = useChatStore()
  const place = { user: '', tray: `edit ${JSON.stringify([document?.owner, document?.id])}`, chat: null }
  const all = () => new Map(JSON.parse(drafts.read(place) || '[]') as [string, UnsavedText][])
  const keep = (block: string, text: UnsavedText) => {
    const texts = all()
    if (text.content === text.begun) texts.delete(block)
    else texts.set(block, text)
    drafts.keep(place, texts.size > 0 ? JSON.stringify([...texts]) : '')
  }
  return { all, of: (block) => ({ read: () => all().get(block), keep: (text) => keep(block, text) }) }
}

/** The editor stays open until its content is stored, so that no text is lost. It shows what has changed in the block since it opened, before that is replaced. */
export function EditBlock({ block, unsaved, save, close }: { block: Block; unsaved: Unsaved; save: (content: string) => Promise<boolean>; close: () => void }) {
  const labels = useAllLabels()
  const [kept] = useState(unsaved.read)
  const [begun] = useState(kept?.begun ?? block.current ?? '')
  const [content, setContent] = useState(kept?.content ?? begun)
  const [saving, setSaving] = useState(false)
  const [problem, setProblem] = useState('')
  const field = useRef<HTMLTextAreaElement>(null)
  const set = (next: string) => {
    const fits = next.length <= MAX_EDITED
    setProblem(fits ? '' : `${labels.attachText} ${labels.attachTooLarge}`)
    if (!fits) return
    setContent(next)
    unsaved.keep({ type: block.type, begun, content: next })
  }
  const end = () => {
    unsaved.keep({ type: block.type, begun, content: begun })
    close()
  }
  useKeptShort(field, set, MAX_EDITED)
  return (
    <form className="ct-block-edit" onSubmit={(e) => {
      e.preventDefault()
      setSaving(true)
      void save(content).then((done) => {
        setSaving(false)
        if (done) end()
      })
    }}>
      <textarea ref={field} className="ct-input" {...(content === begun && OWN_ESCAPE)} value={content} readOnly={saving} rows={Math.min(20, content.split('\n').length + 2)} aria-label={labels.blockContent} autoFocus={!kept} dir="auto" onChange={(e) => set(e.target.value)} onKeyDown={(e) => content === begun && takeEscape(e) && end()} />
      {!saving && block.current !== undefined && block.current !== begun && (
        <>
          <p className="ct-composer-problem" role="alert">{labels.docStale}</p>
          <RenderedDiff type={block.type} before={begun} after={block.current} />
        </>
      )}
      {problem && <p className="ct-composer-problem" role="alert">{problem}</p>}
      <div className="ct-row">
        <button type="submit" className="ct-button ct-small" data-style="primary" disabled={saving}>{labels.save}</button>
        <button type="button" className="ct-button ct-small" onClick={end}>{labels.cancel}</button>
      </div>
    </form>
  )
}
