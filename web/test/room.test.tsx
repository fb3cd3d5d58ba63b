import { act, cleanup, render } from '@testing-library/react'
import { useRef } from 'react'
import { afterEach, expect, it, vi } from 'vitest'
import { useRoom, type Room } from '../src/components/useRoom'

afterEach(() => {
  cleanup()
  vi.restoreAllMocks()
})

it('a floating tray has the width of its styles', async () => {
  const seen: Room[] = []
  function Floating() {
    const box = useRef<HTMLDivElement>(null)
    seen.push(useRoom(box, box, true, 'tray', false))
    return <div ref={box} />
  }
  vi.spyOn(document.documentElement, 'clientWidth', 'get').mockReturnValue(1100)
  vi.spyOn(HTMLElement.prototype, 'offsetWidth', 'get').mockReturnValue(600)
  await act(async () => void render(<Floating />))
  expect(seen.at(-1)).toMatchObject({ tray: 600, panel: 1100 - 600 - 52 })
})

it('a column of a shadow root has the room of its host', async () => {
  const seen: Room[] = []
  function Column() {
    const box = useRef<HTMLDivElement>(null)
    seen.push(useRoom(box, box, true, 'sidebar', false))
    return <div ref={box} />
  }
  const root = document.body.appendChild(document.createElement('div')).attachShadow({ mode: 'open' })
  vi.spyOn(root.host, 'clientWidth', 'get').mockReturnValue(360)
  await act(async () => void render(<Column />, { container: root as unknown as HTMLElement, baseElement: document.body }))
  expect(seen.at(-1)!.panel).toBe(0)
})
