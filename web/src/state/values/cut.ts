/** The beginning of a text in so many code units, without half of a pair, which would be shown as an unknown character. */
export const cut = (text: string, length: number): string => text.slice(0, length).replace(/[\ud800-\udbff]$/, '')
