import { Chat } from './chat'

// A server component: the page comes from the server, the tray is shown by the browser.
export default function Page() {
  return (
    <Chat report={1}>
      <h1>Report 1</h1>
      <p>This page is rendered on the server.</p>
    </Chat>
  )
}
