import { useLayoutEffect, useState, type RefObject } from 'react'
import type { TrayLayout } from './ChatTray'

/** Widths in pixels: the minimum of a panel, the rest of the page beside it, the rest if the panel moves the page aside, and the width and the requirement of the list of chats. */
const ROOM = { panel: 320, page: 200, pushed: 480, gaps: 52, answer: 400, rail: 272, railed: 900 }

export interface Room {
  /** The greatest width of a panel beside the tray; 0 if it would cover the answer. */
  panel: number
  /** The panel moves the page aside: there is room for both. */
  push: boolean
  /** There is room for the list of chats beside the answer. */
  rail: boolean
  /** The width of the tray. */
  tray: number
}

/** The width of a tray that has not been open yet, in pixels, as in the styles. */
const usual = () => 26.25 * (Number.parseFloat(getComputedStyle(document.documentElement).fontSize) || 16)

/** How much room there is beside the tray in its surroundings: its container for a column of the page, else the window. The box of the tray is there while it is open. */
export function useRoom(root: RefObject<HTMLElement | null>, box: RefObject<HTMLElement | null>, open: boolean, layout: TrayLayout, fixed: boolean): Room {
  const [space, setSpace] = useState(0)
  const [tray, setTray] = useState(usual)
  useLayoutEffect(() => {
    const parent = root.current?.parentNode
    const container = layout !== 'sidebar' || fixed ? document.documentElement : parent instanceof ShadowRoot ? parent.host : root.current?.parentElement
    if (!container) return
    const measure = () => {
      setSpace(container.clientWidth)
      // The width is the styles' own, which a theme or the page may set. A tray that fills the page has none.
      if (box.current && layout !== 'full') setTray((before) => box.current?.offsetWidth || before)
    }
    measure()
    const changes = new ResizeObserver(measure)
    changes.observe(container)
    if (box.current) changes.observe(box.current)
    return () => changes.disconnect()
  }, [root, box, open, layout, fixed])
  // An element without a width is not laid out, as in a test.
  if (space === 0) return { panel: ROOM.pushed, push: false, rail: false, tray }
  const rail = layout === 'full' && space >= ROOM.railed
  const left = { tray: space - tray - ROOM.gaps, sidebar: space - tray, full: space - ROOM.answer - (rail ? ROOM.rail : 0) }[layout]
  const panel = Math.max(0, layout === 'sidebar' ? left - ROOM.page : left)
  return { panel: panel < ROOM.panel ? 0 : panel, push: layout === 'sidebar' && !fixed && left - ROOM.panel >= ROOM.pushed, rail, tray }
}
