import { fireEvent, render, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { StrictMode } from 'react'
import { describe, expect, it } from 'vitest'
import { ChatProvider, ChatTray } from '../src'
import { splitLong, MAX_TYPED } from '../src/state/longText'
import { fakeApi, json, png } from './fakes'
import { chat, input, message, posts, settled, show } from './shown'

const words = (characters: number) => 'lorem 😀 '.repeat(Math.ceil(characters / 9)).slice(0, characters)
const chips = () => [...document.querySelectorAll('.ct-composer .ct-attachment bdi')].map((e) => e.textContent)

describe('a text that is too long for a field', () => {
  it('is parted into what was added and what was there', () => {
    const added = words(MAX_TYPED)
    expect(splitLong('before after', `before ${added}after`)).toEqual({ part: added, rest: 'before after' })
    expect(splitLong('', added + added)).toEqual({ part: added + added, rest: '' })
    expect(splitLong('Look: ', `${added} `)).toEqual({ part: `${added} `, rest: '' })
    const full = 'x'.repeat(MAX_TYPED)
    expect(splitLong(full, `${full}y`)).toEqual({ part: full, rest: 'y' })
    // The common beginning and end of both texts do not split a character.
    const { part, rest } = splitLong('😀', `😁${'x'.repeat(MAX_TYPED)}😂`)
    expect(() => [part, rest].map(encodeURIComponent)).not.toThrow()
  })

  it('becomes a file as it is set, and never stays in the field', async () => {
    const { calls, user } = show(() => undefined)
    const long = words(200_000)
    await user.type(input(), 'Look: ')
    fireEvent.change(input(), { target: { value: `Look: ${long}` } })
    await waitFor(() => expect(chips()).toEqual(['Long text.txt']))
    expect(input().value).toBe('Look: ')
    fireEvent.change(input(), { target: { value: 'Look: twice' } })
    await user.click(await settled())
    await waitFor(() => expect(posts(calls)[0]).toMatchObject({ message: 'Look: twice', attachments: [{ name: 'Long text.txt', mime: 'text/plain', content: long }] }))
  })

  it('is taken before it is in the field when it is pasted or dropped', async () => {
    show(() => undefined)
    const long = words(MAX_TYPED + 1)
    const event = new InputEvent('beforeinput', { inputType: 'insertFromPaste', data: long, bubbles: true, cancelable: true })
    fireEvent(input(), event)
    expect(event.defaultPrevented).toBe(true)
    await waitFor(() => expect(chips()).toEqual(['Long text.txt']))
    const second = new InputEvent('beforeinput', { inputType: 'insertFromDrop', data: long, bubbles: true, cancelable: true })
    fireEvent(input(), second)
    await waitFor(() => expect(chips()).toEqual(['Long text.txt', 'Long text 2.txt']))
    const short = new InputEvent('beforeinput', { inputType: 'insertFromPaste', data: 'short', bubbles: true, cancelable: true })
    fireEvent(input(), short)
    expect(short.defaultPrevented).toBe(false)
    expect(input().value).toBe('')
  })

  it('that is too long for a file too is refused with words, and what was typed stays', async () => {
    const { user } = show(() => undefined)
    await user.type(input(), 'mine')
    fireEvent.change(input(), { target: { value: `mine${words(1_000_000)}` } })
    expect((await screen.findByRole('alert')).textContent).toBe('Long text.txt is too large.')
    expect(input().value).toBe('mine')
    expect(chips()).toEqual([])
  })

  it('becomes one file when it is a draft, in strict mode too', async () => {
    sessionStorage.setItem(`chattray:k:draft:${JSON.stringify(['ada', '', null])}`, words(100_000))
    const { api } = fakeApi(({ path }) => (path === '/api/me' ? json({ user_id: 'ada', name: 'Ada', roles: [] }) : undefined))
    render(<StrictMode><ChatProvider api={api} storageKey="k"><ChatTray layout="sidebar" /></ChatProvider></StrictMode>)
    await waitFor(() => expect(chips()).toEqual(['Long text.txt']))
    expect(input().value).toBe('')
    expect(sessionStorage.getItem(`chattray:k:draft:${JSON.stringify(['ada', '', null])}`)).toBe(null)
  })

  it('is kept over a reload as the file that it has become, for its user and as far as a browser keeps it', async () => {
    const tray = (user: string) => {
      const { api } = fakeApi(({ path }) => (path === '/api/me' ? json({ user_id: user, name: user, roles: [] }) : undefined))
      return render(<ChatProvider api={api} storageKey="k"><ChatTray layout="sidebar" /></ChatProvider>)
    }
    const known = () => new Promise((resolve) => setTimeout(resolve))
    const ada = tray('ada')
    await known()
    fireEvent.change(input(), { target: { value: words(100_000) } })
    await waitFor(() => expect(chips()).toEqual(['Long text.txt']))
    ada.unmount()
    const grace = tray('grace')
    await known()
    expect(chips()).toEqual([])
    grace.unmount()
    const back = tray('ada')
    await waitFor(() => expect(chips()).toEqual(['Long text.txt']))
    await userEvent.upload(document.querySelector<HTMLInputElement>('input[type=file]')!, png('photo.png', 900_000))
    await waitFor(() => expect(chips()).toEqual(['Long text.txt', 'photo.png']))
    back.unmount()
    const last = tray('ada')
    expect((await screen.findByRole('alert')).textContent).toBe('Long text.txt, photo.png: not kept, please attach it again.')
    expect(chips()).toEqual([])
    fireEvent.change(input(), { target: { value: words(30_000) } })
    await waitFor(() => expect(chips()).toEqual(['Long text.txt']))
    await userEvent.click(screen.getByRole('button', { name: 'Remove: Long text.txt' }))
    last.unmount()
    tray('ada')
    await known()
    expect(chips()).toEqual([])
    expect(screen.queryByRole('alert')).toBeNull()
  })

  it('a file that is still read when the user becomes known is attached', async () => {
    let know = () => {}
    let read: (of: ArrayBuffer) => void = () => {}
    const known = new Promise<void>((resolve) => (know = resolve))
    const { api, calls } = fakeApi(({ path }) => (path === '/api/me' ? known.then(() => json({ user_id: 'ada', name: 'Ada', roles: [] })) : undefined))
    render(<StrictMode><ChatProvider api={api} storageKey="k"><ChatTray layout="sidebar" /></ChatProvider></StrictMode>)
    const file = new File([], 'notes.md')
    const reading = new Promise<ArrayBuffer>((resolve) => (read = resolve))
    const asked = new Promise<void>((resolve) => (file.arrayBuffer = () => (resolve(), reading)))
    fireEvent.change(document.querySelector('input[type=file]')!, { target: { files: [file] } })
    await asked
    await waitFor(() => expect(calls.some(({ path }) => path === '/api/me')).toBe(true))
    know()
    fireEvent.change(input(), { target: { value: 'typed' } })
    await waitFor(() => expect(sessionStorage.getItem(`chattray:k:draft:${JSON.stringify(['ada', '', null])}`)).toBe('typed'))
    read(new TextEncoder().encode('# Notes').buffer as ArrayBuffer)
    await waitFor(() => expect(chips()).toEqual(['notes.md']))
  })

  it('files keep the order in which they were chosen', async () => {
    let read: (of: ArrayBuffer) => void = () => {}
    show(() => undefined)
    const slow = new File([], 'a.md')
    const reading = new Promise<ArrayBuffer>((resolve) => (read = resolve))
    const asked = new Promise<void>((resolve) => (slow.arrayBuffer = () => (resolve(), reading)))
    fireEvent.change(document.querySelector('input[type=file]')!, { target: { files: [slow, new File(['# B'], 'b.md')] } })
    await asked
    await new Promise((resolve) => setTimeout(resolve))
    read(new TextEncoder().encode('# A').buffer as ArrayBuffer)
    await waitFor(() => expect(chips()).toEqual(['a.md', 'b.md']))
  })

  it('becomes a file of a question that is changed', async () => {
    const long = words(90_000)
    sessionStorage.setItem('chattray:k:conversation', '7')
    const { calls } = show((call) => (call.path.startsWith('/api/chats/7') ? chat([message('q1', 'user', long), message('a1', 'assistant', 'Yes.')]) : undefined), {}, 'k')
    const user = userEvent.setup()
    await user.click(await screen.findByRole('button', { name: 'Edit' }))
    const field = await screen.findByLabelText<HTMLTextAreaElement>('Edit message', { selector: 'textarea' })
    await waitFor(() => expect(document.querySelector('.ct-editing .ct-attachment bdi')?.textContent).toBe('Long text.txt'))
    expect(field.value).toBe('')
    await user.type(field, 'Shorter, please{Enter}')
    await waitFor(() => expect(posts(calls)[0]).toMatchObject({ message: 'Shorter, please', edit_message_id: 'q1', attachments: [{ content: long }] }))
  })
})

describe('a message', () => {
  it('of files alone can be sent', async () => {
    const { calls, user } = show(() => undefined)
    fireEvent.change(input(), { target: { value: words(30_000) } })
    await user.click(await settled())
    await waitFor(() => expect(posts(calls)[0]).toMatchObject({ message: 'See the attached file.', attachments: [{ name: 'Long text.txt' }] }))
  })

  it('that is long is in the page only as far as it is shown', async () => {
    sessionStorage.setItem('chattray:k:conversation', '7')
    const { user } = show((call) => (call.path.startsWith('/api/chats/7') ? chat([message('q1', 'user', words(90_000)), message('a1', 'assistant', 'Yes.')]) : undefined), {}, 'k')
    const more = await screen.findByRole('button', { name: 'Show more' })
    expect(document.querySelector('.ct-bubble')!.textContent!.length).toBeLessThan(5000)
    await user.click(more)
    expect(document.querySelector('.ct-bubble')!.textContent!.length).toBe(90_000)
  })
})
