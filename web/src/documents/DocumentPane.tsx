import { Fragment, useCallback, useEffect, useId, useMemo, useRef, useState, type KeyboardEvent, type ReactNode } from 'react'
import type { Block } from '../api/documents'
import { DocIcon, EditIcon, PlusIcon, RetryIcon } from '../components/icons'
import { IconButton } from '../components/IconButton'
import { Skeleton } from '../components/Skeleton'
import { useFocusKept } from '../components/useFocusKept'
import type { Labels } from '../labels/tray'
import { useAllLabels } from '../state/allLabels'
import { keepEscape, keyOf, OWN_ESCAPE, takeEscape } from '../state/keys'
import { useLatest } from '../state/useLatest'
import { trimmed } from '../state/values/cut'
import { LabelsProvider } from '../state/words'
import { BlockView, EditBlock, goTo, useName, useUnsaved } from './BlockView'
import { placesOf, type Place } from './places'
import type { LiveBlock } from './liveBlock'
import type { DocumentState } from './useDocument'

export interface DocumentPaneProps {
  state: DocumentState
  /** Shown above the blocks, beside the buttons for all. */
  toolbar?: ReactNode
  /** Shown under the title: the input for questions, such as DocumentAsk. */
  ask?: ReactNode
  theme?: 'auto' | 'light' | 'dark' | undefined
  /** Words that differ from those of the ChatProvider. */
  labels?: Partial<Labels> | undefined
  dir?: 'ltr' | 'rtl' | undefined
}

/** A document with what the model proposes: current beside new, accept and revert for each block and for all. */
export function DocumentPane({ labels, ...props }: DocumentPaneProps) {
  return <LabelsProvider labels={labels}><Pane {...props} /></LabelsProvider>
}

function Pane({ state, toolbar, ask, theme = 'auto', dir }: Omit<DocumentPaneProps, 'labels'>) {
  const labels = useAllLabels()
  const { document, blocks, pending, problem } = state
  const latest = useLatest(state)
  const pane = useRef<HTMLDivElement>(null)
  const back = useCallback(() => pane.current, [])
  useFocusKept(pane, back)
  useEffect(keepEscape, [])
  const why = useId()
  // The service accepts nothing of a document while a block of it is written. What is only planned would be accepted without its text.
  const written = blocks.some((b) => b.writing || b.planned)
  const places = useMemo(() => placesOf(blocks), [blocks])
  const afterOf = (id: string) => [...places.values()].flat().find((p) => p.block.id === id)
  const unsaved = useUnsaved(document)
  const [, draw] = useState(0)
  // What was typed into blocks that others have removed since can be added again.
  const lost = document ? [...unsaved.all()].filter(([id]) => id !== '' && blocks.every((b) => b.id !== id)) : []
  if (!document) {
    return <div ref={pane} className="ct-root" data-theme={theme} dir={dir}>{problem ? <p className="ct-note" data-tone="error" role="alert">{problem}</p> : state.loading && <Skeleton lines={9} />}</div>
  }
  return (
    <div ref={pane} className="ct-root ct-doc" data-theme={theme} data-long={blocks.length > LONG || undefined} dir={dir} tabIndex={-1} onKeyDown={(e) => review(e, state)}>
      <div className="ct-doc-bar">
        <Title state={state} />
        {toolbar && <div className="ct-own">{toolbar}</div>}
      </div>
      {problem && <p className="ct-note" data-tone="error" role="alert">{problem}</p>}
      {state.withdrawn && <p className="ct-doc-notice" role="status">{labels.docWithdrawn}</p>}
      {ask}
      {(pending > 0 || state.undoable) && (
        <div className="ct-doc-pending" data-done={pending === 0 || undefined}>
          <span role="status">{pending > 0 ? labels.docPending(pending) : labels.docDecided}</span>
          <span className="ct-doc-keys" aria-hidden="true">{pending > 0 && <><span><kbd>j</kbd> <kbd>k</kbd> {labels.keysNext}</span><span><kbd>a</kbd> {labels.accept}</span><span><kbd>r</kbd> {labels.revert}</span></>}</span>
          <span className="ct-doc-decide">
            {state.undoable && <button type="button" className="ct-button ct-small" aria-disabled={state.undoing} onClick={() => void state.undo()}><RetryIcon />{state.undoable === 'accept' ? labels.undoAccept : labels.undoRevert}</button>}
            {pending > 0 && <button type="button" className="ct-button ct-small" onClick={() => void state.revertAll()}>{labels.revertAll}</button>}
            {pending > 0 && <button type="button" className="ct-button ct-small" data-style="primary" disabled={written} aria-describedby={written ? why : undefined} onClick={() => void state.acceptAll()}>{labels.acceptAll}</button>}
          </span>
          {pending > 0 && written && <span id={why} className="ct-doc-why">{labels.docBeingWritten}</span>}
        </div>
      )}
      {blocks.length === 0 && <div className="ct-invite"><DocIcon /><strong>{labels.docEmpty}</strong>{labels.docInvite}</div>}
      {blocks.map((block, i) => (
        <Fragment key={block.id}>
          <Places of={places.get(i)} />
          <BlockView block={block} document={document} state={latest} previous={i === 0 ? null : (blocks[i - 2]?.id ?? '')} place={afterOf(block.id)} />
        </Fragment>
      ))}
      <Places of={places.get(blocks.length)} />
      {lost.map(([id, { type }]) => (
        <section className="ct-block" key={id} tabIndex={-1}>
          <p className="ct-composer-problem" role="alert">{labels.docStale}</p>
          <EditBlock block={newBlock(type)} unsaved={unsaved.of(id)} save={(content) => addTo(state, type, content)} close={() => draw((n) => n + 1)} />
        </section>
      ))}
      <AddBlock state={state} />
    </div>
  )
}

