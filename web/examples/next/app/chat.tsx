'use client'

import { ChatProvider, ChatTray, registerPayloadHandler } from '@chattray/react'
import type { ReactNode } from 'react'

// Handlers are functions, so they are registered in a module for the browser.
registerPayloadHandler<{ title: string }>('report', { inline: (data) => <p>{data.title}</p> })

const starters = [{ label: 'Summarize report 1' }]

export function Chat({ report, children }: { report: number; children: ReactNode }) {
  return (
    <ChatProvider context={{ current_page: 'reports', report_id: report }}>
      {children}
      <ChatTray starters={starters} />
    </ChatProvider>
  )
}
