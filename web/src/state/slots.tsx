import { createContext, createElement, useContext, type ComponentType, type ReactNode } from 'react'
import type { AnswerActionsProps } from '../components/AnswerActions'
import type { ApprovalProps } from '../components/Approval'
import type { ComposerProps } from '../components/Composer'
import type { EmptyProps } from '../components/Empty'
import type { MessageProps } from '../components/Message'
import type { SuggestionsProps } from '../components/Suggestions'
import type { ToolCallCardProps } from '../components/ToolCallCard'
import type { HeaderProps } from '../components/TrayHeader'
import { MarkdownPartsProvider, type CodeProps, type ImageProps, type LinkProps } from '../markdown/plugins'
import type { ToolView } from './view'

/** The props of the parts of a tray that a page may replace. */
export interface SlotProps {
  /** A message, of either side. */
  Message: MessageProps
  Answer: MessageProps
  UserMessage: MessageProps
  Composer: ComposerProps
  Header: HeaderProps
  /** What a chat without messages shows. */
  Empty: EmptyProps
  ToolCall: ToolCallCardProps
  /** A block of code, a link and an image in a text. */
  Code: CodeProps
  Link: LinkProps
  Image: ImageProps
  /** What the answer offers: chips and buttons. */
  Suggestions: SuggestionsProps
  /** What can be done with an answer: copy, judge, answer again. */
  Actions: AnswerActionsProps
  Approval: ApprovalProps
}

/** A page's own parts: each gets the part's props, and as `children` the part as it is. */
export type TrayComponents = { [K in keyof SlotProps]?: ComponentType<Omit<SlotProps[K], 'children'> & { children: ReactNode }> }

/** Shows the calls of one tool, in the answer, in the place of the card. */
export type ToolRenderer = (props: { tool: ToolView; runId?: string; children: ReactNode }) => ReactNode

export type ToolRenderers = Record<string, ToolRenderer>

const Components = createContext<TrayComponents>({})

/** Gives parts to what is below it; those left out are as above it. */
export function ComponentsProvider({ components, children }: { components?: TrayComponents; children: ReactNode }) {
  const above = useContext(Components)
  return <Components.Provider value={components ?? above}><MarkdownPartsProvider components={components}>{children}</MarkdownPartsProvider></Components.Provider>
}

/** A part as the page wants it: its own, around or instead of the usual one. */
export function slot<K extends Exclude<keyof SlotProps, 'Code' | 'Link' | 'Image'>>(name: K, Usual: ComponentType<SlotProps[K]>): ComponentType<SlotProps[K]> {
  function Slot(props: SlotProps[K]) {
    const Own = useContext(Components)[name] as ComponentType<object> | undefined
    const usual = <Usual {...props} />
    return Own ? createElement(Own, props, usual) : usual
  }
  Slot.displayName = name
  return Slot
}

/** The props of every part of a tray in addition to its own. */
export interface PartProps {
  className?: string
  /** Comes after what the part shows. */
  children?: ReactNode
}

export const classes = (...names: (string | undefined | false)[]) => names.filter(Boolean).join(' ')
