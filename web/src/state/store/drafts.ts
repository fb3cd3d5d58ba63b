import type { Attachment } from '../../api/types'
import { keptText, replaceText } from '../kept'
import type { Unsent } from '../values/state'

/** Characters of a draft that are kept over a reload; a browser keeps about five million for a whole page. */
const MAX_KEPT = 1_000_000

/** Texts that are typed but not sent, and messages on their way, one for each user, tray and chat. They exist as long as the store. */
export class Drafts {
  private readonly name: string
  private readonly typed = new Map<string, string>()
  /** Where the messages on their way were sent, by the keys of their requests. */
  private readonly places = new Map<string, DraftPlace>()

  /** With a name, drafts of a known user also survive a reload of the tab. */
  constructor(name: string) {
    this.name = name
  }

  read(place: DraftPlace): string {
    return this.typed.get(placeKey(place)) ?? keptText('sessionStorage', this.key(place)) ?? ''
  }

  /** Keeps a text, and over a reload `short` where the text is too long for that. */
  keep(place: DraftPlace, text: string, short = ''): void {
    this.typed.set(placeKey(place), text)
    replaceText('sessionStorage', this.key(place), (text.length > MAX_KEPT ? short : text) || null)
  }

  /** Keeps a message that is on its way until `arrived` is called with its key. */
  send(place: DraftPlace, message: Sent): void {
    this.places.set(message.key, place)
    this.keep(sentAt(place), JSON.stringify(message), JSON.stringify({ ...message, attachments: message.attachments.map(bare) }))
  }

  /** The message that was sent at a place, if it is not known to have arrived. Files that were too large to keep have no content. */
  sent(place: DraftPlace): Sent | null {
    try {
      const message = JSON.parse(this.read(sentAt(place))) as Sent
      this.places.set(message.key, place)
      return message
    } catch {
      return null
    }
  }

  /** The service has a message, or the user has it back. */
  arrived(key: string): void {
    const place = this.places.get(key)
    if (place && this.sent(place)?.key === key) this.keep(sentAt(place), '')
    this.places.delete(key)
  }

  /** Whether a message that comes back is for this tray: it has sent it, or no tray has. */
  isOf(tray: string, key = ''): boolean {
    return (this.places.get(key)?.tray ?? tray) === tray
  }

  private key(place: DraftPlace): string {
    return this.name && place.user && `chattray:${this.name}:draft:${placeKey(place)}`
  }
}

/** The owner and the place of a draft: a user's id, empty while it is not known; the tray's own name; the chat, null for a new one. */
export interface DraftPlace {
  user: string
  tray: string
  chat: number | null
}

/** A message that was sent. */
export type Sent = Unsent & { key: string }

const sentAt = (place: DraftPlace): DraftPlace => ({ ...place, tray: `${place.tray} sent` })

/** A file without its content. */
export const bare = (file: Attachment): Attachment => ({ ...file, content: '' })

export function placeKey({ user, tray, chat }: DraftPlace): string {
  return JSON.stringify([user, tray, chat])
}

/** Whether a draft moves with a change of place: a new chat gets its number, the chat was deleted elsewhere, or a user becomes known. */
export function stays(before: DraftPlace, place: DraftPlace, named: boolean): boolean {
  return before.tray === place.tray && (before.user === place.user || before.user === '') && (before.chat === place.chat || (named && (before.chat === null || place.chat === null)))
}

/**
 * The text that is shown after a change of place. A new chat that gets its number, and a user who becomes known, keep what is
 * typed, and so does a new chat after one that was deleted; everything else has its own text. `named` tells a new chat that got
 * its number from another chat that is opened, and a chat that was deleted from one that the user has left.
 */
export function draftAfter(drafts: Drafts, before: DraftPlace, text: string, place: DraftPlace, named: boolean): string {
  if (!stays(before, place, named) || text === '') return drafts.read(place)
  drafts.keep(before, '')
  drafts.keep(place, text)
  return text
}
