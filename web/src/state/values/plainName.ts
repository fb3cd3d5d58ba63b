/**
 * The name of a file, of that many characters at most, without what cannot be seen or sent: control characters, halves of
 * characters, and those that change the direction of a text and make it look like another.
 */
export function plainName(name: string, longest: number): string {
  return [...name.replace(/[\p{Cc}\p{Cs}\p{Bidi_Control}]/gu, ' ').trim()].slice(0, longest).join('')
}
