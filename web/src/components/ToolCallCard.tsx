import { memo, useId, useState } from 'react'
import type { TrayLabels } from '../labels/tray'
import { cut } from '../state/values/cut'
import { classes, type PartProps } from '../state/slots'
import { doneWords, isBusy, titleOf } from '../state/values/trail'
import { useLabels } from '../state/tray'
import type { ToolView } from '../state/values/view'
import { ChevronIcon, ToolIcon, WarnIcon } from './icons'
import { ToolBody } from './laterParts'

export interface ToolCallCardProps extends PartProps {
  tool: ToolView
  /** Names the run, so that an output that was cut can be fetched whole. */
  runId?: string | undefined
  defaultOpen?: boolean | undefined
}

/** A tool call at the place of its marker: a line that opens to its input and output. */
export const ToolCallCard = memo(function ToolCallCard({ tool, runId, defaultOpen = false, className, children }: ToolCallCardProps) {
  const labels = useLabels()
  const [open, setOpen] = useState(defaultOpen)
  const body = useId()
  const busy = tool.status === 'running' || tool.status === 'preparing'
  const status = {
    preparing: labels.toolPreparing, waiting: labels.toolWaiting, running: labels.toolRunning, completed: tool.approved ? labels.toolAllowed : '', error: labels.toolFailed, denied: labels.toolDenied,
    cancelled: labels.toolCancelled,
  }[tool.status]
  const time = tool.status === 'completed' ? duration(tool.durationMs, labels) : ''
  return (
    <div className={classes('ct-tool', className)} data-status={tool.status} data-tool={tool.name}>
      <button type="button" className="ct-tool-head" aria-expanded={open} aria-controls={body} onClick={() => setOpen(!open)} title={tool.name}>
        <span className="ct-tool-icon">{busy ? <span className="ct-spinner" /> : tool.status === 'error' ? <WarnIcon /> : <ToolIcon />}</span>
        <span className="ct-tool-name" dir="auto">{tool.status === 'completed' ? doneWords(tool, 1) : titleOf(tool)}{isBusy(tool) && '…'}</span>
        <span className="ct-tool-note" dir="auto">{isBusy(tool) && tool.message ? tool.message : hint(tool)}</span>
        <span className="ct-tool-status">{[status, time].filter(Boolean).join(' · ')}</span>
        <span className="ct-chevron" data-open={open}><ChevronIcon /></span>
      </button>
      {tool.status === 'running' && (
        <div className="ct-progress" role="progressbar" aria-label={titleOf(tool)} aria-valuemin={0} aria-valuemax={100} aria-valuenow={tool.progress > 0 ? Math.round(tool.progress * 100) : undefined} data-known={tool.progress > 0}>
          <span style={{ transform: `scaleX(${tool.progress > 0 ? tool.progress : 0.3})` }} />
        </div>
      )}
      {open && <ToolBody id={body} tool={tool} runId={runId} />}
      {children}
    </div>
  )
})

/** The first argument, as a hint of what the call is about; an id says nothing to people, so the first text stands for it. */
function hint(tool: ToolView): string {
  if (typeof tool.input !== 'object' || tool.input === null) return ''
  const values = Object.values(tool.input)
  const first = values.find((v) => typeof v === 'string' || (typeof v === 'number' && v < 9e15))
  const shown = ID.test(String(first)) ? values.find((v) => typeof v === 'string' && !ID.test(v)) : first
  return shown === undefined ? '' : cut(String(shown), 80)
}

/** What no person has written: one long word of letters with digits among them. */
const ID = /^(?=.*\d)[\w-]{16,}$/

/** A duration that is worth showing, in words. */
export function duration(ms: number | undefined, labels: TrayLabels): string {
  if (!ms || ms < BRIEF) return ''
  return ms < 1000 ? labels.milliseconds(Math.round(ms)) : labels.seconds(Math.round(ms / 100) / 10)
}

/** Milliseconds below which the duration of a call is not shown. */
const BRIEF = 100
