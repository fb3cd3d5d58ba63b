import { memo, useId, useState, type ReactNode } from 'react'
import { isBusy, trailTime, trailWords } from '../state/values/trail'
import { useLabels } from '../state/tray'
import type { ToolView } from '../state/values/view'
import { ChevronIcon, ToolIcon, WarnIcon } from './icons'
import { duration } from './ToolCallCard'

/** Successive calls in one line, which opens to the calls. While one runs, the line says what it does. */
export const Trail = memo(function Trail({ tools, children }: { tools: ToolView[]; children: ReactNode }) {
  const labels = useLabels()
  const [open, setOpen] = useState(false)
  const body = useId()
  const busy = tools.some(isBusy)
  const failed = tools.some((tool) => tool.status === 'error')
  const time = busy ? '' : duration(trailTime(tools), labels)
  const note = busy ? (tools.findLast(isBusy)?.message ?? '') : ''
  return (
    <div className="ct-trail" data-busy={busy || undefined} data-failed={failed || undefined}>
      <button type="button" className="ct-trail-head" aria-expanded={open} aria-controls={body} onClick={() => setOpen(!open)}>
        <span className="ct-tool-icon">{busy ? <span className="ct-spinner" /> : failed ? <WarnIcon /> : <ToolIcon />}</span>
        <span className="ct-trail-words" dir="auto">{trailWords(tools, labels)}</span>
        {note && <span className="ct-tool-note">{note}</span>}
        {time && <span className="ct-tool-status">{time}</span>}
        <span className="ct-chevron" data-open={open}><ChevronIcon /></span>
      </button>
      {open && <div className="ct-trail-body" id={body}>{children}</div>}
    </div>
  )
})
