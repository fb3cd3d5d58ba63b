import type { ActionMetadata, Attachment, ChatRequest, ClientToolSpec, PageContext, SuggestedAction } from '../../api/types'
import { sizeOf } from '../values/files'
import { LOCAL_ID, type GeneralChatMessage, type SendOptions } from '../values/state'

/** The request that sends a message, with the page's context. */
export function requestOf(message: string, options: SendOptions, from: { context: PageContext; conversationId: number | null; tools: ClientToolSpec[]; model?: string }): ChatRequest {
  const { context, conversationId, tools, model } = from
  const { attachments, editMessageId } = options
  // What is undefined is not sent.
  return {
    message, context, model: model || undefined, interaction_type: options.interactionType ?? 'text_input',
    conversation_id: conversationId ?? undefined,
    action_metadata: options.action && clickOf(options.action, {}),
    edit_message_id: editMessageId,
    regenerate_message_id: options.regenerateMessageId,
    attachments: attachments?.length || editMessageId ? attachments : undefined,
    keep_attachments: editMessageId ? options.keepAttachments : undefined,
    client_tools: tools.length > 0 ? tools : undefined,
    if_busy: options.waits ? 'queue' : undefined,
  }
}

/** The image that an attachment is, as a URL. */
export function previewOf({ mime, content }: Attachment): string | undefined {
  return mime.startsWith('image/') ? `data:${mime};base64,${content}` : undefined
}

/** The user's message as it is shown until the service has given it an id: it has that of its request. `before` are the messages so far. */
export function questionOf(message: string, options: SendOptions, before: readonly GeneralChatMessage[], key: string): GeneralChatMessage {
  const { attachments = [] } = options
  const kept = keptFiles(before.find(({ id }) => id === options.editMessageId), options)
  const files = [...kept, ...attachments.map((file) => ({ info: { name: file.name, mime: file.mime, size: sizeOf(file) }, preview: previewOf(file) }))]
  return {
    id: LOCAL_ID + key, role: 'user', type: 'md', content: message, status: 'complete', created_at: new Date().toISOString(),
    action: options.action && clickOf(options.action),
    ...(files.length > 0 && { attachments: files.map(({ info }) => info), previews: files.map(({ preview }) => preview) }),
  }
}

/** The files of the edited message that the new one keeps. */
function keptFiles(edited: GeneralChatMessage | undefined, { attachments, keepAttachments }: SendOptions) {
  const files = (edited?.attachments ?? []).map((info, i) => ({ info, preview: edited?.previews?.[i] }))
  return keepAttachments ? keepAttachments.flatMap((i) => files[i] ?? []) : attachments ? [] : files
}

function clickOf(action: SuggestedAction, none?: object): ActionMetadata {
  return { action_identifier: action.action, action_data: action.data ?? none, payload_id: action.payload_id }
}
