import { useEffect, useId, useRef, useState } from 'react'
import { failureWords } from '../labels'
import { useChatStore } from '../state/context'
import { classes, type PartProps } from '../state/slots'
import type { ChatState } from '../state/state'
import { useLabels } from '../state/tray'
import type { TrayLayout, TrayTheme } from './ChatTray'
import { CheckIcon, CloseIcon, HistoryIcon, MoreIcon, PlusIcon, RailIcon, RetryIcon, ShrinkIcon, SparkIcon, WarnIcon } from './icons'
import { IconButton } from './IconButton'

export interface HeaderProps extends PartProps {
  title?: string
  layout?: TrayLayout
  theme?: TrayTheme
  historyOpen?: boolean
  /** Without one of these there is no such button. */
  onLayout?: (layout: TrayLayout) => void
  onTheme?: (theme: TrayTheme) => void
  onHistory?: () => void
  onNew?: () => void
  onClose?: () => void
}

/** The head of a tray: the chat's title, and what can be done with the tray. */
export function Header({ title, layout, theme, historyOpen, onLayout, onTheme, onHistory, onNew, onClose, className, children }: HeaderProps) {
  const labels = useLabels()
  const layouts: [TrayLayout, string][] = [['tray', labels.layoutTray], ['sidebar', labels.layoutSidebar], ['full', labels.layoutFull]]
  const themes: [TrayTheme, string][] = [['auto', labels.themeAuto], ['light', labels.themeLight], ['dark', labels.themeDark]]
  const items = [
    ...(onLayout ? layouts.map(([value, label]) => ({ label, checked: layout === value, act: () => onLayout(value) })) : []),
    ...(onLayout && onTheme ? [null] : []),
    ...(onTheme ? themes.map(([value, label]) => ({ label, checked: theme === value, act: () => onTheme(value) })) : []),
  ]
  return (
    <header className={classes('ct-head', className)}>
      {layout === 'full' ? onHistory && <IconButton label={labels.history} pressed={historyOpen} onClick={onHistory}><RailIcon /></IconButton> : <span className="ct-mark"><SparkIcon /></span>}
      <h2 dir="auto" title={title || labels.title}>{title || labels.title}</h2>
      {onNew && <IconButton label={labels.newChat} onClick={onNew}><PlusIcon /></IconButton>}
      {onHistory && layout !== 'full' && <IconButton label={labels.history} pressed={historyOpen} onClick={onHistory}><HistoryIcon /></IconButton>}
      {items.length > 0 && <Menu label={labels.more} items={items} />}
      {onClose && <IconButton label={labels.close} onClick={onClose}>{layout === 'full' ? <ShrinkIcon /> : <CloseIcon />}</IconButton>}
      {children}
    </header>
  )
}

type Item = { label: string; checked: boolean; act: () => void } | null

/** A menu by the book: arrows move, Escape closes, focus comes back. */
function Menu({ label, items }: { label: string; items: Item[] }) {
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
    box.current?.querySelector<HTMLElement>('[role=menuitemradio]')?.focus()
    const outside = (e: PointerEvent) => {
      if (!box.current?.contains(e.target as Node) && !button.current?.contains(e.target as Node)) setOpen(false)
    }
    document.addEventListener('pointerdown', outside)
    return () => document.removeEventListener('pointerdown', outside)
  }, [open])
  const onKeyDown = (e: React.KeyboardEvent) => {
    const all = [...(box.current?.querySelectorAll<HTMLElement>('[role=menuitemradio]') ?? [])]
    const at = all.indexOf(document.activeElement as HTMLElement)
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[e.key]
    if (to !== undefined) {
      e.preventDefault()
      all[(to + all.length) % all.length]?.focus()
    } else if (e.key === 'Escape') {
      e.stopPropagation()
      e.preventDefault()
      close(true)
    } else if (e.key === 'Tab') {
      close(false)
    }
  }
  return (
    <div className="ct-menu">
      <button ref={button} type="button" className="ct-icon-button" aria-label={label} title={label} aria-haspopup="menu" aria-expanded={open} aria-controls={open ? id : undefined} onClick={() => setOpen(!open)}><MoreIcon /></button>
      {open && (
        <div ref={box} id={id} className="ct-menu-list" role="menu" aria-label={label} onKeyDown={onKeyDown}>
          {items.map((item, i) => (item ? (
            <button type="button" key={item.label} role="menuitemradio" aria-checked={item.checked} tabIndex={-1} onClick={() => {
              item.act()
              close(true)
            }}><span className="ct-menu-check">{item.checked && <CheckIcon />}</span>{item.label}</button>
          ) : <hr key={i} />))}
        </div>
      )}
    </div>
  )
}

/** What went wrong, with a way on. */
export function Banner({ state, notice, onDismissNotice }: { state: ChatState; notice: string; onDismissNotice: () => void }) {
  const labels = useLabels()
  const store = useChatStore()
  const last = state.messages.at(-1)
  const inPlace = last?.role === 'assistant' && last.status === 'error'
  return (
    <div className="ct-banners">
      {state.link === 'reconnecting' && (
        <div className="ct-note" data-tone="warn" role="alert">
          <span className="ct-spinner" /><div><span>{labels.reconnecting}</span></div>
          <button type="button" className="ct-button ct-small" onClick={() => store.reconnect()}>{labels.reconnectNow}</button>
        </div>
      )}
      {state.error && !inPlace && (
        <div className="ct-note" data-tone="error" role="alert">
          <WarnIcon /><div><strong>{labels.errorTitle}</strong><span>{failureWords(labels, state.error.code, state.error.message)}</span></div>
          {!state.error.unrelated && (state.messages.length > 0 || state.conversationId !== null) && <button type="button" className="ct-button ct-small" onClick={() => void store.retry()}><RetryIcon />{labels.retry}</button>}
          <IconButton label={labels.dismiss} onClick={() => store.dismissError()}><CloseIcon /></IconButton>
        </div>
      )}
      {notice && <div className="ct-note" data-tone="warn" role="alert"><WarnIcon /><div><span>{notice}</span></div><IconButton label={labels.dismiss} onClick={onDismissNotice}><CloseIcon /></IconButton></div>}
    </div>
  )
}
