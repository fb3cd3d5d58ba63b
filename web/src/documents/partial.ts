/**
 * The top-level strings of a JSON object that is still being written, the last
 * one possibly incomplete. The model writes a block's content into the
 * arguments of a call, so the content can be shown while it is written.
 */
export function partialTexts(json: string): Record<string, string> {
  const texts: Record<string, string> = {}
  let at = json.indexOf('{') + 1
  if (at === 0) return texts
  for (;;) {
    at = skip(json, at, /[\s,]/)
    if (json[at] !== '"') return texts
    const key = stringAt(json, at)
    at = skip(json, skip(json, key.end, /\s/) + 1, /\s/)
    if (!key.closed || at >= json.length) return texts
    if (json[at] === '"') {
      const value = stringAt(json, at)
      texts[key.text] = value.text
      at = value.end
    } else {
      at = valueEnd(json, at)
    }
  }
}

function skip(json: string, from: number, what: RegExp): number {
  let at = from
  while (at < json.length && what.test(json[at]!)) at++
  return at
}

/** The string that begins at a quote; an incomplete escape is left out. */
function stringAt(json: string, quote: number): { text: string; end: number; closed: boolean } {
  let end = quote + 1
  while (end < json.length && json[end] !== '"') end += json[end] === '\\' ? 2 : 1
  const closed = end < json.length
  const raw = json.slice(quote + 1, Math.min(end, json.length)).replace(closed ? /$^/ : /\\(?:u[0-9a-fA-F]{0,3})?$/, '')
  try {
    const text = JSON.parse(`"${raw}"`) as string
    return { text: closed ? text : text.replace(/[\uD800-\uDBFF]$/, ''), end: end + 1, closed }
  } catch {
    return { text: '', end: end + 1, closed }
  }
}

/** Where a number, word, list or object ends. */
function valueEnd(json: string, from: number): number {
  let depth = 0
  for (let at = from; at < json.length; at++) {
    const c = json[at]!
    if (c === '"') at = stringAt(json, at).end - 1
    else if (c === '{' || c === '[') depth++
    else if (depth > 0 && (c === '}' || c === ']')) depth--
    else if (depth === 0 && (c === ',' || c === '}')) return at
  }
  return json.length
}
