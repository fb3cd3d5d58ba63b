import { useLayoutEffect, useState, type RefObject } from 'react'
import type { TrayLayout } from './ChatTray'

/** Widths in pixels: what a panel needs at least, what the page keeps beside one, and what it keeps where the panel moves it aside. */
const ROOM = { panel: 320, page: 200, pushed: 480, gaps: 52, answer: 400 }

export interface Room {
  /** The greatest width of a panel beside the tray; 0 where it would cover the answer. */
  panel: number
  /** The panel moves the page aside: there is room for both. */
  push: boolean
}

/** How much room there is beside the tray, of what the tray stands in: the window for one that floats, else its container. */
export function useRoom(root: RefObject<HTMLElement | null>, layout: TrayLayout, width: number): Room {
  const [space, setSpace] = useState(0)
  useLayoutEffect(() => {
    const container = layout === 'sidebar' ? root.current?.parentElement : document.documentElement
    if (!container) return
    const measure = () => setSpace(container.clientWidth)
    measure()
    const changes = new ResizeObserver(measure)
    changes.observe(container)
    return () => changes.disconnect()
  }, [root, layout])
  // What has no width is not laid out, as in a test.
  if (space === 0) return { panel: ROOM.pushed, push: false }
  const left = { tray: space - width - ROOM.gaps, sidebar: space - width, full: space - ROOM.answer }[layout]
  const panel = Math.max(0, layout === 'sidebar' ? left - ROOM.page : left)
  return { panel: panel < ROOM.panel ? 0 : panel, push: layout === 'sidebar' && left - ROOM.panel >= ROOM.pushed }
}
