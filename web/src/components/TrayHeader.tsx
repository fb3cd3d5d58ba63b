import { failureWords } from '../labels/tray'
import { useChatStore } from '../state/context'
import { classes, type PartProps } from '../state/slots'
import type { ChatState } from '../state/values/state'
import { useLabels } from '../state/tray'
import type { TrayLayout, TrayTheme } from './ChatTray'
import { CloseIcon, HistoryIcon, PlusIcon, RailIcon, RetryIcon, ShrinkIcon, SparkIcon, WarnIcon } from './icons'
import { IconButton } from './IconButton'
import { Menu } from './laterParts'
import type { MenuItem } from './Menu'

export interface HeaderProps extends PartProps {
  title?: string | undefined
  layout?: TrayLayout | undefined
  theme?: TrayTheme | undefined
  historyOpen?: boolean | undefined
  /** Without one of these there is no such button. */
  onLayout?: ((layout: TrayLayout) => void) | undefined
  onTheme?: ((theme: TrayTheme) => void) | undefined
  onHistory?: (() => void) | undefined
  onNew?: (() => void) | undefined
  onSave?: ((format: 'markdown' | 'json') => void) | undefined
  onKeys?: (() => void) | undefined
  onClose?: (() => void) | undefined
}

/** The head of a tray: the chat's title, and what can be done with the tray. */
export function Header({ title, layout, theme, historyOpen, onLayout, onTheme, onHistory, onNew, onSave, onKeys, onClose, className, children }: HeaderProps) {
  const labels = useLabels()
  const layouts: [TrayLayout, string][] = [['tray', labels.layoutTray], ['sidebar', labels.layoutSidebar], ['full', labels.layoutFull]]
  const themes: [TrayTheme, string][] = [['auto', labels.themeAuto], ['light', labels.themeLight], ['dark', labels.themeDark]]
  const items: MenuItem[] = [
    ...(onSave ? [{ label: labels.saveMarkdown, act: () => onSave('markdown') }, { label: labels.saveJson, act: () => onSave('json') }, null] : []),
    ...(onLayout ? layouts.map(([value, label]) => ({ label, checked: layout === value, act: () => onLayout(value) })) : []),
    ...(onLayout && onTheme ? [null] : []),
    ...(onTheme ? themes.map(([value, label]) => ({ label, checked: theme === value, act: () => onTheme(value) })) : []),
    ...(onKeys ? [null, { label: labels.keys, act: onKeys }] : []),
  ]
  return (
    <header className={classes('ct-head', className)}>
      {layout === 'full' ? onHistory && <IconButton label={labels.history} pressed={historyOpen} onClick={onHistory}><RailIcon /></IconButton> : <span className="ct-mark"><SparkIcon /></span>}
      <h2 dir="auto" title={title || labels.title}>{title || labels.title}</h2>
      {onNew && <IconButton label={labels.newChat} onClick={onNew}><PlusIcon /></IconButton>}
      {onHistory && layout !== 'full' && <IconButton label={labels.history} pressed={historyOpen} onClick={onHistory}><HistoryIcon /></IconButton>}
      {items.length > 0 && <span className="ct-menu-place"><Menu label={labels.more} items={items} /></span>}
      {onClose && <IconButton label={labels.close} onClick={onClose}>{layout === 'full' ? <ShrinkIcon /> : <CloseIcon />}</IconButton>}
      {children}
    </header>
  )
}

/** An error message, with a way to continue. */
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
