import { useEffect, useMemo, useState } from 'react'
import { ChatProvider, ChatTray, createChatApi, useChatStore, type ChatApi, type MessageFrame, type StreamEvent, type TrayTheme } from '../../src'
import { go } from '../route'

interface Recording {
  name: string
  message: string
  messages: MessageFrame[]
}

const recordings = import.meta.glob<{ default: Recording }>('../recordings/*.json')
const names = Object.keys(recordings).map((path) => path.replace(/^.*\/|\.json$/g, '')).sort()

/** Replays recorded runs through the same components, with no service behind them. */
export function Playground({ route, theme }: { route: string[]; theme: TrayTheme }) {
  const name = names.includes(route[1] ?? '') ? route[1]! : names[0]!
  const [pace, setPace] = useState(8)
  const [round, setRound] = useState(0)
  const [recording, setRecording] = useState<Recording | null>(null)
  useEffect(() => {
    let here = true
    void recordings[`../recordings/${name}.json`]!().then((module) => here && setRecording(module.default))
    return () => {
      here = false
    }
  }, [name])
  return (
    <>
      <div className="app-head">
        <div><h1>Playground</h1><p className="ct-muted">Recorded runs, replayed through the tray’s own reducer and components.</p></div>
        <div className="ct-row">
          <label className="app-pick">Pace <select className="ct-input" value={pace} onChange={(e) => setPace(Number(e.target.value))}><option value={0}>At once</option><option value={8}>Live</option><option value={60}>Slow</option></select></label>
          <button type="button" className="ct-button" data-style="primary" onClick={() => setRound(round + 1)}>Replay</button>
        </div>
      </div>
      <div className="app-tabs" role="tablist" aria-label="Recording">
        {names.map((n) => <button key={n} type="button" role="tab" aria-selected={n === name} onClick={() => go('playground', n)}>{n}</button>)}
      </div>
      <div className="app-stage">
        {recording?.name === name && <Replay key={`${name}:${round}`} recording={recording} pace={pace} theme={theme} />}
      </div>
    </>
  )
}

function Replay({ recording, pace, theme }: { recording: Recording; pace: number; theme: TrayTheme }) {
  const api = useMemo(() => replayApi(recording, pace), [recording, pace])
  return <ChatProvider api={api} storageKey=""><Start message={recording.message} /><ChatTray layout="sidebar" theme={theme} openPayloads="none" /></ChatProvider>
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
