import { useEffect, useId, useRef, useState } from 'react'
import { keyOf, OWN_ESCAPE, takeEscape } from '../state/keys'
import { CheckIcon } from './icons'
import { MoreIcon } from './laterIcons'

export type MenuItem = { label: string; checked?: boolean; act: () => void } | null

export interface MenuProps {
  label: string
  /** Null is a line between two. */
  items: MenuItem[]
}

/** A menu with the usual keys: arrows move, Escape closes, and the focus returns. */
export default function Menu({ label, items }: MenuProps) {
  const [open, setOpen] = useState(false)
  const id = useId()
  const box = useRef<HTMLDivElement>(null)
  const button = useRef<HTMLButtonElement>(null)
  const close = (back: boolean) => {
    setOpen(false)
    if (back) button.current?.focus()
  }
  useEffect(() => {
    if (!open) return
    box.current?.querySelector<HTMLElement>('[role^=menuitem]')?.focus()
    const outside = (e: PointerEvent) => {
      if (![box.current, button.current].some((part) => part && e.composedPath().includes(part))) setOpen(false)
    }
    document.addEventListener('pointerdown', outside)
    return () => document.removeEventListener('pointerdown', outside)
  }, [open])
  const onKeyDown = (e: React.KeyboardEvent) => {
    if (takeEscape(e)) return close(true)
    const all = [...(box.current?.querySelectorAll<HTMLElement>('[role^=menuitem]') ?? [])]
    const at = all.findIndex((item) => item.matches(':focus'))
    const key = keyOf(e)
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[key]
    if (to !== undefined) {
      e.preventDefault()
      all[(to + all.length) % all.length]?.focus()
    } else if (key === 'Tab') {
      close(false)
    }
  }
  return (
    <div className="ct-menu">
      <button ref={button} type="button" className="ct-icon-button" aria-label={label} title={label} aria-haspopup="menu" aria-expanded={open} aria-controls={open ? id : undefined} onClick={() => setOpen(!open)}><MoreIcon /></button>
      {open && (
        <div ref={box} id={id} className="ct-menu-list" role="menu" aria-label={label} {...OWN_ESCAPE} onKeyDown={onKeyDown}>
          {items.map((item, i) => (item ? (
            <button type="button" key={item.label} role={item.checked === undefined ? 'menuitem' : 'menuitemradio'} aria-checked={item.checked} tabIndex={-1} onClick={() => {
              item.act()
              close(true)
            }}><span className="ct-menu-check">{item.checked && <CheckIcon />}</span>{item.label}</button>
          ) : <hr key={i} />))}
        </div>
      )}
    </div>
  )
}