/** Blocks of a document from which on those that are out of sight are not laid out. */
const LONG = 60

/** Marks where blocks go that are proposed to be moved. A mark leads to its block. */
function Places({ of = [] }: { of?: Place<LiveBlock>[] }) {
  const labels = useAllLabels()
  const nameOf = useName()
  return of.map(({ block }) => (
    <button key={block.id} type="button" className="ct-place" data-place={block.id} onClick={(e) => goTo(e.currentTarget.closest('.ct-doc')?.querySelector<HTMLElement>(`[data-block="${CSS.escape(block.id)}"]`))}>
      {labels.blockMovedHere(nameOf(block))}
    </button>
  ))
}

/** Review by keyboard: j and k move through the pending changes, a accepts, r reverts, u undoes. Keys in a field are text. */
function review(e: KeyboardEvent<HTMLElement>, state: DocumentState): void {
  if (e.ctrlKey || e.metaKey || e.altKey || !(e.target instanceof HTMLElement) || e.target.closest('input, textarea, select, [contenteditable], [role=menu], dialog')) return
  const waiting = [...e.currentTarget.querySelectorAll<HTMLElement>('.ct-block[data-waits]')]
  const focused = e.target.closest<HTMLElement>('.ct-block')
  const at = focused ? waiting.indexOf(focused) : -1
  const key = keyOf(e)
  if (key === 'j') goTo(at >= 0 ? waiting[at + 1] : (waiting.find((b) => focused && focused.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING) ?? waiting[0]))
  else if (key === 'k') goTo(at >= 0 ? waiting[at - 1] : waiting.at(-1))
  else if (key === 'u') void state.undo()
  else if ((key === 'a' || key === 'r') && at >= 0) {
    const block = state.blocks.find((b) => b.id === focused?.dataset.block)
    goTo(waiting[at + 1] ?? waiting[at - 1])
    if (block) void (key === 'a' ? state.accept(block) : state.revert(block))
  } else return
  e.preventDefault()
}

function Title({ state }: { state: DocumentState }) {
  const labels = useAllLabels()
  const [editing, setEditing] = useState<string | null>(null)
  const document = state.document!
  const save = () => {
    const title = trimmed(editing ?? '')
    setEditing(null)
    if (title && title !== document.title) void state.rename(title)
  }
  if (editing !== null) {
    return (
      <form className="ct-doc-title" onSubmit={(e) => {
        e.preventDefault()
        save()
      }}>
        <input className="ct-input" value={editing} maxLength={200} autoFocus {...OWN_ESCAPE} aria-label={labels.docTitle} onChange={(e) => setEditing(e.target.value)} onBlur={save} onKeyDown={(e) => takeEscape(e) && setEditing(null)} />
      </form>
    )
  }
  return (
    <div className="ct-doc-title" dir="auto">
      <h2>{document.new_title && document.new_title !== document.title ? <span className="ct-diff"><del>{document.title}</del> <ins>{document.new_title}</ins></span> : document.title}</h2>
      <IconButton label={labels.docRename} onClick={() => setEditing(document.title)}><EditIcon /></IconButton>
    </div>
  )
}

const newBlock = (type: string): Block => ({ id: '', type, state: 'clean', position: '', revision: 0 })

const addTo = (state: DocumentState, type: string, content: string) => (content ? state.add(type, content) : Promise.resolve(true))

function AddBlock({ state }: { state: DocumentState }) {
  const labels = useAllLabels()
  const unsaved = useUnsaved(state.document).of('')
  const [open, setOpen] = useState(() => unsaved.read() !== undefined)
  if (!open) return <button type="button" className="ct-button ct-small ct-doc-add" onClick={() => setOpen(true)}><PlusIcon />{labels.blockAdd}</button>
  return (
    <section className="ct-block" tabIndex={-1}>
      <EditBlock block={newBlock('md')} unsaved={unsaved} save={(content) => addTo(state, 'md', content)} close={() => setOpen(false)} />
    </section>
  )
}
