import type { Block } from '../src/documents'

/** A block of the document d. */
export const block = (id: string, more: Partial<Block> = {}): Block => ({ id, document_id: 'd', type: 'md', current: `Text ${id}`, state: 'clean', position: id, revision: 1, ...more })
