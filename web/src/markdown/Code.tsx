import { toJsxRuntime } from 'hast-util-to-jsx-runtime'
import { memo, useEffect, useMemo, useRef, useState, type ReactNode } from 'react'
import { Fragment, jsx, jsxs } from 'react/jsx-runtime'
import { ExpandIcon, WrapIcon } from '../components/icons'
import { useLabels } from '../state/tray'
import { CopyButton } from './copy'
import { useMarkdownParts, usePlugin, type CodeProps, type Highlight, type RenderDiagram } from './plugins'
import { Scroller } from './Scroller'
import { Tool, Whole } from './TableFrame'

/** Code with its language, in colours, and a button that copies it; of a diagram, the diagram. */
export const CodeBlock = memo(function CodeBlock({ language, code, streaming = false }: { language: string; code: string; streaming?: boolean }) {
  const { components } = useMarkdownParts({})
  const shown = <Block language={language} code={code} streaming={streaming} />
  return components?.Code ? <span className="ct-own"><components.Code {...{ language, code, streaming } satisfies Omit<CodeProps, 'children'>}>{shown}</components.Code></span> : shown
})

function Block({ language, code, streaming }: { language: string; code: string; streaming: boolean }) {
  const labels = useLabels()
  const [wide, setWide] = useState(false)
  const [wrap, setWrap] = useState(false)
  const [source, setSource] = useState(false)
  const [failed, setFailed] = useState('')
  const [open, setOpen] = useState(false)
  const isDiagram = language === 'mermaid' && code.length <= MAX_DIAGRAM
  const render = usePlugin('diagram', isDiagram && !streaming)
  const drawn = isDiagram && !streaming && render !== null && failed !== code && !source
  return (
    <div className="ct-frame ct-code" data-wrap={wrap || undefined}>
      <div className="ct-frame-head">
        <span>{language}</span>
        <span className="ct-frame-tools">
          {isDiagram && render && failed !== code && (
            <span className="ct-segmented">
              <button type="button" aria-pressed={!source} onClick={() => setSource(false)}>{labels.diagram}</button>
              <button type="button" aria-pressed={source} onClick={() => setSource(true)}>{labels.diagramSource}</button>
            </span>
          )}
          {(wide || wrap) && !drawn && <Tool label={labels.wrapCode} pressed={wrap} onClick={() => setWrap(!wrap)}><WrapIcon /></Tool>}
          {drawn && <Tool label={labels.expandDiagram} onClick={() => setOpen(true)}><ExpandIcon /></Tool>}
          <CopyButton text={code} label={labels.copyCode} />
        </span>
      </div>
      {drawn ? <Diagram render={render} source={code} onFail={() => setFailed(code)} /> : (
        <Scroller className="ct-code-body" label={labels.code(language)} onEdges={setWide}>
          <pre dir="ltr"><code><Coloured language={language} code={code} streaming={streaming} /></code></pre>
        </Scroller>
      )}
      {open && drawn && <Whole title={labels.diagram} onClose={() => setOpen(false)}><Diagram render={render} source={code} onFail={() => setFailed(code)} /></Whole>}
      {failed === code && isDiagram && !streaming && <p className="ct-frame-note">{labels.diagramFailed}</p>}
    </div>
  )
}

/** Characters of a diagram's source, and of code in colours; longer ones are shown as they are. */
const MAX_DIAGRAM = 20_000
const MAX_COLOURED = 40_000

function Coloured({ language, code, streaming }: { language: string; code: string; streaming: boolean }) {
  const highlight = usePlugin('highlight', language !== '' && code.length <= MAX_COLOURED)
  const last = useRef<Colours>(plain)
  const coloured = useMemo(() => {
    last.current = highlight && code.length <= MAX_COLOURED ? colouredAfter(last.current, highlight, code, language, streaming) : plain
    return last.current
  }, [highlight, code, language, streaming])
  return <>{coloured.shown}{code.slice(coloured.code.length)}</>
}

interface Colours {
  code: string
  language: string
  shown: ReactNode
}

const plain: Colours = { code: '', language: '', shown: null }

/**
 * While code grows, its whole lines are coloured, and again only when a tenth has come to them: the cost stays in step with
 * the length.
 */
function colouredAfter(before: Colours, highlight: Highlight, code: string, language: string, streaming: boolean): Colours {
  const whole = streaming ? code.slice(0, code.lastIndexOf('\n') + 1) : code
  const grows = before.language === language && code.startsWith(before.code)
  if (grows && (whole === before.code || (streaming && whole.length - before.code.length < Math.max(120, before.code.length / 10)))) return before
  const tree = whole === '' ? null : highlight(whole, language)
  return tree ? { code: whole, language, shown: toJsxRuntime(tree, { Fragment, jsx, jsxs }) as ReactNode } : plain
}

/** A diagram, drawn when the browser has time for it. */
function Diagram({ render, source, onFail }: { render: RenderDiagram; source: string; onFail: () => void }) {
  const labels = useLabels()
  const box = useRef<HTMLDivElement>(null)
  const fail = useRef(onFail)
  useEffect(() => {
    fail.current = onFail
  })
  useEffect(() => {
    let here = true
    const draw = async () => {
      try {
        const [svg, { showSvg }] = await Promise.all([render(source), import('./svg')])
        if (here && box.current) showSvg(box.current, svg)
      } catch {
        if (here) fail.current()
      }
    }
    const later = 'requestIdleCallback' in globalThis ? requestIdleCallback(() => void draw(), { timeout: 1000 }) : setTimeout(() => void draw())
    return () => {
      here = false
      if ('cancelIdleCallback' in globalThis) cancelIdleCallback(later as number)
      else clearTimeout(later)
    }
  }, [render, source])
  return <Scroller className="ct-diagram"><div ref={box} role="img" aria-label={labels.diagram} /></Scroller>
}
