import { createRoot } from 'react-dom/client'
import { ChatProvider, ChatTray, type ChatProviderProps, type ChatTrayProps } from './index'
import './styles'

export { registerPayloadHandler } from './payloads/registry'
export { createElement } from 'react'

export interface MountOptions extends Omit<ChatProviderProps, 'children'> {
  tray?: ChatTrayProps | undefined
}

/** What mount returns: functions that change the tray's options or remove it. */
export interface Mounted {
  update: (options: MountOptions) => void
  unmount: () => void
}

/** Shows a tray in a page without React. The options are the props of ChatProvider, and under `tray` the props of ChatTray. */
export function mount(options: MountOptions = {}, place: Element = document.body.appendChild(document.createElement('div'))): Mounted {
  const root = createRoot(place)
  const update = ({ tray, ...provider }: MountOptions) => root.render(<ChatProvider {...provider}><ChatTray {...tray} /></ChatProvider>)
  update(options)
  return { update, unmount: () => root.unmount() }
}
