import { useAllLabels } from '../state/allLabels'
import { SidePanel } from './SidePanel'
import { mac, parse } from './useShortcut'

export interface KeysPanelProps {
  /** The key that opens and closes the tray; false for none. */
  shortcut: string | false
  onClose: () => void
}

/** What can be done with keys. */
export default function KeysPanel({ shortcut, onClose }: KeysPanelProps) {
  const labels = useAllLabels()
  const keys: [string[], string][] = [
    ...(shortcut ? [[keysOf(shortcut), labels.keyTray] as [string[], string]] : []),
    [['Enter'], labels.keySend],
    [['⇧', 'Enter'], labels.keyLine],
    [['↑', '↓'], labels.keyRecall],
    [['/'], labels.commands],
    [['@'], labels.mentions],
    [['Esc'], labels.keyStop],
  ]
  return (
    <SidePanel title={labels.keys} width="360px" onClose={onClose}>
      <dl className="ct-keys">
        {keys.map(([names, words]) => (
          <div key={words}><dt>{names.map((name) => <kbd key={name}>{name}</kbd>)}</dt><dd>{words}</dd></div>
        ))}
      </dl>
    </SidePanel>
  )
}

/** The keys of a shortcut as they are written on the keyboard. */
function keysOf(shortcut: string): string[] {
  const { key, ctrl, meta, alt, shift } = parse(shortcut)
  return [...(ctrl ? ['Ctrl'] : []), ...(meta ? ['⌘'] : []), ...(alt ? [mac() ? '⌥' : 'Alt'] : []), ...(shift ? ['⇧'] : []), key.length === 1 ? key.toUpperCase() : key]
}
