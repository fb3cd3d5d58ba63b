/** The fields of a server-sent event that a reader needs. */
export interface SentEvent {
  id: string
  data: string
}

/**
 * Reads server-sent events from text that comes in pieces of any length: call the returned function with each piece. An event
 * without data, comments and other fields are skipped, and what follows the last empty line is dropped (HTML, 9.2.6).
 */
export function eventReader(take: (event: SentEvent) => void): (piece: string) => void {
  // Joined only when a line is complete: a long line may come in thousands of pieces.
  let line: string[] = []
  let id = ''
  let data: string[] = []
  return (piece) => {
    line.push(piece)
    if (!/[\r\n]/.test(piece)) return
    // A line feed may follow a carriage return at the end of a piece.
    const lines = line.join('').split(/\r\n|\n|\r(?!$)/)
    line = lines.splice(-1)
    for (const text of lines) {
      const [, field, value = ''] = /^([^:]*):? ?(.*)/s.exec(text)!
      if (field === 'data') data.push(value)
      if (field === 'id' && !value.includes('\0')) id = value
      if (text !== '') continue
      if (data.length > 0) take({ id, data: data.join('\n') })
      id = ''
      data = []
    }
  }
}
