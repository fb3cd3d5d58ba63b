import type { KeyboardEvent, PointerEvent, RefObject } from 'react'
import { keyOf } from '../state/keys'

/** Limits of a width that is dragged, in pixels. */
const WIDTH_LIMITS = { min: 320, max: 1200, step: 24 }

/** Makes a handle that changes the width of a box by pointer or arrow keys; `edge` is the side of the handle. */
export function useDrag(box: RefObject<HTMLElement | null>, edge: 'left' | 'right', width: number, setWidth: (width: number) => void) {
  const sign = () => {
    const rtl = box.current !== null && getComputedStyle(box.current).direction === 'rtl'
    return (edge === 'left') !== rtl ? -1 : 1
  }
  const limited = (to: number) => setWidth(Math.round(Math.max(WIDTH_LIMITS.min, Math.min(to, WIDTH_LIMITS.max))))
  const onPointerDown = (down: PointerEvent<HTMLElement>) => {
    if (down.button !== 0 || !box.current) return
    down.preventDefault()
    const handle = down.currentTarget
    const from = down.clientX
    const before = box.current.getBoundingClientRect().width
    const direction = sign()
    const move = (e: globalThis.PointerEvent) => limited(before + direction * (e.clientX - from))
    handle.setPointerCapture(down.pointerId)
    handle.addEventListener('pointermove', move)
    handle.addEventListener('lostpointercapture', () => handle.removeEventListener('pointermove', move), { once: true })
  }
  const onKeyDown = (e: KeyboardEvent<HTMLElement>) => {
    const key = keyOf(e)
    if ((key !== 'ArrowLeft' && key !== 'ArrowRight') || !box.current) return
    e.preventDefault()
    const step = (key === 'ArrowRight' ? 1 : -1) * WIDTH_LIMITS.step
    limited(box.current.getBoundingClientRect().width + sign() * step)
  }
  return { onPointerDown, onKeyDown, 'aria-valuemin': WIDTH_LIMITS.min, 'aria-valuemax': WIDTH_LIMITS.max, 'aria-valuenow': width }
}
