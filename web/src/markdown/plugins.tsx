import type { Root } from 'hast'
import { createContext, useContext, useEffect, useMemo, useState, type ComponentType, type ReactNode } from 'react'
import { perObject } from '../state/perObject'
import { useHere } from '../state/useHere'
import { whenSettled } from '../state/whenSettled'

/** Draws a formula into an element. It throws when the formula is not TeX. */
export type RenderMath = (tex: string, element: HTMLElement, display: boolean) => void
/** The tree of coloured code, with classes as highlight.js names them; null for an unknown language. */
export type Highlight = (code: string, language: string) => Root | null
/** The elements of a tree of coloured code. */
export type Elements = (tree: Root) => ReactNode
/** A diagram as the text of an SVG. It throws when it cannot draw the source. */
export type RenderDiagram = (source: string) => string | Promise<string>

/** Functions that draw parts of an answer; each is loaded when it is first needed. False draws none, absent means the bundled one. */
export interface MarkdownPlugins {
  math?: false | (() => Promise<RenderMath>) | undefined
  highlight?: false | (() => Promise<Highlight>) | undefined
  diagram?: false | (() => Promise<RenderDiagram>) | undefined
}

export interface CodeProps {
  language: string
  code: string
  /** More code will follow. */
  streaming: boolean
  /** The default rendering. */
  children: ReactNode
}

export interface LinkProps {
  /** http, https or mailto, or an address of this site. */
  href: string
  /** The visible text of the link. */
  text: string
  children: ReactNode
}

export interface ImageProps {
  src: string
  alt: string
  children: ReactNode
}

/** Components that replace parts of an answer. Each gets its props, and the default as `children`. */
export interface MarkdownComponents {
  Code?: ComponentType<CodeProps> | undefined
  Link?: ComponentType<LinkProps> | undefined
  Image?: ComponentType<ImageProps> | undefined
}

const bundled: { [K in keyof MarkdownPlugins]-?: Exclude<MarkdownPlugins[K], false | undefined> } & { elements: () => Promise<Elements> } = {
  math: () => import('./mathml').then((m) => m.renderMath),
  highlight: () => import('./highlight').then((m) => m.highlight),
  diagram: () => import('./mermaid').then((m) => m.renderDiagram),
  elements: () => import('./colours').then((m) => m.elements),
}

export interface MarkdownParts {
  components?: MarkdownComponents | undefined
  plugins?: MarkdownPlugins | undefined
}

const Context = createContext<MarkdownParts>({})

/** Provides components and plugins to all Markdown below it; missing ones are inherited. */
export function MarkdownPartsProvider({ components, plugins, children }: MarkdownParts & { children: ReactNode }) {
  const parts = useMarkdownParts({ components, plugins })
  return <Context.Provider value={parts}>{children}</Context.Provider>
}

/** The parts of the nearest provider, overridden by the given ones. */
export function useMarkdownParts({ components, plugins }: MarkdownParts): MarkdownParts {
  const above = useContext(Context)
  return useMemo(() => (components || plugins ? { components: { ...above.components, ...components }, plugins: { ...above.plugins, ...plugins } } : above), [above, components, plugins])
}

type Loader<T> = () => Promise<T>
const loaded = perObject<Loader<unknown>, { value?: unknown; coming?: Promise<unknown> }>(() => ({}))

/** A plugin, loaded when it is first needed; null until then. If it cannot be loaded, the next part that needs it tries again. */
export function usePlugin<K extends keyof typeof bundled>(name: K, wanted: boolean): Awaited<ReturnType<(typeof bundled)[K]>> | null {
  type Value = Awaited<ReturnType<(typeof bundled)[K]>>
  const chosen = (useContext(Context).plugins as MarkdownPlugins & { elements?: undefined } | undefined)?.[name]
  const load = chosen === false ? null : ((chosen ?? bundled[name]) as Loader<Value>)
  const entry = wanted && load ? loaded(load) : null
  const here = useHere()
  const value = (here ? entry?.value : undefined) as Value | undefined
  const [, again] = useState(0)
  useEffect(() => {
    // It may have arrived after this was drawn.
    if (!entry || value !== undefined) return
    entry.coming ??= load!().then((arrived) => {
      entry.value = arrived
    }, () => {
      entry.coming = undefined
    })
    return whenSettled(entry.coming, () => again((n) => n + 1))
  }, [entry])
  return value ?? null
}
