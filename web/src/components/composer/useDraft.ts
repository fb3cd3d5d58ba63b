import { useEffect, useInsertionEffect, useState } from 'react'
import type { Attachment } from '../../api/types'
import { useChatStore } from '../../state/context'
import { bare, draftAfter, placeKey, stays, type DraftPlace } from '../../state/store/drafts'
import type { FileHolder } from './useFiles'

/** The inputs that are shown. Each reads its draft again when one is changed: another input may have taken its place while a file was read. */
const inputs = new Set<() => void>()

/** Text and files that survive a reload; each user and chat has its own. `lost` names the files that did not. */
export function useDraft(place: DraftPlace, named: boolean): [string, (text: string) => void, FileHolder & { lost: string }] {
  const { drafts } = useChatStore()
  // A file that is read while the draft moves goes where the draft is then.
  const [draft, setDraft] = useState(() => ({ drafts, place, home: { place }, text: drafts.read(place), ...filesOf(drafts.read(filesAt(place))) }))
  useEffect(() => {
    const look = () => setDraft((d) => {
      const [text, kept] = [d.drafts.read(d.home.place), d.drafts.read(filesAt(d.home.place))]
      return text === d.text && kept === d.kept ? d : { ...d, text, ...filesOf(kept) }
    })
    look()
    inputs.add(look)
    return () => void inputs.delete(look)
  }, [])
  let now = draft
  const same = draft.drafts === drafts
  if (!same || placeKey(draft.place) !== placeKey(place)) {
    const moved = (to: (place: DraftPlace) => DraftPlace, text: string) => same ? draftAfter(drafts, to(draft.place), text, to(place), named) : drafts.read(to(place))
    now = { drafts, place, home: same && stays(draft.place, place, named) ? draft.home : { place }, text: moved((p) => p, draft.text), ...filesOf(moved(filesAt, drafts.read(filesAt(draft.place)))) }
    setDraft(now)
  }
  const { home } = now
  // A render that is not shown moves nothing.
  useInsertionEffect(() => {
    home.place = place
  })
  const keep = (at: DraftPlace, text: string, short = '') => {
    drafts.keep(at, text, short)
    for (const look of inputs) look()
  }
  const setText = (text: string) => keep(home.place, text)
  const put = (files: Attachment[]) => keep(filesAt(home.place), files[0] ? JSON.stringify(files) : '', JSON.stringify(files.map(bare)))
  return [now.text, setText, { ...now, get: () => filesOf(drafts.read(filesAt(home.place))).files, put }]
}

/** Where the files of a draft are. */
const filesAt = (place: DraftPlace): DraftPlace => ({ ...place, tray: `${place.tray} files` })

/** The files of a draft as they were kept, and the names of those that were too large for that. */
function filesOf(kept: string): { kept: string; files: Attachment[]; lost: string } {
  try {
    const all = (JSON.parse(kept || '[]') as Attachment[]).filter(({ name, mime, content }) => [name, mime, content].every((text) => typeof text === 'string'))
    return { kept, files: all.filter(({ content }) => content), lost: all.flatMap(({ name, content }) => (content ? [] : name)).join(', ') }
  } catch {
    return { kept, files: [], lost: '' }
  }
}
