import { memo, useCallback, useDeferredValue, useEffect, useMemo, useRef, useState, type ReactNode } from 'react'
import type { SuggestedAction } from '../api/types'
import type { Labels } from '../labels/tray'
import { headerOf, payloadHandlerFor, type PayloadHandlers } from '../payloads/registry'
import { Boundary } from '../state/Boundary'
import { useChatState, useChatStore } from '../state/context'
import { Drops } from '../state/drops'
import { keepEscape, takeEscape } from '../state/keys'
import { ComponentsProvider, slot, type ToolRenderers, type TrayComponents } from '../state/slots'
import type { GeneralChatMessage } from '../state/values/state'
import { tell } from './tell'
import { HasEscape, TrayContextProvider, useLabels, type Command, type TrayContext } from '../state/tray'
import { useEnd } from '../state/useEnd'
import { useHere } from '../state/useHere'
import { useLatest } from '../state/useLatest'
import { waitingApproval } from '../state/values/view'
import { whenIdle } from '../state/whenIdle'
import { LabelsProvider } from '../state/words'
import { Composer } from './composer/Composer'
import { Empty, type Starter } from './Empty'
import { PlusIcon, SparkIcon } from './icons'
import { DiagnosticsPanel, HistoryPanel, KeysPanel, loadParts, PayloadPanel } from './laterParts'
import { Launcher, useUnread } from './Launcher'
import { MessageList } from './MessageList'
import { Banner, Header } from './TrayHeader'
import { useAnnouncements, useKept, useMe } from './trayHooks'
import { useDrag } from './useDrag'
import { useDrop } from './useDrop'
import { mayType, useFocusKept } from './useFocusKept'
import { useRoom } from './useRoom'
import { SHORTCUT, useShortcut } from './useShortcut'
import { currentPayload, useSide, type OpenPayloads } from './useSide'

export type { OpenPayloads } from './useSide'
/** `tray` floats over the page, `sidebar` is a column in its parent, which sets the height, `full` fills the page. */
export type TrayLayout = 'tray' | 'sidebar' | 'full'
/** `auto` follows the system. */
export type TrayTheme = 'auto' | 'light' | 'dark'

export interface ChatTrayProps {
  /** The initial layout of the tray; the user's own choice takes precedence. */
  layout?: TrayLayout | undefined
  theme?: TrayTheme | undefined
  /** Whether the tray is open at first; a docked one always is. */
  defaultOpen?: boolean | undefined
  /** Words that differ from those of the ChatProvider. */
  labels?: Partial<Labels> | undefined
  starters?: Starter[] | undefined
  /** Handlers of this page; they take precedence over registered ones. */
  payloadHandlers?: PayloadHandlers | undefined
  /** Your own components for parts; each gets the part's props, and the default part as children. Pass the same object at each render. */
  components?: TrayComponents | undefined
  /** How calls of your tools are shown, by the tool's name. Pass the same object at each render. */
  toolRenderers?: ToolRenderers | undefined
  /** Payloads whose panel opens by itself: those that wait for a decision (the default), all, or none. What is inline stays in the answer. */
  openPayloads?: OpenPayloads | undefined
  /** Does what a `client` action asks for; return false when this page cannot. `close_chat` is done by the tray. */
  onClientAction?: ((action: SuggestedAction) => boolean | void) | undefined
  /** Called with every complete answer. */
  onComplete?: ((message: GeneralChatMessage) => void) | undefined
  /** Puts an answer into the page's document; without it there is no such button. */
  onApplyToDocument?: ((message: GeneralChatMessage) => unknown) | undefined
  onThemeChange?: ((theme: TrayTheme) => void) | undefined
  /** What a `/` offers besides the tray's own commands. Pass the same list at each render. */
  commands?: readonly Command[] | undefined
  /** The key that opens and closes the tray, as `Mod+/` (the default) or `Alt+Shift+C`; Mod is Command on a Mac, Control elsewhere. False means no key. */
  shortcut?: string | false | undefined
  /** Distinguishes trays of one provider in the browser's storage: width, layout, theme, open and drafts. */
  storageKey?: string | undefined
  /** Shown instead of the welcome. */
  welcome?: ReactNode
  className?: string | undefined
  dir?: 'ltr' | 'rtl' | undefined
}

/** The chat tray with everything around it. It needs a ChatProvider above it. A server renders only a placeholder, because the state is stored in the browser. */
export function ChatTray({ labels, components, ...props }: ChatTrayProps) {
  const here = useHere()
  const { id } = useChatStore()
  if (!here) return <div className={`ct-root ${props.className ?? ''}`} data-layout={props.layout ?? 'tray'} data-theme={props.theme ?? 'auto'} dir={props.dir} />
  // Another user gets another tray: panels, lists and notices show what the former one has seen.
  return <LabelsProvider labels={labels}><ComponentsProvider components={components}><Tray key={id + props.storageKey} {...props} /></ComponentsProvider></LabelsProvider>
}

