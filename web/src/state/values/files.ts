import type { Attachment } from '../../api/types'

/** Limits of attachments: bytes of an image or a PDF file, of a text file and of all text files, and characters of all files as they are sent. The service checks them again. */
export const ATTACHMENT_LIMITS = { files: 10, bytes: 5 * 1024 * 1024, text: 256 * 1024, texts: 512 * 1024, characters: 7.5 * 1024 * 1024 }

/** Whether a file is sent as text, not in base64. */
export function isText({ mime }: Attachment): boolean {
  return mime !== 'application/pdf' && !mime.startsWith('image/')
}

/** The size of a file that is attached, in bytes. */
export function sizeOf(file: Attachment): number {
  return isText(file) ? new Blob([file.content]).size : Math.floor((file.content.replace(/=+$/, '').length * 3) / 4)
}
