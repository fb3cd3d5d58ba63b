import { useEffect, useMemo, useState } from 'react'
import { ChatProvider, ChatTray, CodeBlock, createChatApi, useChatStore, type ChatApi, type Labels, type MessageFrame, type StreamEvent, type TrayTheme } from '../../../src'
import { ar } from '../../../src/labels/ar'
import { de } from '../../../src/labels/de'
import { en } from '../../../src/labels/en'
import { es } from '../../../src/labels/es'
import { fr } from '../../../src/labels/fr'
import { zh } from '../../../src/labels/zh'
import { whenSettled } from '../../../src/state/whenSettled'
import { go } from '../../route'
import { Controls } from './Controls'
import { codeOf, componentsOf, stylesOf, usual, wordsOf, type Language, type Look } from './look'
import './playground.css'

interface Recording {
  name: string
  message: string
  messages: MessageFrame[]
}

const recordings = import.meta.glob<{ default: Recording }>('../../recordings/*.json')
const names = Object.keys(recordings).map((path) => path.replace(/^.*\/|\.json$/g, '')).sort()
/** A chat without messages, in which a recording answers every question. */
const EMPTY = { name: 'empty', replays: 'markdown' }
const words: Record<Language, Labels> = { en, de, fr, es, zh, ar }
const starters = [{ label: 'Show what an answer can have', hint: 'A recorded answer' }, { label: 'Ask something else', hint: 'The same answer' }]

/** Replays recorded runs through the tray's own components, whose props, words, parts and theme can be changed. It needs no service. */
export function Playground({ route, theme }: { route: string[]; theme: TrayTheme }) {
  const name = route[1] === EMPTY.name || names.includes(route[1] ?? '') ? route[1]! : names[0]!
  const file = name === EMPTY.name ? EMPTY.replays : name
  const [pace, setPace] = useState(8)
  const [round, setRound] = useState(0)
  const [look, setLook] = useState<Look>({ ...usual, theme })
  const [recording, setRecording] = useState<Recording | null>(null)
  useStyles(stylesOf(look, '.app-stage'))
  useEffect(() => whenSettled(recordings[`../../recordings/${file}.json`]!(), (module) => setRecording(module.default)), [file])
  const code = codeOf(look)
  return (
    <>
      <div className="app-head">
        <div><h1>Playground</h1><p className="ct-muted">Recorded runs, replayed through the tray’s own components. Change what it looks like, and copy the code.</p></div>
        <div className="ct-row">
          <label className="app-pick">Pace <select className="ct-input" value={pace} onChange={(e) => setPace(Number(e.target.value))}><option value={0}>At once</option><option value={8}>Live</option><option value={60}>Slow</option></select></label>
          <button type="button" className="ct-button" data-style="primary" onClick={() => setRound(round + 1)}>Replay</button>
        </div>
      </div>
      <div className="app-tabs" role="tablist" aria-label="Recording">
        {[EMPTY.name, ...names].map((n) => <button key={n} type="button" role="tab" aria-selected={n === name} onClick={() => go('playground', n)}>{n}</button>)}
      </div>
      <div className="play">
        <div className="app-stage" data-layout={look.layout}>
          {recording?.name === file && <Replay key={`${name}:${round}`} recording={recording} pace={pace} look={look} begin={name !== EMPTY.name} />}
        </div>
        <Controls look={look} change={(what) => setLook({ ...look, ...what })} />
      </div>
      <div className="play-code">
        <h2>Code</h2>
        <CodeBlock language="tsx" code={code.tsx} />
        {code.css && <CodeBlock language="css" code={code.css} />}
      </div>
    </>
  )
}

/** Adds styles to the page, as a page may under its policy. */
function useStyles(text: string): void {
  useEffect(() => {
    const sheet = new CSSStyleSheet()
    sheet.replaceSync(text)
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet]
    return () => {
      document.adoptedStyleSheets = document.adoptedStyleSheets.filter((other) => other !== sheet)
    }
  }, [text])
}

function Replay({ recording, pace, look, begin }: { recording: Recording; pace: number; look: Look; begin: boolean }) {
  const api = useMemo(() => replayApi(recording, pace), [recording, pace])
  const labels = useMemo(() => ({ ...words[look.language], ...wordsOf(look) }), [look])
  const components = useMemo(() => componentsOf(look.own), [look.own])
  return (
    <ChatProvider api={api} storageKey="" labels={labels}>
      {begin && <Start message={recording.message} />}
      {/* The user's choices in the tray take precedence over its props, until those change. */}
      <ChatTray key={`${look.layout}:${look.theme}`} layout={look.layout} theme={look.theme} openPayloads={look.openPayloads} dir={look.dir} components={components} starters={starters} defaultOpen />
    </ChatProvider>
  )
}

function Start({ message }: { message: string }) {
  const store = useChatStore()
  useEffect(() => void store.sendMessage(message), [store, message])
  return null
}

/** A client that knows one run. */
function replayApi(recording: Recording, pace: number): ChatApi {
  const api = createChatApi({ fetch: () => Promise.resolve(new Response('{"detail":"There is no service in the playground.","code":"not_found"}', { status: 404 })) })
  async function* frames(_: unknown, signal: AbortSignal): AsyncGenerator<StreamEvent<MessageFrame>, void, void> {
    for (const data of recording.messages) {
      if (pace > 0) await new Promise((resolve) => setTimeout(resolve, pace))
      if (signal.aborted) return
      yield { id: String(data.metadata.sequence), data }
    }
  }
  return { ...api, streamMessage: frames }
}
