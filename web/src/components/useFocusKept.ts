import { useEffect, type RefObject } from 'react'

/** Parts that have the focus when what had it in them is gone. */
const PARTS = '.ct-panel, .ct-history, .ct-block'

/**
 * Brings the focus back that fell out of a box together with the element that had it: a button that is done with, a
 * panel that was closed. It goes to the part that the element stood in, or where `back` says.
 */
export function useFocusKept(box: RefObject<HTMLElement | null>, back: () => HTMLElement | null | undefined): void {
  useEffect(() => {
    const element = box.current
    if (!element) return
    let last: HTMLElement | null = null
    let part: HTMLElement | null = null
    const focused = ({ target }: FocusEvent) => {
      last = target instanceof HTMLElement && element.contains(target) ? target : null
      part = last?.closest<HTMLElement>(PARTS) ?? null
    }
    const pressed = ({ target }: PointerEvent) => {
      if (!element.contains(target as Node)) last = null
    }
    const look = () => {
      const active = document.activeElement
      if (!last || (last.isConnected && !last.matches(':disabled')) || (active !== null && active !== document.body && active !== last)) return
      last = null
      const to = part?.isConnected ? part : back()
      to?.focus({ preventScroll: true })
    }
    const changes = new MutationObserver(look)
    document.addEventListener('focusin', focused)
    document.addEventListener('pointerdown', pressed, true)
    changes.observe(element, { childList: true, subtree: true, attributeFilter: ['disabled'] })
    return () => {
      document.removeEventListener('focusin', focused)
      document.removeEventListener('pointerdown', pressed, true)
      changes.disconnect()
    }
  }, [box, back])
}

/** Whether a field may take the focus by itself; on a phone that would bring up the keyboard. */
export function mayType(): boolean {
  return typeof matchMedia === 'undefined' || matchMedia('(hover: hover)').matches
}
