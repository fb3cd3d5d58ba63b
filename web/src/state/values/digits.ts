/** Tells numbers from texts. */
const MARK = '\\u0000'

/**
 * An input whose numbers are marked texts, with the digits that the model has written: a browser rounds some numbers. Undefined
 * if it was not the model that wrote the input.
 */
export function digitsOf(input: unknown, written: string): unknown {
  try {
    if (JSON.stringify(JSON.parse(written)) !== JSON.stringify(input)) return undefined
    return JSON.parse(written.replace(/"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g, (part) => (part.startsWith('"') ? part : `"${MARK}${part}"`)))
  } catch {
    return undefined
  }
}

/** JSON of what digitsOf returns, with its numbers. */
export const withDigits = (json: string) => json.replace(/"\\u0000(.*?)"/g, '$1')
