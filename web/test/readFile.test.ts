import { describe, expect, it } from 'vitest'
import readFile from '../src/state/readFile'

const file = (name: string, type: string, ...bytes: number[]) => new File([new Uint8Array(bytes)], name, { type })
const codes = (text: string) => [...text].map((c) => c.charCodeAt(0))

describe('readFile', () => {
  it.each([
    ['a WebP image with the name of a JPEG image', file('a.jpg', 'image/jpeg', ...codes('RIFF\0\0\0\0WEBPVP8 ')), 'image/webp'],
    ['a PNG image without a type', file('a', '', ...codes('\x89PNG\r\n\x1a\n')), 'image/png'],
    ['a PDF file', file('a.png', 'image/png', ...codes('%PDF-1.7')), 'application/pdf'],
    ['text of a drawing', file('a.svg', 'image/svg+xml', ...codes('<svg/>')), 'text/plain'],
  ])('tells the type of %s by its first bytes', async (_, given, mime) => {
    expect((await readFile(given)).mime).toBe(mime)
  })

  it('refuses an image that models do not take', async () => {
    await expect(readFile(file('a.heic', 'image/heic', 0, 0, 0, 24, ...codes('ftypheic')))).rejects.toBe('kind')
  })
})
