import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState, type RefObject } from 'react'
import { createDocumentApi } from '../../api/documents'
import { useChatState, useChatStore } from '../../state/context'
import { keyOf } from '../../state/keys'
import type { Asked } from './asked'
import type { ChatStore } from '../../state/store/store'
import { nameWords } from '../../state/values/trail'
import { useAllLabels } from '../../state/allLabels'
import { tell } from '../tell'
import { useTray, type TrayContext } from '../../state/tray'
import { useStateOf } from '../../state/useStateOf'
import { whenSettled } from '../../state/whenSettled'
import type { Labels } from '../../labels/tray'
import { answerAgain } from '../answerAgain'
import { DocIcon, SparkIcon, ToolIcon } from '../icons'
import { saveChat } from '../saveChat'

export interface PaletteProps {
  asked: Asked
  /** Gets the keys of the input first; returns true for a key that was for the list. */
  keys: RefObject<((e: React.KeyboardEvent) => boolean) | null>
  /** Called with the text that replaces the query; empty after a command. */
  onPick: (text: string) => void
  onClose: () => void
  /** The id of the list and of the option that Enter would take. */
  onActive: (list: string, option: string | undefined) => void
}

/** Options that are shown at most. */
const SHOWN = 8

interface Option {
  name: string
  words: string
  icon: 'command' | 'tool' | 'document'
  take: () => string
}

/** What a `/` or an `@` offers, above the input; the focus stays in the input. */
export default function Palette({ asked, keys, onPick, onClose, onActive }: PaletteProps) {
  const labels = useAllLabels()
  const tray = useTray()
  const id = useId()
  const options = useOptions(asked.kind)
  const found = useMemo(() => matching(options, asked.query), [options, asked.query])
  // Another query begins at its first option.
  const [at, setAt] = useStateOf(`${asked.kind} ${asked.query}`, 0)
  const active = Math.min(at, found.length - 1)
  const list = useRef<HTMLUListElement>(null)
  useLayoutEffect(() => {
    onActive(found.length > 0 ? id : '', found.length > 0 ? `${id}-${active}` : undefined)
    list.current?.children[active]?.scrollIntoView({ block: 'nearest' })
  }, [onActive, id, active, found.length])
  useEffect(() => () => onActive('', undefined), [onActive])
  const said = options.length > 0 ? labels.paletteFound(found.length) : ''
  const { announce } = tray
  useEffect(() => {
    if (said) announce(said)
  }, [said, announce])
  const pick = (option: Option | undefined) => {
    if (option) onPick(option.take())
  }
  useEffect(() => {
    keys.current = (e) => {
      const key = keyOf(e)
      if (key === 'Escape') return onClose(), true
      if (found.length === 0) return false
      const to = { ArrowDown: active + 1, ArrowUp: active - 1 }[key]
      if (to !== undefined) return setAt((to + found.length) % found.length), true
      if ((key !== 'Enter' && key !== 'Tab') || e.shiftKey) return false
      return pick(found[active]), true
    }
    return () => {
      keys.current = null
    }
  })
  if (found.length === 0) return null
  return (
    <ul ref={list} id={id} className="ct-palette" role="listbox" aria-label={asked.kind === '/' ? labels.commands : labels.mentions}>
      {found.map((option, i) => (
        <li
          key={`${option.icon}:${option.name}`} id={`${id}-${i}`} role="option" aria-selected={i === active}
          onPointerDown={(e) => e.preventDefault()} onPointerMove={() => setAt(i)} onClick={() => pick(option)}
        >
          {icons[option.icon]}<b>{asked.kind}{option.name}</b><span>{option.words}</span>
        </li>
      ))}
    </ul>
  )
}

const icons = { command: <SparkIcon />, tool: <ToolIcon />, document: <DocIcon /> }

/** Those whose name begins with the query, then those that have it somewhere. */
function matching(options: readonly Option[], query: string): Option[] {
  const rank = (o: Option) => (o.name.toLowerCase().startsWith(query) ? 0 : `${o.name} ${o.words}`.toLowerCase().includes(query) ? 1 : 2)
  return options.map((o) => ({ o, rank: rank(o) })).filter((x) => x.rank < 2).toSorted((a, b) => a.rank - b.rank).slice(0, SHOWN).map((x) => x.o)
}

function useOptions(kind: Asked['kind']): readonly Option[] {
  const store = useChatStore()
  const labels = useAllLabels()
  const tray = useTray()
  const page = useChatState((s) => s.page)
  const [things, setThings] = useState<Option[]>([])
  useEffect(() => {
    if (kind !== '@') return
    const { current_page, active_tab, active_subtab } = store.getContext()
    const tools = store.api.listTools({ page: current_page, tab: active_tab, subtab: active_subtab }).then((all) => all.items.map((t): Option => ({
      name: t.name, words: firstSentence(t.description) || nameWords(t.name), icon: 'tool', take: () => `@${t.name} `,
    })))
    const documents = createDocumentApi(store.api).list().then((all) => all.items.map((d): Option => ({
      name: d.title, words: '', icon: 'document', take: () => `@${d.title} (document ${d.id}) `,
    })))
    return whenSettled(Promise.allSettled([documents, tools]), (lists) => setThings(lists.flatMap((l) => (l.status === 'fulfilled' ? l.value : []))))
  }, [store, kind, page])
  return kind === '/' ? commandsOf(store, tray, labels) : things.map((thing) => (thing.icon === 'document' ? { ...thing, words: labels.document } : thing))
}

/** The tray's own commands, and the page's. */
function commandsOf(store: ChatStore, tray: TrayContext, labels: Labels): Option[] {
  const { messages, conversationId } = store.getSnapshot()
  const last = messages.at(-1)
  const save = (format: 'markdown' | 'json') => void saveChat(store, format).catch((error: unknown) => store.note(error))
  const all: [string, string, (() => void) | undefined][] = [
    ['new', labels.newChat, tray.startNew],
    ['chats', labels.history, tray.openHistory],
    ['again', labels.regenerate, last?.role === 'assistant' ? () => void answerAgain(store, last.id) : undefined],
    ['export', labels.saveMarkdown, conversationId === null ? undefined : () => save('markdown')],
    ['json', labels.saveJson, conversationId === null ? undefined : () => save('json')],
    ...tray.commands.map((c): [string, string, () => void] => [c.name, c.title, () => tell(c.run)]),
  ]
  return all.flatMap(([name, words, run]) => (run ? [{ name, words, icon: 'command' as const, take: () => (run(), '') }] : []))
}

function firstSentence(text: string): string {
  return /^[^.\n]{0,120}/.exec(text)?.[0] ?? ''
}
