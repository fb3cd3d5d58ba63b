import type { ReactNode } from 'react'
import type { CodeProps, SlotProps } from '../../../src'

// Parts that the playground puts into the tray. The source shown here is what it offers to copy.

export const Composer = ({ children }: { children: ReactNode }) => (
  <>
    {children}
    <p style={{ padding: '0 1rem 0.75rem', fontSize: '0.75rem', textAlign: 'center' }}>Answers may be wrong.</p>
  </>
)

export const Empty = () => (
  <div style={{ margin: 'auto', textAlign: 'center' }}>
    <h2>Good morning.</h2>
    <p>What shall we look at?</p>
  </div>
)

export const Code = ({ language, children }: CodeProps) => (
  <figure style={{ margin: 0 }}>
    {children}
    <figcaption style={{ fontSize: '0.75rem' }}>Code in {language || 'no language'}</figcaption>
  </figure>
)

export const ToolCall = ({ tool }: SlotProps['ToolCall']) => (
  <p>
    <code>{tool.name}</code> {tool.status}
  </p>
)

export const Actions = () => null