function Tray(props: Omit<ChatTrayProps, 'labels' | 'components'>) {
  const { storageKey = '', payloadHandlers, toolRenderers = noRenderers, onClientAction, onComplete, onApplyToDocument, onThemeChange, commands = noCommands, shortcut = SHORTCUT } = props
  const store = useChatStore()
  const state = useChatState()
  const labels = useLabels()
  const kept = store.keyOf(storageKey)
  const [layout, setLayout] = useKept<TrayLayout>(kept, 'layout', props.layout ?? 'tray', ['tray', 'sidebar', 'full'])
  const [theme, setTheme] = useKept<TrayTheme>(kept, 'theme', props.theme ?? 'auto', ['auto', 'light', 'dark'])
  const [begins] = useState<'yes' | 'no'>((props.defaultOpen ?? layout !== 'tray') ? 'yes' : 'no')
  const [open, setOpen] = useKept<'yes' | 'no'>(kept, 'open', begins, ['yes', 'no'])
  const [view, setView] = useState<'chat' | 'history'>('chat')
  const [rail, setRail] = useKept<'yes' | 'no'>(kept, 'rail', 'yes', ['yes', 'no'])
  const me = useMe(store, state.error?.code, state.isLoading)
  const [notice, setNotice] = useState('')
  const { announcements, announce } = useAnnouncements(state, labels)
  const root = useRef<HTMLDivElement>(null)
  const box = useRef<HTMLElement>(null)
  const input = useRef<HTMLTextAreaElement>(null)
  const [width, setWidth] = useKept<string>(kept, 'width', '')
  // A page that has no place for a column gets it over its side.
  const fixed = layout === 'sidebar' && props.layout !== 'sidebar'
  const shown = open === 'yes'
  const room = useRoom(root, box, shown, layout, fixed)
  const drag = useDrag(box, 'left', room.tray, (w) => setWidth(String(w)))
  const unread = useUnread(state, shown)

  useEffect(keepEscape, [])
  const onTheme = useLatest(onThemeChange)
  useEffect(() => tell(() => onTheme.current?.(theme)), [onTheme, theme])
  useEffect(() => (shown ? whenIdle(loadParts) : undefined), [shown])

  const { side, setSide, openPayload, closePayload } = useSide(state, payloadHandlers, room, props.openPayloads ?? 'decisions', (payload) => {
    announce(labels.announcePanel(headerOf(payloadHandlerFor(payload.type, payloadHandlers), labels) || payload.summary || payload.type))
  })
  const back = useCallback(() => root.current?.querySelector<HTMLElement>('.ct-launcher') ?? (mayType() ? input.current : null) ?? box.current, [])
  useFocusKept(root, back)
  useCompleted(state.messages, state.isLoading, onComplete)

  const show = useCallback((on: boolean) => {
    setOpen(on ? 'yes' : 'no')
    if (!on) setSide(null)
  }, [setOpen, setSide])
  const wanted = useShortcut({ shortcut, root, input, shown, show })
  // The button stays until the focus is in the input: Orca says nothing of a focus that moves after its element was removed, and takes what is typed for commands.
  const settled = useDeferredValue(shown)
  const onAction = useCallback((action: SuggestedAction) => {
    setNotice('')
    if (action.handler === 'server') return void store.sendMessage(action.label, { interactionType: 'action_executed', action })
    let done: boolean | void = false
    if (onClientAction) tell(() => (done = onClientAction(action)))
    if (action.action === 'close_chat') show(false)
    else if (done === false) setNotice(labels.actionUnknown(action.action))
  }, [store, onClientAction, show, labels])

  const railed = room.rail && rail === 'yes'
  const expanded = side?.kind === 'payload' && room.panel === 0 ? side.id : ''
  const openDiagnostics = useCallback((message: GeneralChatMessage) => setSide({ kind: 'diagnostics', message }), [setSide])
  const startNew = useCallback(() => {
    store.newChat()
    setView('chat')
    setSide(null)
    input.current?.focus()
  }, [store, setSide])
  const openHistory = useCallback(() => setView('history'), [])
  const save = (format: 'markdown' | 'json') => void import('./saveChat').then(({ saveChat }) => saveChat(store, format)).catch((error: unknown) => store.note(error))
  const [drops] = useState(() => new Drops())
  const { dropping, ...drop } = useDrop((files) => {
    setView('chat')
    drops.offer(files)
  })
  // While a call waits for the user's decision, Escape neither denies the call nor stops the run.
  const hasEscape = !waitingApproval(state.run) && (state.isLoading || side !== null)
  const tray = useMemo<TrayContext>(() => ({
    handlers: payloadHandlers ?? {}, me, openPayload, closePayload, expanded, toolRenderers, announce, openDiagnostics, applyToDocument: onApplyToDocument, commands, startNew, openHistory, drops,
  }), [payloadHandlers, me, openPayload, closePayload, expanded, toolRenderers, announce, openDiagnostics, onApplyToDocument, commands, startNew, openHistory, drops])

  const payload = side?.kind === 'payload' && room.panel > 0 ? (currentPayload(state, side.id) ?? side.payload) : null
  const onKeyDown = (e: React.KeyboardEvent) => {
    if (!hasEscape || !takeEscape(e)) return
    if (state.isLoading) void store.stop()
    else setSide(null)
  }
  const about = side?.kind === 'diagnostics' ? <DiagnosticsPanel key={side.message.id} message={side.message} onClose={closePayload} /> : side?.kind === 'keys' && <KeysPanel shortcut={shortcut} onClose={closePayload} />
  const empty = <EmptySlot starters={props.starters ?? noStarters} />
  const sizes = { ...(width && { '--ct-width': `${width}px` }), ...(room.panel > 0 && { '--ct-room': `${room.panel}px` }) } as React.CSSProperties
  return (
    <TrayContextProvider value={tray}>
      <div ref={root} className={`ct-root ${props.className ?? ''}`} data-layout={layout} data-theme={theme} data-open={shown} data-push={room.push || undefined} data-fixed={fixed || undefined} dir={props.dir} style={sizes} {...drop}>
        <div className="ct-live-region" role="status" aria-live="polite" aria-atomic="false">{announcements.map(({ id, words }) => <p key={id}>{words}</p>)}</div>
        {!(shown && settled) && <Launcher onOpen={() => {
          wanted.current = mayType()
          show(true)
        }} unread={unread} />}
        {shown && (
          <>
            {railed && (
              <nav className="ct-rail" aria-label={labels.history}>
                <div className="ct-rail-head"><span className="ct-mark"><SparkIcon /></span><h2>{labels.title}</h2></div>
                <button type="button" className="ct-button" onClick={startNew}><PlusIcon />{labels.newChat}</button>
                <HistoryPanel />
              </nav>
            )}
            {payload && <PayloadPanel payload={payload} focus={side?.kind === 'payload' && side.asked} onClose={closePayload} />}
            {room.panel > 0 && about}
            <aside ref={box} className="ct-tray" tabIndex={-1} aria-label={labels.title} onKeyDown={onKeyDown}>
              <div className="ct-resize" role="separator" aria-orientation="vertical" aria-label={labels.resize} tabIndex={0} {...drag} />
              <HeaderSlot
                title={state.title} layout={layout} theme={theme} historyOpen={room.rail ? railed : view === 'history'} onLayout={setLayout} onTheme={setTheme}
                onHistory={() => (room.rail ? setRail(railed ? 'no' : 'yes') : setView(view === 'history' ? 'chat' : 'history'))} onClose={() => show(false)} onNew={railed ? undefined : startNew}
                onSave={state.conversationId === null ? undefined : save} onKeys={() => setSide({ kind: 'keys' })}
              />
              {room.panel === 0 && about}
              {dropping && <div className="ct-drop" aria-hidden="true">{labels.dropHere}</div>}
              {view === 'history' && !room.rail ? (
                <HistoryPanel onClose={() => setView('chat')} />
              ) : (
                <>
                  <MessageList empty={props.welcome ? <Boundary instead={empty}><div className="ct-own">{props.welcome}</div></Boundary> : empty} onAction={onAction} />
                  <Banner state={state} notice={notice} onDismissNotice={() => setNotice('')} />
                  <HasEscape.Provider value={hasEscape}><ComposerSlot storageKey={storageKey} inputRef={input} /></HasEscape.Provider>
                </>
              )}
            </aside>
          </>
        )}
      </div>
    </TrayContextProvider>
  )
}

const noStarters: Starter[] = []
const noCommands: Command[] = []
const noRenderers: ToolRenderers = {}
const HeaderSlot = slot('Header', Header)
const EmptySlot = slot('Empty', Empty)
const ComposerSlot = memo(slot('Composer', Composer))

/** Tells the page about each answer that was completed while it was mounted. */
function useCompleted(messages: readonly GeneralChatMessage[], busy: boolean, onComplete?: (message: GeneralChatMessage) => void): void {
  useEnd(busy, () => {
    const last = messages.at(-1)
    if (last?.role === 'assistant' && last.status === 'complete') tell(() => onComplete?.(last))
  })
}
