import { Chat } from './chat'

// A server component: the server renders the page, the browser renders the tray.
export default function Page() {
  return (
    <Chat report={1}>
      <h1>Report 1</h1>
      <p>This page is rendered on the server.</p>
    </Chat>
  )
}
