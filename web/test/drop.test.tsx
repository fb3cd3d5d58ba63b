import { fireEvent, screen } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { show } from './shown'

describe('files that are dragged over the tray', () => {
  it('leave no cover behind, also when the element under the pointer was removed meanwhile', () => {
    const { container } = show(() => undefined)
    const box = container.querySelector('.ct-tray')!
    const part = box.appendChild(document.createElement('p'))
    const dataTransfer = { types: ['Files'], files: [] }
    const cover = () => screen.queryByText('Drop files to attach them')
    fireEvent.dragEnter(box, { dataTransfer })
    fireEvent.dragEnter(part, { dataTransfer })
    fireEvent.dragLeave(box, { dataTransfer })
    expect(cover()).not.toBeNull()
    part.remove()
    fireEvent.dragEnter(box, { dataTransfer })
    fireEvent.dragLeave(part, { dataTransfer })
    expect(cover()).not.toBeNull()
    fireEvent.dragLeave(box, { dataTransfer })
    expect(cover()).toBeNull()
  })

  it('keep their cover in a browser that enters the texts of an element too', () => {
    const { container } = show(() => undefined)
    const part = container.querySelector('.ct-tray')!.appendChild(document.createElement('p'))
    const text = part.appendChild(document.createTextNode('words'))
    const dataTransfer = { types: ['Files'], files: [] }
    const cover = () => screen.queryByText('Drop files to attach them')
    fireEvent.dragEnter(part, { dataTransfer })
    fireEvent.dragEnter(text, { dataTransfer })
    fireEvent.dragLeave(part, { dataTransfer })
    expect(cover()).not.toBeNull()
    fireEvent.dragLeave(text, { dataTransfer })
    expect(cover()).toBeNull()
  })
})
