import { cut } from '../state/values/cut'

/** When something was written: the time, and the day if it is not today. */
export function Time({ at }: { at: string }) {
  const date = new Date(at)
  if (!(date.getTime() > 0)) return null
  const today = new Date().toDateString() === date.toDateString()
  return <time className="ct-time" dateTime={at}>{today ? clockOf(date) : dayOf(date, clock)}</time>
}

export const clock = { hour: '2-digit', minute: '2-digit' } as const

/** The time of the day. */
export const clockOf = (date: Date): string => written(date, clock)

/** The day and the month, and the year if it is another one than now. */
export function dayOf(date: Date, more?: Intl.DateTimeFormatOptions): string {
  const year = date.getFullYear() === new Date().getFullYear() ? undefined : 'numeric'
  return written(date, { day: 'numeric', month: 'short', year, ...more })
}

const formats = new Map<string, Intl.DateTimeFormat>()

/** These parts of a date; empty if it is none. To make a format for each, as toLocaleTimeString does, would take most of the time of drawing a long chat. */
function written(date: Date, parts: Intl.DateTimeFormatOptions): string {
  const key = JSON.stringify(parts)
  const format = formats.get(key) ?? new Intl.DateTimeFormat(undefined, parts)
  formats.set(key, format)
  return Number.isNaN(date.getTime()) ? '' : format.format(date)
}

/** The first words of a message: what its buttons are about. */
export function beginningOf(text: string): string | undefined {
  return cut(text.replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/[*_`#>|~-]+/g, ' ').replace(/\s+/g, ' ').trim(), 60) || undefined
}
