import { memo, useEffect, useRef, useState } from 'react'
import { useLabels } from '../state/tray'
import { useBeforePaint } from '../state/useBeforePaint'
import type { Tex } from './math'
import { usePlugin } from './plugins'
import { Scroller, watch } from './Scroller'

/** A formula. Its source is shown until it is complete and can be drawn, and if it is not TeX. */
export const Formula = memo(function Formula({ tex, display, open }: Tex) {
  const labels = useLabels()
  const box = useRef<HTMLSpanElement>(null)
  const render = usePlugin('math', !open)
  const [drawn, setDrawn] = useState('')
  const [wide, setWide] = useState(false)
  const long = !display && tex.length > LONG
  useBeforePaint(() => {
    const element = box.current
    if (!element || !render) return
    try {
      render(tex, element, display)
      setDrawn(tex)
    } catch {
      element.replaceChildren()
    }
  }, [render, tex, display])
  // Its line is measured again when its room, or a font that comes later, changes its width.
  useEffect(() => {
    const line = box.current?.parentElement
    if (!line || !long) return setWide(false)
    return watch([line], () => {
      const now = line.scrollWidth > line.clientWidth
      return () => setWide(now)
    })
  }, [long])
  // What is wider than its line is scrolled by keyboard, too.
  const shown = <span {...(wide && { tabIndex: 0, role: 'group', 'aria-label': labels.formula })}><span ref={box} />{drawn !== tex && <code className="ct-tex">{tex}</code>}</span>
  if (!display) return <span className="ct-math" data-long={long || undefined} dir="ltr">{shown}</span>
  return <span className="ct-math" data-display dir="ltr"><Scroller inline className="ct-math-body" label={labels.formula}>{shown}</Scroller></span>
})

/** Characters of a formula that fits into a line of a narrow tray. */
const LONG = 24
