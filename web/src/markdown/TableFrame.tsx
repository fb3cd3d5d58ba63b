import { lazy, Suspense, useLayoutEffect, useRef, useState, type ReactNode } from 'react'
import { CloseIcon, DownloadIcon, ExpandIcon } from '../components/icons'
import { OWN_ESCAPE, takeEscape } from '../state/keys'
import { useLabels } from '../state/tray'
import { CopyButton, download } from './copy'
import { toCsv, toHtml, type Rows } from './grid'

const DataGrid = lazy(() => import('./DataGrid'))

/** The frame of a table: its name, and buttons that copy it, save it as CSV and open it in a window over the page. */
export function TableFrame({ rows, title, tools = true, children }: { rows: () => Rows; title: string; tools?: boolean; children: ReactNode }) {
  const labels = useLabels()
  const [open, setOpen] = useState(false)
  return (
    <div className="ct-frame ct-table-frame">
      <div className="ct-frame-head">
        <span dir="auto">{title}</span>
        {tools && (
          <span className="ct-frame-tools">
            <CopyButton label={labels.copyTable} what={() => ({ text: toCsv(rows()), html: toHtml(rows()) })} />
            <Tool label={labels.saveCsv} onClick={() => download('table.csv', new Blob([`\uFEFF${toCsv(rows())}`], { type: 'text/csv' }))}><DownloadIcon /></Tool>
            <Tool label={labels.expandTable} onClick={() => setOpen(true)}><ExpandIcon /></Tool>
          </span>
        )}
      </div>
      {children}
      {open && <Whole title={title} onClose={() => setOpen(false)}><Suspense fallback={<p className="ct-muted ct-center">{labels.loading}</p>}><DataGrid rows={rows()} label={title} /></Suspense></Whole>}
    </div>
  )
}

export function Tool({ label, onClick, pressed, children }: { label: string; onClick: () => void; pressed?: boolean; children: ReactNode }) {
  return <button type="button" className="ct-icon-button" aria-label={label} title={label} aria-pressed={pressed} onClick={onClick}>{children}</button>
}

/** A window over the page. */
export function Whole({ title, onClose, children }: { title: string; onClose: () => void; children: ReactNode }) {
  const labels = useLabels()
  const dialog = useRef<HTMLDialogElement>(null)
  const pressed = useRef<EventTarget>(null)
  // Once it is removed, it no longer gives the focus back to the button that opened it. React's
  // strict mode closes and opens it at once: the event of that comes when it is open again.
  useLayoutEffect(() => {
    const element = dialog.current
    element?.showModal?.()
    return () => element?.close?.()
  }, [])
  return (
    <dialog
      ref={dialog} className="ct-whole" aria-label={title} {...OWN_ESCAPE}
      // React passes both to what is around the window, such as a dialog of the page, which would close.
      onClose={(e) => {
        e.stopPropagation()
        if (!e.currentTarget.open) onClose()
      }}
      onCancel={(e) => e.stopPropagation()}
      onKeyDown={(e) => {
        if (takeEscape(e)) onClose()
      }}
      // A text that is selected from inside to beside the window ends in a click on the window.
      onPointerDown={(e) => (pressed.current = e.target)}
      onClick={(e) => e.target === e.currentTarget && pressed.current === e.target && onClose()}
    >
      <div className="ct-whole-head"><h2>{title}</h2><Tool label={labels.closeWhole} onClick={onClose}><CloseIcon /></Tool></div>
      <div className="ct-whole-body">{children}</div>
    </dialog>
  )
}
