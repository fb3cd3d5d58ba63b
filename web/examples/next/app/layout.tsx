import type { ReactNode } from 'react'
import '@chattray/react/styles.css'
import './page.css'

export const metadata = { title: 'A page with a chat tray' }

export default function Layout({ children }: { children: ReactNode }) {
  return (
    <html lang="en">
      <body>{children}</body>
    </html>
  )
}
