import { createContext, useContext, useEffect, useInsertionEffect, useMemo, useState, useSyncExternalStore, type ReactNode } from 'react'
import { createChatApi, type ChatApi, type ChatApiOptions } from '../api/client'
import type { CustomPayload, PageContext } from '../api/types'
import type { Labels } from '../labels/tray'
import { payloadsOf, textOf, type ActiveTool } from './values/run'
import type { StandardSchema } from '../payloads/standardSchema'
import { specOf, type ClientTool, type SchemaTool } from './store/clientTools'
import { same } from './values/same'
import { ChatStore } from './store/store'
import { emptyState, type ChatState, type GeneralChatMessage, type SendOptions } from './values/state'
import { useLatest } from './useLatest'
import { LabelsProvider } from './words'

const StoreContext = createContext<ChatStore | null>(null)

export interface ChatProviderProps extends ChatApiOptions {
  children: ReactNode
  /** A client of your own, that of the first render; the options of createChatApi are then ignored. */
  api?: ChatApi | undefined
  /** The page's context; sent with every message. */
  context?: PageContext | undefined
  /** Name under which this browser stores the open chat; "default" when absent, not stored when empty. Another name is another conversation. */
  storageKey?: string | undefined
  /** The model to use; the service's default when absent. */
  model?: string | undefined
  /** Tools that the page runs for the model; see useClientTool. */
  clientTools?: readonly ClientTool[] | undefined
  /** Words for every tray and document below; see defaultLabels. */
  labels?: Partial<Labels> | undefined
}

/** Holds one conversation for the tray and for the page around it. */
export function ChatProvider({ children, api, context, storageKey = 'default', labels, clientTools, ...options }: ChatProviderProps) {
  const [latest] = useState(() => ({ options }))
  // Set before the effects of components below it use the service.
  useInsertionEffect(() => {
    latest.options = options
  })
  const place = JSON.stringify([storageKey, options.baseUrl ?? ''])
  // Ids of chats differ between services.
  const name = storageKey && options.baseUrl ? `${storageKey}@${options.baseUrl}` : storageKey
  const make = () => ({
    place,
    store: new ChatStore({
      api: api ?? createChatApi({
        baseUrl: options.baseUrl, getToken: () => latest.options.getToken?.(), headers: () => latest.options.headers?.() ?? {}, fetch: (...call) => (latest.options.fetch ?? fetch)(...call),
      }),
      storageKey: name, model: () => latest.options.model,
    }),
  })
  const [held, setHeld] = useState(make)
  let { store } = held
  // Another user, or another service: another conversation.
  if (held.place !== place) {
    const next = make()
    store = next.store
    setHeld(next)
  }
  const shown = JSON.stringify(context ?? null)
  // Set before the effects of components below it, so that their keys are added to it.
  useInsertionEffect(() => {
    if (shown !== 'null') store.setContext(JSON.parse(shown) as PageContext)
  }, [store, shown])
  // Shows the model that the page wants.
  useEffect(() => store.dispatch({ type: 'set', set: {} }), [store, options.model])
  useEffect(() => {
    const leave = store.connect()
    void store.restore()
    return () => {
      leave()
      store.disconnect()
    }
  }, [store])
  return <StoreContext.Provider value={store}><LabelsProvider labels={labels}>{clientTools?.map((tool) => <Offered key={tool.name} tool={tool} />)}{children}</LabelsProvider></StoreContext.Provider>
}

/** The store of the nearest ChatProvider. */
export function useChatStore(): ChatStore {
  const store = useContext(StoreContext)
  if (!store) throw new Error('There is no ChatProvider above this component.')
  return store
}

/**
 * Offers a tool to the model while the component is mounted: the model calls it, the page runs the handler, the model
 * reads the result. The handler may change at every render. A page that is reloaded before it has answered is asked again.
 */
export function useClientTool<S extends StandardSchema>(tool: SchemaTool<S>): void
export function useClientTool<I = unknown>(tool: ClientTool<I>): void
export function useClientTool(tool: ClientTool): void {
  const store = useChatStore()
  const latest = useLatest(tool)
  const spec = JSON.stringify(specOf(tool))
  useEffect(() => store.clientTools.register({ ...latest.current, handler: (input, call) => latest.current.handler(input, call) }), [store, spec])
}

function Offered({ tool }: { tool: ClientTool }) {
  useClientTool(tool)
  return null
}

const whole = (state: ChatState) => state

/**
 * The state, or what the selector takes from it. The component renders again only when that changes; objects that a
 * selector makes are compared by their members.
 */
export function useChatState(): ChatState
export function useChatState<T>(selector: (state: ChatState) => T): T
export function useChatState<T>(selector?: (state: ChatState) => T): T | ChatState {
  const store = useChatStore()
  const read = useMemo(() => {
    const select: (state: ChatState) => T | ChatState = selector ?? whole
    let last: { state: ChatState; value: T | ChatState } | undefined
    return (state: ChatState) => {
      if (last?.state === state) return last.value
      const value = select(state)
      last = { state, value: last && same(last.value, value) ? last.value : value }
      return last.value
    }
  }, [selector])
  // A server has no chat: what it has rendered is hydrated without one, also where the chat is open by then.
  return useSyncExternalStore(store.subscribe, () => read(store.getSnapshot()), () => read(emptyState))
}

const isBusy = (state: ChatState) => state.isLoading

/** Whether an answer is being written. */
export const useBusy = (): boolean => useChatState(isBusy)

/** The chat's state, and what can be done. */
export interface GeneralChat {
  messages: readonly GeneralChatMessage[]
  isLoading: boolean
  streamingText: string
  statusText: string | null
  activeToolProgress: ActiveTool | null
  error: string | null
  conversationId: number | null
  /** Payloads of the current run. */
  livePayloads: CustomPayload[]
  sendMessage: (message: string, options?: SendOptions) => Promise<void>
  stop: () => Promise<void>
  retry: () => Promise<void>
  newChat: () => void
  openChat: (conversationId: number) => Promise<void>
  updateContext: (change: PageContext) => void
}

/** The whole state of the chat, and what can be done with it. The component renders with every change; useChatState selects from it. */
export function useGeneralChat(): GeneralChat {
  const store = useChatStore()
  const state = useChatState()
  return useMemo(() => ({
    ...actionsOf(store),
    messages: state.messages,
    isLoading: state.isLoading,
    streamingText: state.run ? textOf(state.run) : '',
    statusText: state.run?.status?.message ?? null,
    activeToolProgress: state.run?.active ?? null,
    error: state.error?.message ?? null,
    conversationId: state.conversationId,
    livePayloads: state.run ? payloadsOf(state.run) : [],
  }), [store, state])
}

type ChatActions = Pick<GeneralChat, 'sendMessage' | 'stop' | 'retry' | 'newChat' | 'openChat' | 'updateContext'>

/** Sends and stops without rendering at every token; `updateContext` tells the service what the page shows. */
export function useChatContext(): ChatActions & { chatApi: ChatApi } {
  const store = useChatStore()
  return useMemo(() => ({ chatApi: store.api, ...actionsOf(store) }), [store])
}

function actionsOf({ sendMessage, stop, retry, newChat, open, updateContext }: ChatStore): ChatActions {
  return { sendMessage, stop, retry, newChat, updateContext, openChat: (id) => open(id) }
}
