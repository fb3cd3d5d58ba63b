import { useLabels } from '../state/tray'

/** A placeholder for content that is still loading: a text, a chat, or a list. */
export function Skeleton({ of = 'text', lines = 3 }: { of?: 'text' | 'chat' | 'list'; lines?: number }) {
  return <div className="ct-skeleton" data-of={of} role="img" aria-label={useLabels().loading}>{Array.from({ length: lines }, (_, i) => <span key={i} />)}</div>
}

/** A placeholder for the list of chats. */
export const ListSkeleton = () => <Skeleton of="list" lines={6} />
