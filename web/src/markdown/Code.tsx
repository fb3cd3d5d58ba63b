import { memo, useEffect, useRef, useState, type ReactNode } from 'react'
import { ExpandIcon, WrapIcon } from '../components/icons'
import { Boundary } from '../state/Boundary'
import { useLabels } from '../state/tray'
import { useLatest } from '../state/useLatest'
import { whenIdle } from '../state/whenIdle'
import { CopyButton } from './copy'
import { useMarkdownParts, usePlugin, type CodeProps, type Elements, type Highlight, type RenderDiagram } from './plugins'
import { Scroller } from './Scroller'
import { Tool, Whole } from './TableFrame'

/** Code in colours, with its language and a button that copies it; the source of a diagram is shown as the diagram. */
export const CodeBlock = memo(function CodeBlock({ language, code, streaming = false }: { language: string; code: string; streaming?: boolean }) {
  const { components } = useMarkdownParts({})
  const shown = <Block language={language} code={code} streaming={streaming} />
  return components?.Code ? <span className="ct-own"><Boundary of={streaming} instead={shown}><components.Code {...{ language, code, streaming } satisfies Omit<CodeProps, 'children'>}>{shown}</components.Code></Boundary></span> : shown
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

/** The most characters of a diagram's source, and of code in colours; longer ones are shown as plain text. */
const MAX_DIAGRAM = 20_000
const MAX_COLOURED = 40_000

function Coloured({ language, code, streaming }: { language: string; code: string; streaming: boolean }) {
  const { plugins } = useMarkdownParts({})
  const wanted = language !== '' && code.length <= MAX_COLOURED && plugins?.highlight !== false
  const highlight = usePlugin('highlight', wanted)
  const elements = usePlugin('elements', wanted)
  const [done, setDone] = useState(plain)
  const before = done.language === language && code.startsWith(done.code) ? done : plain
  const whole = streaming ? code.slice(0, code.lastIndexOf('\n') + 1) : code
  const due = highlight !== null && elements !== null && code.length <= MAX_COLOURED && whole.length - before.code.length >= (streaming && before.code !== '' ? Math.max(120, before.code.length / 10) : 1)
  const latest = useRef(whole)
  useEffect(() => {
    latest.current = whole
  })
  useEffect(() => {
    if (!due) return
    return whenIdle(() => setDone(colouredOf(highlight, elements, latest.current, language)))
  }, [due, highlight, elements, language])
  return <>{before.shown}{code.slice(before.code.length)}</>
}

interface Colours {
  code: string
  language: string
  shown: ReactNode
}

const plain: Colours = { code: '', language: '', shown: null }

/**
 * Code is coloured when the browser is idle, not while a frame is drawn. While code grows, only its complete lines are coloured, and
 * again when they have grown by a tenth, so that the cost stays proportional to the length.
 */
function colouredOf(highlight: Highlight, elements: Elements, code: string, language: string): Colours {
  const tree = highlight(code, language)
  return { code, language, shown: tree ? elements(tree) : code }
}

/** A diagram, drawn when the browser is idle. */
function Diagram({ render, source, onFail }: { render: RenderDiagram; source: string; onFail: () => void }) {
  const labels = useLabels()
  const box = useRef<HTMLDivElement>(null)
  const fail = useLatest(onFail)
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
    const cancel = whenIdle(() => void draw())
    return () => {
      here = false
      cancel()
    }
  }, [render, source])
  return <Scroller className="ct-diagram" label={labels.diagram}><div ref={box} role="img" aria-label={labels.diagram} /></Scroller>
}
