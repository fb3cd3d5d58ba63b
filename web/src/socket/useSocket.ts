import { useEffect, useMemo, useSyncExternalStore } from 'react'
import { useChatStore } from '../state/context'
import { createSocket, type ChatSocket, type SocketState } from './socket'

/** A socket to the service of the nearest ChatProvider, connected while the component is mounted, and what it has shown. */
export function useSocket(): { socket: ChatSocket; view: SocketState } {
  const { api } = useChatStore()
  const socket = useMemo(() => createSocket({ api }), [api])
  useEffect(() => socket.connect(), [socket])
  const view = useSyncExternalStore(socket.subscribe, socket.getSnapshot, socket.getSnapshot)
  return { socket, view }
}
