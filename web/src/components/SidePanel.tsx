import { useEffect, useLayoutEffect, useRef, type ReactNode, type RefObject } from 'react'
import { OWN_ESCAPE, takeEscape } from '../state/keys'
import { useAllLabels } from '../state/allLabels'
import { CloseIcon } from './icons'
import { IconButton } from './IconButton'
import { useStateOf } from '../state/useStateOf'
import { useDrag } from './useDrag'

/** The panel beside the tray, or within it above the answer if there is no room. Escape closes it; its edge can be dragged. */
export function SidePanel({ title, width, focus = true, onClose, footer, children }: { title: string; width?: string; focus?: boolean; onClose: () => void; footer?: ReactNode; children: ReactNode }) {
  const labels = useAllLabels()
  const panel = useRef<HTMLElement>(null)
  // Another width replaces the one that was dragged.
  const [size, setSize] = useStateOf<number | null>(width, null)
  const drag = useDrag(panel, 'left', size ?? (Number.parseInt(width ?? '', 10) || 480), setSize)
  useFocusLent(panel, focus)
  return (
    <section
      ref={panel} className="ct-panel" aria-label={title} tabIndex={-1} {...OWN_ESCAPE} style={{ '--ct-panel-width': size ? `${size}px` : (width ?? '480px') } as React.CSSProperties}
      onKeyDown={(e) => {
        if (takeEscape(e)) onClose()
      }}
    >
      <div className="ct-resize" role="separator" aria-orientation="vertical" aria-label={labels.resize} tabIndex={0} {...drag} />
      <header className="ct-panel-head"><h2>{title}</h2><IconButton label={labels.closePanel} onClick={onClose}><CloseIcon /></IconButton></header>
      <div className="ct-panel-body" tabIndex={0} role="region" aria-label={title}>{children}</div>
      {footer && <footer className="ct-panel-foot">{footer}</footer>}
    </section>
  )
}

/** Moves the focus into a panel, if wanted, and returns it when the panel closes. */
function useFocusLent(panel: RefObject<HTMLElement | null>, focus: boolean): void {
  useLayoutEffect(() => {
    const element = panel.current
    const root = element?.getRootNode() as Document | ShadowRoot | undefined
    const before = root?.activeElement
    return () => {
      if (before instanceof HTMLElement && element?.contains(root!.activeElement)) before.focus({ preventScroll: true })
    }
  }, [panel])
  useEffect(() => {
    if (focus) panel.current?.focus({ preventScroll: true })
  }, [panel, focus])
}
