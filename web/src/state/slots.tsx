import { createContext, createElement, useContext, type ComponentType, type ReactNode } from 'react'
import type { AnswerActionsProps } from '../components/AnswerActions'
import type { ApprovalProps } from '../components/Approval'
import type { ComposerProps } from '../components/composer/Composer'
import type { EmptyProps } from '../components/Empty'
import type { MessageProps } from '../components/Message'
import type { SuggestionsProps } from '../components/Suggestions'
import type { ToolCallCardProps } from '../components/ToolCallCard'
import type { HeaderProps } from '../components/TrayHeader'
import { Boundary } from './Boundary'
import { useBusy } from './context'
import { MarkdownPartsProvider, type CodeProps, type ImageProps, type LinkProps } from '../markdown/plugins'
import type { ToolView } from './values/view'

/** The props of the parts of a tray that a page may replace. */
export interface SlotProps {
  /** A message, of either side. */
  Message: MessageProps
  Answer: MessageProps
  UserMessage: MessageProps
  Composer: ComposerProps
  Header: HeaderProps
  /** The content of a chat without messages. */
  Empty: EmptyProps
  ToolCall: ToolCallCardProps
  /** A block of code, a link and an image in a text. */
  Code: CodeProps
  Link: LinkProps
  Image: ImageProps
  /** The suggestions of an answer: chips and buttons. */
  Suggestions: SuggestionsProps
  /** The buttons of an answer: copy, rate, answer again. */
  Actions: AnswerActionsProps
  Approval: ApprovalProps
}

/** A page's own parts: each gets the part's props, and the default part as `children`. Those of a message also get `busy`: whether an answer is being written. */
export type TrayComponents = { [K in keyof SlotProps]?: ComponentType<Omit<SlotProps[K], 'children'> & { children: ReactNode } & (SlotProps[K] extends { message: unknown } ? { busy: boolean } : unknown)> | undefined }

/** Shows the calls of one tool in the answer, instead of the card. */
export type ToolRenderer = (props: { tool: ToolView; runId?: string; children: ReactNode }) => ReactNode

/** Renderers by the names of tools. */
export type ToolRenderers = Record<string, ToolRenderer>

const Components = createContext<TrayComponents>({})

/** Provides parts to the components below it; missing ones are inherited. */
export function ComponentsProvider({ components, children }: { components?: TrayComponents; children: ReactNode }) {
  const above = useContext(Components)
  return <Components.Provider value={components ?? above}><MarkdownPartsProvider components={components}>{children}</MarkdownPartsProvider></Components.Provider>
}

/** A part: the page's own component if it has one, which gets the default as children, else the default. It is the default also where the page's component throws. */
export function slot<K extends Exclude<keyof SlotProps, 'Code' | 'Link' | 'Image'>>(name: K, Usual: ComponentType<SlotProps[K]>): ComponentType<SlotProps[K]> {
  function Slot(props: SlotProps[K]) {
    const Own = useContext(Components)[name] as ComponentType<object> | undefined
    const usual = <Usual {...props} />
    const { message, tool } = props as { message?: { status: string }; tool?: { status: string } }
    return Own ? <Boundary of={(message ?? tool)?.status} instead={usual}>{message ? <OfMessage {...props} Own={Own}>{usual}</OfMessage> : createElement(Own, props, usual)}</Boundary> : usual
  }
  Slot.displayName = name
  return Slot
}

/** A page's own part of a message. The tray's parts are not drawn again for `busy`. */
function OfMessage({ Own, ...props }: { Own: ComponentType<object>; children: ReactNode }) {
  return <Own {...props} {...{ busy: useBusy() }} />
}

/** Props that every part of a tray has in addition to its own. */
export interface PartProps {
  className?: string | undefined
  /** Shown after the part's content. */
  children?: ReactNode
}

export const classes = (...names: (string | undefined | false)[]) => names.filter(Boolean).join(' ')
