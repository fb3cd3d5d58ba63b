import type { Attachment } from '../../api/types'
import { ATTACHMENT_LIMITS } from '../../state/values/files'
import { plainName } from '../../state/values/plainName'

const PDF = 'application/pdf'

/** How the files begin that are sent in base64: images that models take, as the service tells them, and PDF files. */
const BINARY: readonly [mime: string, begins: RegExp][] = [
  ['image/png', /^\x89PNG\r\n\cZ\n/], ['image/jpeg', /^\xff\xd8\xff/], ['image/gif', /^GIF8[79]a/], ['image/webp', /^RIFF[^]{4}WEBPVP/],
  [PDF, /^%PDF-/],
]

/** The mark of a PDF file is in so many first bytes. */
const HEAD = 1024

/** Characters of a name and of a type that the service takes. */
const MAX_NAME = 255
const MAX_TYPE = 100

/** Reads a file for a request: text as such, images and PDF files in base64. It rejects with "large" or "kind". */
export default async function readFile(file: File): Promise<Attachment> {
  if (file.size > ATTACHMENT_LIMITS.bytes) return Promise.reject('large')
  // A folder cannot be read, and has no type.
  const bytes = new Uint8Array(await file.arrayBuffer().catch((error: unknown) => Promise.reject<ArrayBuffer>(file.type ? error : 'kind')))
  const name = plainName(file.name, MAX_NAME) || 'file'
  // The first bytes decide, because browsers tell a file's type by its name.
  const start = String.fromCharCode(...bytes.subarray(0, HEAD))
  const binary = BINARY.find(([, begins]) => begins.test(start))?.[0] ?? (file.type === PDF && start.includes('%PDF-') ? PDF : undefined)
  if (binary) return { name, mime: binary, content: base64(bytes) }
  const type = textType(file)
  const content = decode(bytes, type !== undefined)
  if (!content) return Promise.reject('kind')
  if (new Blob([content]).size > ATTACHMENT_LIMITS.text) return Promise.reject('large')
  return { name, mime: type ?? 'text/plain', content }
}

/** The text of a file: in UTF-8, in UTF-16 if it begins with that mark, or, in what is known to be text, in Windows-1252. Bytes that are no text give undefined. */
function decode(bytes: Uint8Array, known: boolean): string | undefined {
  const [first, second] = bytes
  const marked = first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8'
  for (const encoding of known && marked === 'utf-8' ? [marked, 'windows-1252'] : [marked]) {
    try {
      const text = new TextDecoder(encoding, { fatal: true }).decode(bytes)
      return (encoding === 'windows-1252' ? NO_TEXT : /\0/).test(text) ? undefined : text
    } catch {
      // Another encoding, or none.
    }
  }
  return undefined
}

/** What a text in Windows-1252 does not have: control characters, and words of other than ASCII letters, as a text in another script seems to have; a line may be drawn with one character. Every sequence of bytes can be read in it. */
// eslint-disable-next-line no-control-regex
const NO_TEXT = /[\0-\x08\x0e-\x1a\x1c-\x1f\x7f-\x9f]|(?:([^\0-\x7f])(?!\1)){5}/

function textType(file: File): string | undefined {
  if (file.type.startsWith('text/') && file.type.length <= MAX_TYPE) return file.type
  const known: Record<string, string> = { txt: 'text/plain', md: 'text/markdown', csv: 'text/csv', html: 'text/html', json: 'application/json' }
  return known[file.name.split('.').pop()?.toLowerCase() ?? '']
}

function base64(bytes: Uint8Array): string {
  let text = ''
  for (let i = 0; i < bytes.length; i += 0x8000) text += String.fromCharCode(...bytes.subarray(i, i + 0x8000))
  return btoa(text)
}
