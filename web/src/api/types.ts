import type { components } from './openapi'

type Schemas = components['schemas']

export type ChatRequest = Schemas['ChatRequest']
export type MessageFrame = Schemas['MessageFrame']
export type ChatEventFrame = Schemas['ChatEvent']
export type ToolProgressEvent = Schemas['ToolProgressEvent']
export type StreamEnd = Schemas['StreamEnd']
export type ChatResponsePayload = Schemas['ChatResponsePayload']
export type CustomPayload = Schemas['CustomPayload']
export type SuggestedValue = Schemas['SuggestedValue']
export type ActionMetadata = Schemas['ActionMetadata']
export type SuggestedAction = Schemas['SuggestedAction']
export type ToolCall = Schemas['ToolCall']
export type Usage = Schemas['Usage']
export type Diagnostics = Schemas['Diagnostics']
export type Message = Schemas['Message']
export type Chat = Schemas['Chat']
export type ChatList = Schemas['ChatList']
export type Feedback = Schemas['Feedback']
export type Run = Schemas['Run']
export type RunList = Schemas['RunList']
export type User = Schemas['Me']
export type Page = Schemas['Page']
export type PageList = Schemas['PageList']
export type ToolList = Schemas['ToolList']
export type Problem = Schemas['Problem']
export type Attachment = Schemas['Attachment']
export type ClientToolSpec = Schemas['ClientTool']
export type Code = Schemas['Code']
export type Version = Schemas['Version']
export type VersionList = Schemas['VersionList']
export type ModelOffer = Schemas['ModelOffer']
export type ModelList = Schemas['ModelList']
export type ChatPatch = Schemas['ChatPatch']
export type SocketEvent = Schemas['SocketEvent']
export type SocketChunk = Schemas['Chunk']

/** The page's context; unknown keys are kept and added to the prompt. */
export interface PageContext {
  current_page?: string
  active_tab?: string
  active_subtab?: string
  [key: string]: unknown
}

/** Any JSON object. */
export type Props = Record<string, unknown>
