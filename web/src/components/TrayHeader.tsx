import { useEffect, useId, useRef, useState } from 'react'
import { failureWords } from '../labels'
import { useChatStore } from '../state/context'
import type { ChatState } from '../state/state'
import { useLabels } from '../state/ui'
import type { TrayLayout, TrayTheme } from './ChatTray'
import { CheckIcon, CloseIcon, HistoryIcon, MoreIcon, PlusIcon, RetryIcon, SparkIcon, WarnIcon } from './icons'
import { IconButton } from './Message'

export function TrayHeader({ title, layout, theme, historyOpen, onLayout, onTheme, onHistory, onNew, onClose }: {
  title: string
  layout: TrayLayout
  theme: TrayTheme
  historyOpen: boolean
  onLayout: (layout: TrayLayout) => void
  onTheme: (theme: TrayTheme) => void
  onHistory: () => void
  onNew: () => void
  onClose: () => void
}) {
  const labels = useLabels()
  return (
    <header className="ct-head">
      <span className="ct-mark"><SparkIcon /></span>
      <h2 dir="auto" title={title || labels.title}>{title || labels.title}</h2>
      <IconButton label={labels.newChat} onClick={onNew}><PlusIcon /></IconButton>
      <IconButton label={labels.history} pressed={historyOpen} onClick={onHistory}><HistoryIcon /></IconButton>
      <Menu
        label={labels.more}
        items={[
          { label: labels.layoutTray, checked: layout === 'tray', act: () => onLayout('tray') },
          { label: labels.layoutSidebar, checked: layout === 'sidebar', act: () => onLayout('sidebar') },
          { label: labels.layoutFull, checked: layout === 'full', act: () => onLayout('full') },
          null,
          { label: labels.themeAuto, checked: theme === 'auto', act: () => onTheme('auto') },
          { label: labels.themeLight, checked: theme === 'light', act: () => onTheme('light') },
          { label: labels.themeDark, checked: theme === 'dark', act: () => onTheme('dark') },
        ]}
      />
      <IconButton label={labels.close} onClick={onClose}><CloseIcon /></IconButton>
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
          {!state.error.aside && (state.messages.length > 0 || state.conversationId !== null) && <button type="button" className="ct-button ct-small" onClick={() => void store.retry()}><RetryIcon />{labels.retry}</button>}
          <IconButton label={labels.dismiss} onClick={() => store.dismissError()}><CloseIcon /></IconButton>
        </div>
      )}
      {notice && <div className="ct-note" data-tone="warn" role="alert"><WarnIcon /><div><span>{notice}</span></div><IconButton label={labels.dismiss} onClick={onDismissNotice}><CloseIcon /></IconButton></div>}
    </div>
  )
}
