// Two pages of a host: one without a tray, made with the hooks alone, and one with a tray whose parts are the page's own.
import { ChatProvider, ChatTray, textOf, useApproval, useChatState, useComposer, useStickToEnd, useThreads } from '@chattray/react'
import { useRef, useState } from 'react'
import { createRoot } from 'react-dom/client'
import '@chattray/react/styles.css'
import './page.css'

/** Says how often it was rendered. */
function Title() {
  const count = useRef(0)
  const title = useChatState((state) => state.title)
  return <h1 ref={(e) => e && (e.dataset.renders = String(++count.current))}>{title || 'No title'}</h1>
}

function Conversation() {
  const { messages, run } = useChatState((state) => ({ messages: state.messages, run: state.run }))
  const { scroller, content, stuck, jump } = useStickToEnd()
  return (
    <>
      <div className="view" ref={scroller} role="log" tabIndex={0}>
        <div ref={content}>
          {messages.map((m) => <p key={m.id} className={`ct-message ${m.role}`} data-role={m.role}>{m.content}</p>)}
          {run && <p className="live">{textOf(run)}</p>}
        </div>
      </div>
      <p id="stuck">{stuck ? 'at the end' : 'not at the end'}</p>
      <button onClick={jump}>To the end</button>
    </>
  )
}

function Input() {
  const { text, setText, files, addFiles, removeFile, problem, queue, busy, canSend, send, stop } = useComposer()
  return (
    <form onSubmit={(e) => {
      e.preventDefault()
      send()
    }}>
      <input aria-label="Question" value={text} onChange={(e) => setText(e.target.value)} />
      <input type="file" aria-label="File" onChange={(e) => addFiles(e.target.files)} />
      {files.map((file, i) => <button type="button" key={file.name} onClick={() => removeFile(i)}>Without {file.name}</button>)}
      <button disabled={!canSend}>Ask</button>
      <button type="button" disabled={!busy} onClick={stop}>Stop it</button>
      <output>{problem || `${busy ? 'busy' : 'idle'}, ${queue} waiting`}</output>
    </form>
  )
}

function Waiting() {
  const { approval, mayAllowAlways, approve, deny, problem } = useApproval()
  if (!approval) return <p id="waiting">Nothing waits</p>
  return (
    <section id="waiting">
      <code>{approval.tool} {JSON.stringify(approval.input)}</code>
      <button onClick={() => void approve()}>Yes</button>
      <button onClick={() => void approve({ input: { order_id: 9 } })}>Yes, but order 9</button>
      {mayAllowAlways && <button onClick={() => void approve({ always: true })}>Yes, always</button>}
      <button onClick={() => void deny()}>No</button>
      <em>{problem}</em>
    </section>
  )
}

function Chats() {
  const threads = useThreads()
  return (
    <nav aria-label="All chats">
      <input aria-label="Search" value={threads.query} onChange={(e) => threads.setQuery(e.target.value)} />
      <button onClick={threads.startNew}>Another chat</button>
      <button onClick={() => threads.setArchived(!threads.archived)}>{threads.archived ? 'Not archived' : 'Archived'}</button>
      <ul data-status={threads.status}>
        {threads.items.map(({ conversation_id: id, title, pinned }) => (
          <li key={id} aria-current={id === threads.current}>
            <button onClick={() => threads.open(id)}>{title}</button>
            <button onClick={() => void threads.pin(id, !pinned)}>{pinned ? 'unpin' : 'pin'}</button>
            <button onClick={() => void threads.rename(id, `${title}!`)}>louder</button>
            <button onClick={() => void threads.archive(id, !threads.archived)}>archive</button>
            <button onClick={() => void threads.remove(id)}>remove</button>
          </li>
        ))}
      </ul>
    </nav>
  )
}

function Hooks() {
  return <><Title /><Chats /><Conversation /><Input /><Waiting /></>
}

/** Every part of a tray that a page may replace: some stand around the default, some are without it. */
const components = {
  Header: ({ children }) => <div id="own-header"><b>Our shop</b>{children}</div>,
  Empty: () => <p>Ask about your orders.</p>,
  Message: ({ message, children }) => <div className="own-message" data-of={message.role}>{children}</div>,
  Answer: ({ children }) => <div className="own-answer">{children}</div>,
  UserMessage: ({ message }) => <p className="own-question">You: {message.content}</p>,
  Composer: ({ children }) => <><p>Answers may be wrong.</p>{children}</>,
  ToolCall: ({ tool, children }) => <div className="own-call" data-name={tool.name}>{children}</div>,
  Code: ({ language, code }) => <pre className="own-code">{language}: {code}</pre>,
  Link: ({ href, children }) => <span className="own-link" title={href}>{children}</span>,
  Image: ({ src }) => <span className="own-image">{src}</span>,
  Suggestions: ({ message }) => <p className="own-suggestions">{message.suggested_values?.map((v) => v.label).join(', ')}</p>,
  Actions: () => <p className="own-actions">Was this right?</p>,
  Approval: ({ approval, children }) => <div className="own-approval"><b>The shop asks: {approval.tool}</b>{children}</div>,
}

function Stock({ tool, children }) {
  const [open, setOpen] = useState(false)
  return <div className="own-stock"><b>{tool.status}: {tool.output}</b><button onClick={() => setOpen(!open)}>How?</button>{open && children}</div>
}

function Tray() {
  return <ChatTray defaultOpen components={components} toolRenderers={{ find_stock: Stock }} />
}

let loading

/** A part that loads again while it is shown, from `loadAgain` to `loaded`. */
function Loading({ children }) {
  const [, render] = useState(0)
  window.loadAgain = () => {
    loading = new Promise((resolve) => {
      window.loaded = () => resolve(loading = undefined)
    })
    render((n) => n + 1)
  }
  if (loading) throw loading
  return <>{children}<p>It is loaded.</p></>
}

const again = { Composer: Loading }

const page = location.hash === '#loading' ? <ChatTray defaultOpen components={again} /> : location.hash === '#tray' ? <Tray /> : location.hash === '#shadow' ? <ChatTray defaultOpen /> : <Hooks />
const app = document.getElementById('app')
createRoot(location.hash === '#shadow' ? app.attachShadow({ mode: 'open' }) : app).render(<ChatProvider storageKey="host" context={{ current_page: 'streams' }}>{page}</ChatProvider>)
