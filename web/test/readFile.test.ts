import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ATTACHMENT_LIMITS } from '../src/state/values/files'
import readFile from '../src/components/composer/readFile'

const file = (name: string, type: string, ...bytes: number[]) => new File([new Uint8Array(bytes)], name, { type })
const codes = (text: string) => [...text].map((c) => c.charCodeAt(0))

const images = JSON.parse(readFileSync('../schemas/testdata/images.json', 'utf8')) as { name: string; base64: string; media: string }[]
const typed = (type: string) => images.map((row) => [row.name, type, row] as const)

describe('readFile', () => {
  it.each(['', 'image/png', 'image/webp', 'application/pdf'].flatMap(typed))('takes %s (called %j) for the image that the service takes it for', async (_, type, { base64, media }) => {
    const taken = await readFile(file('a', type, ...Buffer.from(base64, 'base64'))).then(({ mime }) => mime, () => '')
    expect(taken.startsWith('image/') ? taken : '').toBe(media)
  })

  it('takes a PDF file whose mark comes later, but no text about one', async () => {
    const late = codes('\r\njunk %PDF-1.4\xe2')
    expect((await readFile(file('a.pdf', 'application/pdf', ...late))).mime).toBe('application/pdf')
    await expect(readFile(file('a.bin', '', ...late))).rejects.toBe('kind')
    expect((await readFile(file('a.txt', 'text/plain', ...codes('about %PDF-')))).mime).toBe('text/plain')
  })

  it.each([
    ['a WebP image with the name of a JPEG image', file('a.jpg', 'image/jpeg', ...codes('RIFF\0\0\0\0WEBPVP8 ')), 'image/webp'],
    ['a PNG image without a type', file('a', '', ...codes('\x89PNG\r\n\x1a\n')), 'image/png'],
    ['a PDF file', file('a.png', 'image/png', ...codes('%PDF-1.7')), 'application/pdf'],
    ['text of a drawing', file('a.svg', 'image/svg+xml', ...codes('<svg/>')), 'text/plain'],
  ])('tells the type of %s by its first bytes', async (_, given, mime) => {
    expect((await readFile(given)).mime).toBe(mime)
  })

  it('names a file without what cannot be seen, and no longer than the service takes', async () => {
    expect((await readFile(file('a\u202Efdp\u0000.txt', '', ...codes('x')))).name).toBe('a fdp .txt')
    expect((await readFile(file(`${'n'.repeat(300)}.png`, 'image/png', ...codes('\x89PNG\r\n\x1a\n')))).name).toHaveLength(255)
    expect((await readFile(file(`${'n'.repeat(254)}😀😀`, '', ...codes('x')))).name).toBe(`${'n'.repeat(254)}😀`)
    expect((await readFile(file('a\ud83d.txt', '', ...codes('x')))).name).not.toContain('\ud83d')
  })

  it('gives a file a name and a type that the service takes', async () => {
    expect((await readFile(file(' \u0000', '', ...codes('x')))).name).toBe('file')
    expect((await readFile(file('a.csv', `text/${'x'.repeat(96)}`, ...codes('x')))).mime).toBe('text/csv')
  })

  it.each([
    ['UTF-16 of Windows', file('a.txt', 'text/plain', 0xff, 0xfe, 0xe4, 0, 0x3d, 0xd8, 0, 0xde), 'ä😀'],
    ['UTF-16 in the other order', file('a', '', 0xfe, 0xff, 0, 0xe4), 'ä'],
    ['UTF-8 with a mark', file('a.csv', '', 0xef, 0xbb, 0xbf, 0xc3, 0xa4), 'ä'],
    ['Windows-1252', file('a.csv', 'application/vnd.ms-excel', ...codes('Gr\xf6\xdfe;12\r\n')), 'Größe;12\r\n'],
    ['Windows-1252 that is called text', file('a.log', 'text/x-log', ...codes('caf\xe9')), 'café'],
  ])('reads a text in %s', async (_, given, content) => {
    expect((await readFile(given)).content).toBe(content)
  })

  it.each([
    ['a part of a letter', file('a.txt', 'text/plain', 0xff, 0xfe, 0xe4)],
    ['bytes called text', file('a.txt', 'text/plain', 0x50, 0x4b, 3, 4, 0xe4)],
    ['bytes without a known type', file('a.dat', '', ...codes('x\xe9'))],
    ['Cyrillic in Windows-1251', file('a.csv', 'text/csv', 0xcf, 0xf0, 0xe8, 0xe2, 0xe5, 0xf2, 0x3b, 0x31)],
    ['Japanese in Shift JIS', file('a.txt', 'text/plain', 0x82, 0xb1, 0x82, 0xf1, 0x82, 0xc9)],
    ['Chinese in GBK', file('a.txt', 'text/plain', 0xd6, 0xd0, 0xb9, 0xfa, 0xc8, 0xcb)],
    ['UTF-16 without a mark', file('a.txt', 'text/plain', 0x61, 0, 0x62, 0)],
    ['a mark alone', file('a.txt', 'text/plain', 0xff, 0xfe)],
  ])('refuses %s', async (_, given) => {
    await expect(readFile(given)).rejects.toBe('kind')
  })

  it('counts a text as it is sent', async () => {
    const half = file('a.txt', 'text/plain', ...new Uint8Array(ATTACHMENT_LIMITS.text / 2 + 1).fill(0xe9))
    await expect(readFile(half)).rejects.toBe('large')
  })

  it('refuses a folder, which has no type and cannot be read; the browser says why it cannot read a file', async () => {
    const unread = new DOMException('gone', 'NotFoundError')
    const broken = (type: string) => Object.assign(file('a', type), { arrayBuffer: () => Promise.reject(unread) })
    await expect(readFile(broken(''))).rejects.toBe('kind')
    await expect(readFile(broken('text/plain'))).rejects.toBe(unread)
  })

  it('refuses an image that models do not take', async () => {
    await expect(readFile(file('a.heic', 'image/heic', 0, 0, 0, 24, ...codes('ftypheic')))).rejects.toBe('kind')
  })
})
