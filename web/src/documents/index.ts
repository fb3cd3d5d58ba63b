export { DocumentPane, type DocumentPaneProps } from './DocumentPane'
export { useDocument, type DocumentState, type LiveBlock } from './useDocument'
export { createDocumentApi, type Block, type BlockState, type DocumentApi, type DocumentList, type DocumentRecord } from '../api/documents'
