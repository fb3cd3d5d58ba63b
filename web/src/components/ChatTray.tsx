import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore, type ReactNode } from 'react'
import type { CustomPayload, SuggestedAction } from '../api/types'
import type { Labels } from '../labels'
import { headerOf, payloadHandlerFor, type PayloadHandlers } from '../payloads/registry'
import { useChatState, useChatStore } from '../state/context'
import { liveMessage, type GeneralChatMessage } from '../state/state'
import { TrayContextProvider, useLabels, type TrayContext } from '../state/ui'
import { LabelsProvider } from '../state/words'
import { Composer } from './Composer'
import { HistoryPanel } from './HistoryPanel'
import { ChatIcon, SparkIcon } from './icons'
import { MessageList } from './MessageList'
import { DiagnosticsPanel, PayloadPanel } from './SidePanel'
import { Banner, TrayHeader } from './TrayHeader'
import { useAnnouncements, useKept, useLatestPayload, useMe } from './trayHooks'
import { useDrag } from './useDrag'
import { mayType, useFocusKept } from './useFocusKept'

export type TrayLayout = 'tray' | 'sidebar' | 'full'
export type TrayTheme = 'auto' | 'light' | 'dark'

export type OpenPayloads = 'all' | 'decisions' | 'none'

export interface Starter {
  label: string
  /** What is sent; the label when absent. */
  message?: string
}

export interface ChatTrayProps {
  /** Where the tray begins; the user's own choice goes before it. */
  layout?: TrayLayout
  theme?: TrayTheme
  /** Whether the tray begins open; a docked one always does. */
  defaultOpen?: boolean
  /** Words that differ from those of the ChatProvider. */
  labels?: Partial<Labels>
  starters?: Starter[]
  /** Handlers of this page; they go before registered ones. */
  payloadHandlers?: PayloadHandlers
  /** Payloads that open by themselves: all (the default), those that wait for a decision, or none. */
  openPayloads?: OpenPayloads
  /** Does what a `client` action asks for; return false when this page cannot. `close_chat` is done by the tray. */
  onClientAction?: (action: SuggestedAction) => boolean | void
  /** Called with every answer that has come in whole. */
  onComplete?: (message: GeneralChatMessage) => void
  /** Puts an answer into the page's document; without it there is no such button. */
  onApplyToDocument?: (message: GeneralChatMessage) => Promise<void>
  onThemeChange?: (theme: TrayTheme) => void
  /** Tells apart trays of one provider in what the browser keeps: width, layout, theme, open and drafts. */
  storageKey?: string
  /** Shown instead of the welcome. */
  welcome?: ReactNode
  className?: string
  dir?: 'ltr' | 'rtl'
}

/** A panel that the user asked for takes the focus; one that opens by itself leaves it where it is. */
type Side = { kind: 'payload'; id: string; payload: CustomPayload; asked: boolean } | { kind: 'diagnostics'; message: GeneralChatMessage } | null

/** As in the styles, in pixels. */
const DEFAULT_WIDTH = 420

/** The chat tray with everything around it. It needs a ChatProvider above it. A server renders its place only: what is shown is kept in the browser. */
export function ChatTray({ labels, ...props }: ChatTrayProps) {
  const here = useSyncExternalStore(never, () => true, () => false)
  if (!here) return <div className={`ct-root ${props.className ?? ''}`} data-layout={props.layout ?? 'tray'} data-theme={props.theme ?? 'auto'} dir={props.dir} />
  return <LabelsProvider labels={labels}><Tray {...props} /></LabelsProvider>
}

const never = () => () => undefined

