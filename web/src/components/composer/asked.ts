/** What the text before the caret asks for: a command after a `/` that begins the message, or something by name after an `@`. */
export interface Asked {
  kind: '/' | '@'
  query: string
  /** Where it begins in the text. */
  from: number
}

export function askedFor(text: string, caret: number): Asked | null {
  const match = /(^\/|(?<=^|\s)@)([\p{L}\p{N}_.-]{0,60})$/u.exec(text.slice(0, caret))
  return match ? { kind: match[1] as Asked['kind'], query: match[2]!.toLowerCase(), from: match.index } : null
}
