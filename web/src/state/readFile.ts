import type { Attachment } from '../api/types'
import { ATTACHMENT_LIMITS } from './files'
import { plainName } from './plainName'

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

/** Reads a file for a request: text unchanged, images and PDF files in base64. It rejects with "large" or "kind". */
export default async function readFile(file: File): Promise<Attachment> {
  if (file.size > ATTACHMENT_LIMITS.bytes) return Promise.reject('large')
  // A folder cannot be read, and has no type.
  const bytes = new Uint8Array(await file.arrayBuffer().catch((error: unknown) => Promise.reject<ArrayBuffer>(file.type ? error : 'kind')))
  const name = plainName(file.name, MAX_NAME) || 'file'
  // The first bytes decide, because browsers tell a file's type by its name.
  const start = String.fromCharCode(...bytes.subarray(0, HEAD))
  const binary = BINARY.find(([, begins]) => begins.test(start))?.[0] ?? (file.type === PDF && start.includes('%PDF-') ? PDF : undefined)
  if (binary) return { name, mime: binary, content: base64(bytes) }
  try {
    const content = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    if (content === '' || content.includes('\0')) return Promise.reject('kind')
    if (bytes.length > ATTACHMENT_LIMITS.text) return Promise.reject('large')
    return { name, mime: textType(file), content }
  } catch {
    return Promise.reject('kind')
  }
}

function textType(file: File): string {
  if (file.type.startsWith('text/') && file.type.length <= MAX_TYPE) return file.type
  const known: Record<string, string> = { md: 'text/markdown', csv: 'text/csv', html: 'text/html', json: 'application/json' }
  return known[file.name.split('.').pop()?.toLowerCase() ?? ''] ?? 'text/plain'
}

function base64(bytes: Uint8Array): string {
  let text = ''
  for (let i = 0; i < bytes.length; i += 0x8000) text += String.fromCharCode(...bytes.subarray(i, i + 0x8000))
  return btoa(text)
}
