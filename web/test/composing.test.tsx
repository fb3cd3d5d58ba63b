import { act, fireEvent, render, screen, waitFor } from '@testing-library/react'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it, vi } from 'vitest'
import { SidePanel } from '../src/components/SidePanel'
import { useShortcut } from '../src/components/useShortcut'
import { Whole } from '../src/markdown/TableFrame'
import { answerFrames, event, sse } from './fakes'
import { chat, input, live, message, posts, show } from './shown'

/** How browsers mark a key of a word that is being composed. */
const marks: [string, KeyboardEventInit][] = [['isComposing', { isComposing: true }], ['its code', { keyCode: 229 } as KeyboardEventInit]]

function press(target: EventTarget, key: string, mark: KeyboardEventInit = {}) {
  const pressed = new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...mark })
  for (const [name, value] of Object.entries(mark)) Object.defineProperty(pressed, name, { value })
  act(() => void target.dispatchEvent(pressed))
  return pressed
}

describe.each(marks)('a key of a word that is being composed, known by %s,', (_, mark) => {
  it('does not stop an answer', async () => {
    const { response, send } = live('run-1')
    const { user, calls } = show(({ path }) => (path.startsWith('/api/chat/stream') ? response : undefined))
    await user.type(input(), 'one{Enter}')
    act(() => send([event('stream_start', { run_id: 'run-1', conversation_id: 7 })]))
    await user.type(input(), 'ni')
    press(input(), 'Escape', mark)
    press(input(), 'Enter', mark)
    await user.type(input(), 'x')
    const cancels = () => calls.filter((c) => c.path.endsWith('/cancel'))
    expect(cancels()).toEqual([])
    expect(input().value).toBe('nix')
    press(input(), 'Escape')
    await waitFor(() => expect(cancels()).toHaveLength(1))
  })

  it('neither closes a changed question nor sends it', async () => {
    sessionStorage.setItem('chattray:k:conversation', '7')
    const { user, calls } = show(({ method, path }) => (path.startsWith('/api/chats/7') ? chat([message('q', 'user', 'x'), message('a', 'assistant', 'First.')]) : method === 'POST' ? sse(answerFrames('Second.')) : undefined), {}, 'k')
    await user.click(await screen.findByRole('button', { name: 'Edit' }))
    const field = await screen.findByRole('textbox', { name: 'Edit message' })
    press(field, 'Escape', mark)
    press(field, 'Enter', mark)
    expect(field.isConnected).toBe(true)
    expect(posts(calls)).toEqual([])
    press(field, 'Escape')
    expect(field.isConnected).toBe(false)
  })

  it('closes neither the name of a chat nor the list of chats, nor does Enter where nothing of the name can be seen', async () => {
    const { user, calls } = show(({ path }) => (path.startsWith('/api/chats') ? new Response(JSON.stringify({ items: [{ conversation_id: 7, chat_id: 'c', title: 'Seven', created_at: '', updated_at: '2026-01-01T00:00:00Z' }] })) : undefined))
    await user.click(screen.getByRole('button', { name: 'Chats' }))
    await user.click(await screen.findByRole('button', { name: 'Rename: Seven' }))
    const name = screen.getByRole('textbox', { name: 'Rename' })
    press(name, 'Escape', mark)
    fireEvent.change(name, { target: { value: '\u200b' } })
    await user.type(name, '{Enter}')
    expect([name.isConnected, calls.filter((c) => c.method === 'PATCH')]).toEqual([true, []])
    const search = screen.getByRole('searchbox')
    press(search, 'Escape', mark)
    expect(search.isConnected).toBe(true)
    press(search, 'Escape')
    expect(search.isConnected).toBe(false)
  })

  it.each([
    ['panel', (close: () => void) => <SidePanel title="Part" onClose={close}><input aria-label="Field" /></SidePanel>],
    ['window', (close: () => void) => <Whole title="Part" onClose={close}><input aria-label="Field" /></Whole>],
  ])('does not close a %s', async (_, part) => {
    const close = vi.fn()
    render(part(close))
    const field = screen.getByLabelText('Field')
    press(field, 'Escape', mark)
    expect(close).not.toHaveBeenCalled()
    press(field, 'Escape')
    expect(close).toHaveBeenCalledOnce()
  })

  it('is no key of the tray', () => {
    const show = vi.fn()
    function Tray() {
      useShortcut({ shortcut: 'Escape', root: { current: null }, input: { current: null }, shown: false, show })
      return null
    }
    render(<Tray />)
    expect(press(document.body, 'Escape', mark).defaultPrevented).toBe(false)
    press(document.body, 'Escape')
    expect(show).toHaveBeenCalledOnce()
  })
})

it('every part asks keyOf which key was pressed', () => {
  const read = (file: string) => readFileSync(`src/${file}`, 'utf8')
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file) && file !== 'state/keys.ts')
  expect(files.filter((file) => /\be(vent)?\.(key|code|keyCode|nativeEvent\.(key|code|keyCode|isComposing)|isComposing)\b/.test(read(file)))).toEqual([])
})
