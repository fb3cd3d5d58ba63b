import type { Root } from 'hast'
import { createContext, useContext, useEffect, useMemo, useState, type ComponentType, type ReactNode } from 'react'

/** Draws a formula into an element. It throws when the formula is not TeX. */
export type RenderMath = (tex: string, element: HTMLElement, display: boolean) => void
/** The tree of coloured code, with classes as highlight.js names them; null where the language is not known. */
export type Highlight = (code: string, language: string) => Root | null
/** A diagram as the text of an SVG. It throws when the source is no diagram that it can draw. */
export type RenderDiagram = (source: string) => string | Promise<string>

/** What draws the parts of an answer that are loaded only when there is one: false draws none, absent is the bundled one. */
export interface MarkdownPlugins {
  math?: false | (() => Promise<RenderMath>)
  highlight?: false | (() => Promise<Highlight>)
  diagram?: false | (() => Promise<RenderDiagram>)
}

export interface CodeProps {
  language: string
  code: string
  /** More of it is to come. */
  streaming: boolean
  /** What is shown without a component of your own. */
  children: ReactNode
}

export interface LinkProps {
  /** http, https or mailto, or an address of this site. */
  href: string
  /** What a reader sees of the link as text. */
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
  Code?: ComponentType<CodeProps>
  Link?: ComponentType<LinkProps>
  Image?: ComponentType<ImageProps>
}

const bundled: Required<{ [K in keyof MarkdownPlugins]: Exclude<MarkdownPlugins[K], false> }> = {
  math: () => import('./mathml').then((m) => m.renderMath),
  highlight: () => import('./highlight').then((m) => m.highlight),
  diagram: () => import('./mermaid').then((m) => m.renderDiagram),
}

export interface MarkdownParts {
  components?: MarkdownComponents
  plugins?: MarkdownPlugins
}

const Context = createContext<MarkdownParts>({})

/** Gives components and plugins to all Markdown below; those left out are as above it. */
export function MarkdownPartsProvider({ components, plugins, children }: MarkdownParts & { children: ReactNode }) {
  const parts = useMarkdownParts({ components, plugins })
  return <Context.Provider value={parts}>{children}</Context.Provider>
}

/** The parts of the nearest provider, with some of their own. */
export function useMarkdownParts({ components, plugins }: MarkdownParts): MarkdownParts {
  const above = useContext(Context)
  return useMemo(() => (components || plugins ? { components: { ...above.components, ...components }, plugins: { ...above.plugins, ...plugins } } : above), [above, components, plugins])
}

type Loader<T> = () => Promise<T>
const loaded = new WeakMap<Loader<unknown>, { value?: unknown; coming?: Promise<unknown> }>()

/** A plugin, loaded when it is wanted for the first time; null until then. What cannot be loaded is tried again by the next part that wants it. */
export function usePlugin<K extends keyof MarkdownPlugins>(name: K, wanted: boolean): Awaited<ReturnType<(typeof bundled)[K]>> | null {
  type Value = Awaited<ReturnType<(typeof bundled)[K]>>
  const chosen = useContext(Context).plugins?.[name]
  const load = chosen === false ? null : ((chosen ?? bundled[name]) as Loader<Value>)
  const [, again] = useState(0)
  useEffect(() => {
    if (!wanted || !load || loaded.get(load)?.value !== undefined) return
    let here = true
    const entry = loaded.get(load) ?? {}
    loaded.set(load, entry)
    entry.coming ??= load().then((value) => {
      entry.value = value
    })
    entry.coming.then(() => here && again((n) => n + 1), () => {
      entry.coming = undefined
    })
    return () => {
      here = false
    }
  }, [wanted, load])
  return wanted && load ? ((loaded.get(load)?.value as Value | undefined) ?? null) : null
}
