/** When something was written: the time, and the day if it is not today. */
export function Time({ at }: { at: string }) {
  const date = new Date(at)
  if (!(date.getTime() > 0)) return null
  const today = new Date().toDateString() === date.toDateString()
  const words = today ? date.toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' }) : date.toLocaleDateString(undefined, { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' })
  return <time className="ct-time" dateTime={at}>{words}</time>
}

/** The first words of a message: what its buttons are about. */
export function beginningOf(text: string): string | undefined {
  return text.replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/[*_`#>|~-]+/g, ' ').replace(/\s+/g, ' ').trim().slice(0, 60) || undefined
}
