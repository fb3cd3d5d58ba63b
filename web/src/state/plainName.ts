/** The name of a file without what cannot be seen: control characters, and those that change the direction of a text and make it look like another. */
export function plainName(name: string): string {
  return name.replace(/[\p{Cc}\p{Bidi_Control}]/gu, ' ').trim()
}
