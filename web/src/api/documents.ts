import { checked, jsonIn } from './errors'
import type { Send } from './client'
import type { Props } from './types'

/** Which change of a block is proposed: from the accepted content (`current`) to the proposed one (`new`). */
export type BlockState = 'clean' | 'pending_new' | 'pending_edit' | 'pending_delete' | 'pending_move'

/** One element of a document. */
export interface Block {
  id: string
  document_id?: string
  chat_id?: string
  role?: string
  type: string
  current?: string
  new?: string
  meta?: Props
  new_meta?: Props
  new_position?: string
  state: BlockState
  position: string
  revision: number
}

/** A document; `blocks` are set when one document is read. */
export interface DocumentRecord {
  id: string
  /** The user whose document it is. */
  owner?: string
  title: string
  new_title?: string
  revision: number
  created_at?: string
  updated_at?: string
  blocks?: Block[]
}

export interface DocumentList {
  items: DocumentRecord[]
  next_cursor?: string
}

/** The accepted state of a document before a change. */
export interface DocumentVersion {
  /** The document's revision at that time, which names the version. */
  revision: number
  title: string
  reason: 'accepted' | 'edited' | 'restored'
  blocks: number
  created_at: string
}

/** Documents and blocks. Methods that take a revision fail with status 412 when the thing has changed since. */
export interface DocumentApi {
  list(): Promise<DocumentList>
  create(document: { id?: string; title: string }): Promise<DocumentRecord>
  get(id: string): Promise<DocumentRecord>
  rename(id: string, title: string): Promise<DocumentRecord>
  remove(id: string): Promise<void>
  acceptAll(id: string, revision?: number): Promise<DocumentRecord>
  revertAll(id: string, revision?: number): Promise<DocumentRecord>
  exportMarkdown(id: string): Promise<string>
  /** The states of the document before its changes, the newest first. */
  versions(id: string): Promise<{ items: DocumentVersion[] }>
  version(id: string, version: number): Promise<DocumentRecord>
  /** Goes back to a version; refused with status 409 while something is pending. */
  restore(id: string, version: number, revision?: number): Promise<DocumentRecord>
  addBlock(id: string, block: { id?: string; type: string; content: string; meta?: Props; after_block_id?: string }): Promise<Block>
  updateBlock(id: string, change: { content?: string; meta?: Props; after_block_id?: string }, revision?: number): Promise<Block>
  removeBlock(id: string, revision?: number): Promise<void>
  accept(id: string, revision?: number): Promise<Block | null>
  revert(id: string, revision?: number): Promise<Block | null>
  /** Puts a chat block (a message) into a document: instead of a block, after one, or at the end. */
  apply(messageId: string, target: { document_id: string; target_block_id?: string; after_block_id?: string }): Promise<Block>
}

/** Makes the client of documents, which sends as a client of chats does. */
export function createDocumentApi({ send }: { send: Send }): DocumentApi {
  const call = async (method: string, path: string, body?: unknown, revision?: number): Promise<Response> => {
    return checked(await send(method, path, body, revision === undefined ? {} : { headers: { 'If-Match': `"${revision}"` } }))
  }
  const json = async <T>(method: string, path: string, body?: unknown, revision?: number): Promise<T> => (await jsonIn<T | undefined>(await call(method, path, body, revision))) ?? (null as T)
  const doc = (id: string) => `/api/documents/${encodeURIComponent(id)}`
  const block = (id: string) => `/api/blocks/${encodeURIComponent(id)}`
  return {
    list: () => json('GET', '/api/documents'),
    create: (document) => json('POST', '/api/documents', document),
    get: (id) => json('GET', doc(id)),
    rename: (id, title) => json('PATCH', doc(id), { title }),
    remove: async (id) => void (await call('DELETE', doc(id))),
    acceptAll: (id, revision) => json('POST', `${doc(id)}/accept`, undefined, revision),
    revertAll: (id, revision) => json('POST', `${doc(id)}/revert`, undefined, revision),
    exportMarkdown: async (id) => (await call('GET', `${doc(id)}/export`)).text(),
    versions: (id) => json('GET', `${doc(id)}/versions`),
    version: (id, version) => json('GET', `${doc(id)}/versions/${version}`),
    restore: (id, version, revision) => json('POST', `${doc(id)}/versions/${version}/restore`, undefined, revision),
    addBlock: (id, added) => json('POST', `${doc(id)}/blocks`, added),
    updateBlock: (id, change, revision) => json('PATCH', block(id), change, revision),
    removeBlock: async (id, revision) => void (await call('DELETE', block(id), undefined, revision)),
    accept: (id, revision) => json('POST', `${block(id)}/accept`, undefined, revision),
    revert: (id, revision) => json('POST', `${block(id)}/revert`, undefined, revision),
    apply: (message, target) => json('POST', `${block(message)}/apply`, target),
  }
}
