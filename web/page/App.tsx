import { lazy, Suspense, useCallback, useEffect, useMemo, useState } from 'react'
import {
  ApiError, ChatProvider, ChatTray, createChatApi, Skeleton, useChatStore, type ChatApi, type GeneralChatMessage, type OpenPayloads, type PageContext, type PayloadHandlers, type Starter, type TrayTheme, type User,
} from '../src'
import { createResearchApi } from '../src/research'
import { DocumentPage } from './pages/Document'
import { EditStreamPage } from './pages/EditStream'
import { ReportsPage } from './pages/Reports'
import { StreamsPage } from './pages/Streams'
import { href, useRoute } from './route'
import { keepToken, readToken } from './token'

const Playground = lazy(() => import('./pages/playground/Playground').then((m) => ({ default: m.Playground })))
const Admin = lazy(() => import('./pages/admin/Admin').then((m) => ({ default: m.Admin })))

/** What a page passes to the tray. */
export interface PageTray {
  context: PageContext
  starters: Starter[]
  payloadHandlers?: PayloadHandlers
  openPayloads?: OpenPayloads
  onComplete?: (message: GeneralChatMessage) => void
  onApplyToDocument?: (message: GeneralChatMessage) => Promise<void>
}

export function App() {
  const [user, setUser] = useState<User | null>(null)
  const [problem, setProblem] = useState<ApiError | null>(null)
  const api = useMemo(() => createChatApi({
    getToken: readToken,
    /** A session that ends later needs another token too. */
    fetch: async (...request) => {
      const response = await fetch(...request)
      if (response.status === 401) setProblem(new ApiError('', 401, 'unauthorized'))
      return response
    },
  }), [])
  const signIn = useCallback(() => {
    api.getMe().then(
      (me) => {
        setUser(me)
        setProblem(null)
      },
      (error: unknown) => setProblem(error instanceof ApiError ? error : new ApiError('Something went wrong.', 0, 'page')),
    )
  }, [api])
  useEffect(signIn, [signIn])
  if (problem) return <SignIn problem={problem} again={signIn} />
  if (!user) return <div className="boot" aria-hidden="true"><div /><div>{Array.from({ length: 6 }, (_, i) => <i key={i} />)}</div></div>
  if (location.pathname === '/admin') return <Suspense fallback={<Skeleton lines={9} />}><Admin api={api} user={user} /></Suspense>
  return <ChatProvider api={api} storageKey={`page-${user.user_id}`}><Shell api={api} user={user} /></ChatProvider>
}

const nav = [['streams', 'Streams'], ['reports', 'Reports'], ['edit', 'Edit stream'], ['document', 'Document'], ['playground', 'Playground']] as const

/** Scrolls the page's link into view, which on a narrow screen may be out of sight. */
function show(link: HTMLElement | null): void {
  link?.scrollIntoView?.({ block: 'nearest', inline: 'center' })
}

function Shell({ api, user }: { api: ChatApi; user: User }) {
  const route = useRoute()
  const research = useMemo(() => createResearchApi(api), [api])
  const [tray, setTray] = useState<PageTray>({ context: {}, starters: [] })
  const [theme, setTheme] = useState<TrayTheme>('auto')
  const page = route[0] ?? 'streams'
  return (
    <div className="ct-root app" data-theme={theme}>
      <header className="app-bar">
        <a className="app-brand" href={href('streams')}><img src="/assets/icon.svg" alt="" width="24" height="24" />chattray</a>
        <nav aria-label="Pages">
          {nav.map(([name, label]) => <a key={name} href={href(name)} aria-current={page === name ? 'page' : undefined} ref={page === name ? show : undefined}>{label}</a>)}
        </nav>
        <DemoModel api={api} />
        <span className="app-user" title={user.user_id}>{user.name}</span>
      </header>
      <div className="app-body">
        <main className="app-main" tabIndex={-1}>
          {page === 'reports' ? <ReportsPage api={research} route={route} setTray={setTray} />
            : page === 'edit' ? <EditStreamPage api={research} route={route} setTray={setTray} />
              : page === 'document' ? <DocumentPage api={api} route={route} setTray={setTray} theme={theme} />
                : page === 'playground' ? <Suspense fallback={<Skeleton lines={9} />}><Playground route={route} theme={theme} /></Suspense>
                  : <StreamsPage api={research} route={route} setTray={setTray} />}
        </main>
        {page !== 'playground' && <Tray tray={tray} setTheme={setTheme} />}
      </div>
    </div>
  )
}

/** Says that nobody has configured a model, so that nobody takes rules for one. */
export function DemoModel({ api }: { api: ChatApi }) {
  const [demo, setDemo] = useState(false)
  useEffect(() => {
    api.listModels().then(({ items }) => setDemo(items.length === 1 && items[0]?.name === 'demo'), () => {})
  }, [api])
  return demo && <span className="app-demo" title="No model is configured: rules answer, from sample data. Set OPENAI_API_KEY or CHATTRAY_OPENAI_BASE_URL.">Demo model</span>
}

function Tray({ tray, setTheme }: { tray: PageTray; setTheme: (theme: TrayTheme) => void }) {
  return (
    <ContextOf context={tray.context}>
      <ChatTray
        layout="sidebar" defaultOpen={window.innerWidth > 900} starters={tray.starters} payloadHandlers={tray.payloadHandlers} openPayloads={tray.openPayloads} onComplete={tray.onComplete}
        onApplyToDocument={tray.onApplyToDocument} onThemeChange={setTheme} labels={{ title: 'Research assistant' }}
      />
    </ContextOf>
  )
}

function SignIn({ problem, again }: { problem: ApiError; again: () => void }) {
  const [token, setToken] = useState('')
  const needsToken = problem.status === 401
  return (
    <div className="ct-root app-loading">
      <form className="ct-card app-sign-in" onSubmit={(e) => {
        e.preventDefault()
        if (needsToken) keepToken(token.trim())
        again()
      }}>
        <h1>{needsToken ? 'Sign in' : 'The service cannot be reached'}</h1>
        <p className="ct-muted">{needsToken ? 'This service wants a token. The command “chattray token” prints one.' : problem.message}</p>
        {needsToken && <input className="ct-input" type="password" autoComplete="off" value={token} onChange={(e) => setToken(e.target.value)} aria-label="Token" placeholder="Token" autoFocus />}
        <button type="submit" className="ct-button" data-style="primary">{needsToken ? 'Sign in' : 'Try again'}</button>
      </form>
    </div>
  )
}

/** Tells the conversation what the page shows. */
function ContextOf({ context, children }: { context: PageContext; children: React.ReactNode }) {
  const store = useChatStore()
  useEffect(() => store.setContext(context), [store, context])
  return <>{children}</>
}
