import { CopilotKit, useFrontendTool } from '@copilotkit/react-core'
import { useInterrupt } from '@copilotkit/react-core/v2'
import { CopilotChat } from '@copilotkit/react-ui'
import '@copilotkit/react-ui/styles.css'
import { createRoot } from 'react-dom/client'

// Without ?runtime the service is the runtime of CopilotKit; with it, CopilotKit's own
// runtime, which vite.config.js starts, is in front of the service.
const own = new URLSearchParams(location.search).has('runtime')

function Approval({ interrupt, resolve }) {
  return (
    <p role="group" aria-label="Approval">
      {interrupt.message} <button onClick={() => resolve({ approved: true }, interrupt.id)}>Approve</button>{' '}
      <button onClick={() => resolve({ approved: false }, interrupt.id)}>Deny</button>
    </p>
  )
}

function Chat() {
  // A tool of the page: the model may call it, and the page runs it.
  useFrontendTool({
    name: 'page_title',
    description: 'Returns the title of the page',
    parameters: [],
    handler: () => document.title,
  })
  const approval = useInterrupt({ renderInChat: false, render: (props) => <Approval {...props} /> })
  return (
    <>
      <CopilotChat />
      {approval}
    </>
  )
}

createRoot(document.getElementById('app')).render(
  <CopilotKit
    runtimeUrl={own ? '/runtime' : '/api/copilotkit'}
    agent={import.meta.env.VITE_PAGE ?? 'reports'}
    threadId={own ? 'copilotkit-runtime' : 'copilotkit-example'}
    showDevConsole={false}
  >
    <Chat />
  </CopilotKit>,
)
