import { ChatProvider, ChatTray } from '@chattray/react'
import { registerBundledPayloads } from '@chattray/react/research'
import '@chattray/react/styles.css'
import { createRoot } from 'react-dom/client'
import './page.css'

registerBundledPayloads()

function App() {
  return (
    <ChatProvider context={{ current_page: 'reports', report_id: 1 }}>
      <h1>Report 1</h1>
      <ChatTray starters={[{ label: 'Summarize report 1' }]} />
    </ChatProvider>
  )
}

createRoot(document.getElementById('app')).render(<App />)