function Tray(props: Omit<ChatTrayProps, 'labels'>) {
  const { storageKey = '', payloadHandlers, onClientAction, onComplete, onApplyToDocument } = props
  const store = useChatStore()
  const state = useChatState()
  const kept = store.keyOf(storageKey)
  const labels = useLabels()
  const [layout, setLayout] = useKept<TrayLayout>(kept && `${kept}:layout`, props.layout ?? 'tray', ['tray', 'sidebar', 'full'])
  const [theme, setTheme] = useKept<TrayTheme>(kept && `${kept}:theme`, props.theme ?? 'auto', ['auto', 'light', 'dark'])
  const [begins] = useState<'yes' | 'no'>((props.defaultOpen ?? layout !== 'tray') ? 'yes' : 'no')
  const [open, setOpen] = useKept<'yes' | 'no'>(kept && `${kept}:open`, begins, ['yes', 'no'])
  const [view, setView] = useState<'chat' | 'history'>('chat')
  const [side, setSide] = useState<Side>(null)
  const me = useMe(store, state.error?.code)
  const [notice, setNotice] = useState('')
  const { announcement, announce } = useAnnouncements(state, labels)
  const root = useRef<HTMLDivElement>(null)
  const box = useRef<HTMLElement>(null)
  const input = useRef<HTMLTextAreaElement>(null)
  const [width, setWidth] = useKept<string>(kept && `${kept}:width`, '', null)
  const drag = useDrag(box, 'left', Number(width) || DEFAULT_WIDTH, (w) => setWidth(String(w)))

  const { onThemeChange } = props
  useEffect(() => onThemeChange?.(theme), [onThemeChange, theme])

  const openPayload = useCallback((payload: CustomPayload) => setSide({ kind: 'payload', id: payload.payload_id ?? payload.type, payload, asked: true }), [])
  const offerPayload = (payload: CustomPayload) => {
    setSide({ kind: 'payload', id: payload.payload_id ?? payload.type, payload, asked: false })
    announce(labels.announcePanel(headerOf(handlerOf(payload.type), labels) || payload.summary || payload.type))
  }
  const handlerOf = useCallback((type: string) => payloadHandlerFor(type, payloadHandlers), [payloadHandlers])
  useEffect(() => setSide(null), [state.conversationId])
  useLatestPayload(state, props.openPayloads ?? 'all', handlerOf, offerPayload)
  const back = useCallback(() => root.current?.querySelector<HTMLElement>('.ct-launcher') ?? (mayType() ? input.current : null) ?? box.current, [])
  useFocusKept(root, back)
  useCompleted(state.messages, state.isLoading, onComplete)

  const show = useCallback((on: boolean) => {
    setOpen(on ? 'yes' : 'no')
    if (!on) setSide(null)
  }, [setOpen])
  const onAction = useCallback((action: SuggestedAction) => {
    setNotice('')
    if (action.handler === 'server') return void store.sendMessage(action.label, { interactionType: 'action_executed', action })
    const done = onClientAction?.(action)
    if (action.action === 'close_chat') show(false)
    else if (done === false || !onClientAction) setNotice(labels.actionUnknown(action.action))
  }, [store, onClientAction, show, labels])

  const tray = useMemo<TrayContext>(() => ({
    handlers: payloadHandlers ?? {}, handlerOf, me, openPayload, announce,
    openDiagnostics: (message) => setSide({ kind: 'diagnostics', message }), applyToDocument: onApplyToDocument,
  }), [payloadHandlers, handlerOf, me, openPayload, announce, onApplyToDocument])

  const shown = open === 'yes'
  const payload = side?.kind === 'payload' ? (currentPayload(state.run ? [...state.messages, liveMessage(state.run, state.decided)] : state.messages, side.id) ?? side.payload) : null
  return (
    <TrayContextProvider value={tray}>
      <div ref={root} className={`ct-root ${props.className ?? ''}`} data-layout={layout} data-theme={theme} data-open={shown} dir={props.dir}>
        <div className="ct-live-region" role="status" aria-live="polite">{announcement}</div>
        {!shown && <button type="button" className="ct-launcher" onClick={() => show(true)} aria-label={labels.open} title={labels.open}><ChatIcon /></button>}
        {shown && (
          <>
            {payload && <PayloadPanel payload={payload} focus={side?.kind === 'payload' && side.asked} onClose={() => setSide(null)} />}
            {side?.kind === 'diagnostics' && <DiagnosticsPanel message={side.message} onClose={() => setSide(null)} />}
            <aside
              ref={box} className="ct-tray" tabIndex={-1} aria-label={labels.title} style={width ? { '--ct-width': `${width}px` } as React.CSSProperties : undefined}
              onKeyDown={(e) => {
                if (e.key !== 'Escape' || e.defaultPrevented) return
                if (state.isLoading) void store.stop()
                else setSide(null)
              }}
            >
              <div className="ct-resize" role="separator" aria-orientation="vertical" aria-label={labels.resize} tabIndex={0} {...drag} />
              <TrayHeader
                title={state.title} layout={layout} theme={theme} historyOpen={view === 'history'} onLayout={setLayout} onTheme={setTheme}
                onHistory={() => setView(view === 'history' ? 'chat' : 'history')} onClose={() => show(false)}
                onNew={() => {
                  store.newChat()
                  setView('chat')
                  setSide(null)
                  input.current?.focus()
                }}
              />
              {view === 'history' ? (
                <HistoryPanel current={state.conversationId} onClose={() => setView('chat')} />
              ) : (
                <>
                  <MessageList state={state} empty={props.welcome ? <div className="ct-own">{props.welcome}</div> : <Welcome labels={labels} starters={props.starters ?? []} />} onAction={onAction} />
                  <Banner state={state} notice={notice} onDismissNotice={() => setNotice('')} />
                  <Composer busy={state.isLoading} opening={state.isOpening} unsent={state.unsent} conversationId={state.conversationId} storageKey={storageKey} inputRef={input} />
                </>
              )}
            </aside>
          </>
        )}
      </div>
    </TrayContextProvider>
  )
}

/** The payload as the messages have it now, with its decision. */
function currentPayload(messages: readonly GeneralChatMessage[], id: string): CustomPayload | undefined {
  return messages.flatMap((m) => m.payloads ?? []).findLast((p) => p.payload_id === id)
}

/** Tells the page of each answer that came in while it looked. */
function useCompleted(messages: readonly GeneralChatMessage[], busy: boolean, onComplete?: (message: GeneralChatMessage) => void): void {
  const was = useRef(false)
  const latest = useRef(onComplete)
  latest.current = onComplete
  useEffect(() => {
    const last = messages.at(-1)
    if (was.current && !busy && last?.role === 'assistant' && last.status === 'complete') latest.current?.(last)
    was.current = busy
  }, [messages, busy])
}

function Welcome({ labels, starters }: { labels: Labels; starters: Starter[] }) {
  const store = useChatStore()
  return (
    <div className="ct-welcome">
      <span className="ct-welcome-mark"><SparkIcon /></span>
      <h2>{labels.welcomeTitle}</h2>
      <p>{labels.welcomeText}</p>
      <div className="ct-starters">
        {starters.map((starter) => (
          <button type="button" className="ct-starter" key={starter.label} onClick={() => void store.sendMessage(starter.message ?? starter.label)}>{starter.label}</button>
        ))}
      </div>
    </div>
  )
}
