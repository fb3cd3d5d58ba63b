import { useEffect, type RefObject } from 'react'

/** Parts that get the focus when a focused element inside them is removed. */
const PARTS = '.ct-panel, .ct-history, .ct-block'

/**
 * Restores the focus when the focused element in a box is removed, hidden or
 * disabled: a used button, a closed panel, a part that is loading again. The focus goes to the part that contained the
 * element, or to the element that `back` returns.
 */
export function useFocusKept(box: RefObject<HTMLElement | null>, back: () => HTMLElement | null | undefined): void {
  useEffect(() => {
    const element = box.current
    if (!element) return
    let last: HTMLElement | null = null
    let part: HTMLElement | null = null
    const focused = ({ target }: Event) => {
      last = target instanceof HTMLElement && element.contains(target) ? target : null
      part = last?.closest<HTMLElement>(PARTS) ?? null
    }
    const pressed = (e: PointerEvent) => {
      if (!e.composedPath().includes(element)) last = null
    }
    const look = () => {
      const active = document.activeElement
      if (!last || ((last.checkVisibility?.() ?? last.isConnected) && !last.matches(':disabled')) || (active !== null && active !== document.body && active !== last)) return
      last = null
      const to = part?.isConnected ? part : back()
      to?.focus({ preventScroll: true })
    }
    const changes = new MutationObserver(look)
    // It may be a shadow root, outside of which only its host has the focus.
    const root = element.getRootNode()
    root.addEventListener('focusin', focused)
    document.addEventListener('pointerdown', pressed, true)
    changes.observe(element, { childList: true, subtree: true, attributeFilter: ['disabled'] })
    return () => {
      root.removeEventListener('focusin', focused)
      document.removeEventListener('pointerdown', pressed, true)
      changes.disconnect()
    }
  }, [box, back])
}

/** Whether a field may take the focus by itself; on a phone that would bring up the keyboard. */
export function mayType(): boolean {
  return typeof matchMedia === 'undefined' || matchMedia('(hover: hover)').matches
}
