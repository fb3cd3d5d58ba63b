import { useChat } from '@ai-sdk/react'
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai'
import { useState } from 'react'
import { createRoot } from 'react-dom/client'

const id = 'ai-sdk-example'

function Part({ part, decide }) {
  if (part.type === 'text') return <p style={{ whiteSpace: 'pre-wrap' }}>{part.text}</p>
  if (part.type === 'reasoning') return <p><em>{part.text}</em></p>
  if (part.type !== 'dynamic-tool') return null
  return (
    <p>
      <code>{part.toolName}</code> {part.state}
      {part.state === 'approval-requested' && (
        <>
          {' '}<button onClick={() => decide(part.approval.id, true)}>Approve</button>{' '}
          <button onClick={() => decide(part.approval.id, false)}>Deny</button>
        </>
      )}
    </p>
  )
}

function App({ first }) {
  const [text, setText] = useState('')
  const chat = useChat({
    id,
    messages: first,
    resume: true,
    transport: new DefaultChatTransport({ api: '/api/ui', body: { context: { current_page: 'reports' } } }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  })
  const decide = (approval, approved) => chat.addToolApprovalResponse({ id: approval, approved })
  const send = (event) => {
    event.preventDefault()
    chat.sendMessage({ text })
    setText('')
  }
  return (
    <main style={{ maxWidth: '40rem', margin: '3rem auto', fontFamily: 'system-ui' }}>
      {chat.messages.map((m) => (
        <section key={m.id}>
          <strong>{m.role}</strong>
          {m.parts.map((part, i) => <Part key={i} part={part} decide={decide} />)}
        </section>
      ))}
      {chat.error && <p role="alert">{chat.error.message}</p>}
      <form onSubmit={send}>
        <input value={text} onChange={(e) => setText(e.target.value)} aria-label="Message" />
        <button disabled={text.trim() === '' || chat.status === 'submitted' || chat.status === 'streaming'}>Send</button>
        {chat.status === 'streaming' && <button type="button" onClick={() => fetch(`/api/ui/${id}/stop`, { method: 'POST' })}>Stop</button>}
      </form>
    </main>
  )
}

const { messages } = await (await fetch(`/api/ui/${id}/messages`)).json()
createRoot(document.getElementById('app')).render(<App first={messages} />)
