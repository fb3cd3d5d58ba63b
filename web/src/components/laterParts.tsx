import type { ApprovalProps } from './Approval'
import type { AttachmentListProps } from './composer/Attachments'
import type { ComposerFootProps } from './composer/ComposerFoot'
import type { EditMessageProps } from './EditMessage'
import type { FeedbackFormProps } from './FeedbackForm'
import type { DiagnosticsPanelProps } from './DiagnosticsPanel'
import type { HistoryPanelProps } from './HistoryPanel'
import type { KeysPanelProps } from './KeysPanel'
import { later } from './later'
import type { MenuProps } from './Menu'
import type { PayloadPanelProps } from './PayloadPanel'
import type { ToolBodyProps } from './ToolBody'
import type { PaletteProps } from './composer/Palette'
import type { QueueProps } from './composer/Queue'
import type { VersionsProps } from './Versions'
import { ListSkeleton } from './Skeleton'

/** The user's chats: search, open, rename, pin, archive, delete. */
export const HistoryPanel = later<HistoryPanelProps>(() => import('./HistoryPanel'), ListSkeleton)
export const EditMessage = later<EditMessageProps>(() => import('./EditMessage'))
export const FeedbackForm = later<FeedbackFormProps>(() => import('./FeedbackForm'))
/** Navigates the versions of a message. */
export const Versions = later<VersionsProps>(() => import('./Versions'))
/** A call that waits until the user allows or denies it. */
export const Approval = later<ApprovalProps>(() => import('./Approval'))
/** Files that are attached, images as thumbnails. */
export const AttachmentList = later<AttachmentListProps>(() => import('./composer/Attachments'))
/** The messages that wait for the current answer. */
export const Queue = later<QueueProps>(() => import('./composer/Queue'))
/** What a `/` or an `@` offers. */
export const Palette = later<PaletteProps>(() => import('./composer/Palette'))
/** Below the input: the model, and what the chat has used. */
export const ComposerFoot = later<ComposerFootProps>(() => import('./composer/ComposerFoot'))
export const Menu = later<MenuProps>(() => import('./Menu'))
export const ToolBody = later<ToolBodyProps>(() => import('./ToolBody'))
export const PayloadPanel = later<PayloadPanelProps>(() => import('./PayloadPanel'))
/** What can be done with keys. */
export const KeysPanel = later<KeysPanelProps>(() => import('./KeysPanel'))
export const DiagnosticsPanel = later<DiagnosticsPanelProps>(() => import('./DiagnosticsPanel'))

/** Loads all parts of a tray but diagnostics, so that they are there when the connection is lost. What cannot be loaded is tried again when it is shown. */
export function loadParts(): void {
  for (const { load } of [HistoryPanel, EditMessage, FeedbackForm, Versions, Approval, AttachmentList, Queue, Palette, ComposerFoot, Menu, ToolBody, PayloadPanel, KeysPanel]) load().catch(() => undefined)
}
