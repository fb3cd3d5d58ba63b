import { act, cleanup, render } from '@testing-library/react'
import { useRef } from 'react'
import { afterEach, expect, it, vi } from 'vitest'
import { useRoom, type Room } from '../src/components/useRoom'

afterEach(cleanup)

it('a column of a shadow root has the room of its host', async () => {
  const seen: Room[] = []
  function Column() {
    const box = useRef<HTMLDivElement>(null)
    seen.push(useRoom(box, 'sidebar', false, 420))
    return <div ref={box} />
  }
  const root = document.body.appendChild(document.createElement('div')).attachShadow({ mode: 'open' })
  vi.spyOn(root.host, 'clientWidth', 'get').mockReturnValue(360)
  await act(async () => void render(<Column />, { container: root as unknown as HTMLElement, baseElement: document.body }))
  expect(seen.at(-1)!.panel).toBe(0)
})
