export { registerBundledPayloads, ArticleCard, SchemaProposalCard, type SchemaProposal, type StreamSuggestion, type Category, type Column } from './cards'
export { createResearchApi, type Article, type Report, type ReportList, type ResearchApi, type Stream, type StreamList, type StreamUpdate } from './api'
