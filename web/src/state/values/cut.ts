/** The beginning of a text in so many code units, without half of a pair, which would be shown as an unknown character. */
export const cut = (text: string, length: number): string => text.slice(0, length).replace(/[\ud800-\udbff]$/, '')

/** A text as it is sent: without space at its ends, and empty where nothing of it can be seen, which the service refuses. */
export const trimmed = (text: string): string => (/[^\s\u2800\p{Cc}\p{Cf}\p{DI}]/u.test(text) ? text.trim() : '')
