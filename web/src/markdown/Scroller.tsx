import { useEffect, useRef, type ReactNode } from 'react'

export interface ScrollerProps {
  className: string
  label?: string
  /** The box is part of a line of text. */
  inline?: boolean
  children: ReactNode
  /** Called with whether the content is wider than the box. */
  onEdges?: (wide: boolean) => void
}

/** A box that scrolls, with a shade at each edge beyond which there is more content. */
export function Scroller({ className, label, inline = false, children, onEdges }: ScrollerProps) {
  const Box = inline ? 'span' : 'div'
  const box = useRef<HTMLDivElement & HTMLSpanElement>(null)
  const told = useRef(onEdges)
  useEffect(() => {
    told.current = onEdges
  })
  useEffect(() => {
    const element = box.current
    const frame = element?.parentElement
    if (!element || !frame) return
    const look = () => {
      const start = Math.abs(element.scrollLeft)
      const end = element.scrollWidth - element.clientWidth - start
      const [left, right] = element.scrollLeft < 0 || getComputedStyle(element).direction === 'rtl' ? [end, start] : [start, end]
      const edges = [
        left > 1 && 'left', right > 1 && 'right',
        element.scrollTop > 1 && 'top', element.scrollTop + element.clientHeight < element.scrollHeight - 1 && 'bottom',
      ].filter(Boolean).join(' ')
      if (frame.dataset.more !== edges) frame.dataset.more = edges
      told.current?.(element.scrollWidth > element.clientWidth + 1)
    }
    // The observer measures first: measuring here would force a layout.
    element.addEventListener('scroll', look, { passive: true })
    const sizes = new ResizeObserver(look)
    sizes.observe(element)
    if (element.firstElementChild) sizes.observe(element.firstElementChild)
    return () => {
      element.removeEventListener('scroll', look)
      sizes.disconnect()
    }
  }, [])
  return (
    <Box className="ct-scroll">
      <Box ref={box} className={className} tabIndex={0} role="group" aria-label={label}>{children}</Box>
    </Box>
  )
}
