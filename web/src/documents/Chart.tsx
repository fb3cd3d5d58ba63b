import Papa from 'papaparse'
import { useEffect, useRef, useState, type RefObject } from 'react'
import { parse, View, type Loader } from 'vega'
import { expressionInterpreter } from 'vega-interpreter'
import { compile, type TopLevelSpec } from 'vega-lite'
import type { Props } from '../api/types'
import { useLabels } from '../state/ui'

/** Rows that are drawn. */
const MAX_ROWS = 20_000

/** Loads nothing: a chart has its data with it. */
const refuse = () => Promise.reject(new Error('charts load nothing'))
const loader: Loader = { load: refuse, sanitize: refuse, http: refuse, file: refuse }

/** A chart from a Vega-Lite specification without data, and CSV. Expressions are interpreted, never compiled. */
export default function Chart({ csv, spec }: { csv: string; spec: Props }) {
  const labels = useLabels()
  const box = useRef<HTMLDivElement>(null)
  const colours = useColours(box)
  const width = useWidth(box)
  const described = typeof spec.description === 'string' ? spec.description : typeof spec.title === 'string' ? spec.title : labels.chart
  const [problem, setProblem] = useState<'' | 'chartFailed' | 'chartEmpty'>('')
  useEffect(() => {
    const element = box.current
    if (!element || width === 0) return
    let view: View | null = null
    let gone = false
    const draw = async () => {
      view = new View(parse({ ...vegaOf(csv, spec, element), description: described }, {}, { ast: true }), { expr: expressionInterpreter, loader, renderer: 'canvas', container: element, hover: true, tooltip: () => undefined })
      await view.runAsync()
      if (gone) view.finalize()
    }
    draw().then(() => setProblem(''), (error: unknown) => setProblem(error instanceof NoData ? 'chartEmpty' : 'chartFailed'))
    return () => {
      gone = true
      view?.finalize()
      element.replaceChildren()
    }
  }, [csv, spec, colours, described, width])
  return (
    <>
      <div ref={box} className="ct-chart-box" role="img" aria-label={described} hidden={problem !== ''} />
      {problem && <p className="ct-note" data-tone="error">{labels[problem]}</p>}
    </>
  )
}

class NoData extends Error {}

/** The width that there is; a chart is drawn anew for another one. */
function useWidth(box: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0)
  useEffect(() => {
    const element = box.current
    if (!element) return
    const look = () => element.clientWidth > 0 && setWidth(element.clientWidth)
    look()
    const sizes = new ResizeObserver(look)
    sizes.observe(element)
    return () => sizes.disconnect()
  }, [box])
  return width
}

/** Changes with the colours of the page, whatever changed them: the theme, the system, or the host's own styles. */
function useColours(box: RefObject<HTMLElement | null>): string {
  const [colours, setColours] = useState('')
  useEffect(() => {
    const element = box.current
    if (!element) return
    const look = () => setColours(getComputedStyle(element).color)
    // The styles give the box a transition of its colour, so that every change of it ends in this event.
    element.addEventListener('transitionend', look)
    return () => element.removeEventListener('transitionend', look)
  }, [box])
  return colours
}

function vegaOf(csv: string, spec: Props, element: HTMLElement) {
  const { data: values } = Papa.parse<Props>(csv.trim(), { header: true, dynamicTyping: true, skipEmptyLines: true, preview: MAX_ROWS })
  if (values.length === 0) throw new NoData()
  const { data: _, datasets: __, usermeta: ___, $schema: ____, ...rest } = spec
  const style = getComputedStyle(element)
  const [text, line] = [style.color, style.getPropertyValue('--ct-chart-line') || '#8884']
  const light = { labelColor: text, titleColor: text, gridColor: line, domainColor: line, tickColor: line }
  const config = { background: 'transparent', font: style.fontFamily, view: { stroke: 'transparent' }, axis: light, legend: { labelColor: text, titleColor: text }, title: { color: text }, range: { category: ['#4f7df0', '#e39b2d', '#2fa56b', '#d65f8a', '#8b6fe0', '#3fa7c4'] } }
  const whole = { height: 280, ...rest, width: 'container', autosize: { type: 'fit', contains: 'padding' }, data: { values }, config } as unknown as TopLevelSpec
  const { spec: vega } = compile(whole, { logger: quiet })
  const signals = (vega.signals ?? []).map((s) => (s.name === 'width' ? { name: 'width', value: Math.max(200, element.clientWidth) } : s))
  return { ...vega, signals }
}

const quiet = { level: () => quiet, error: () => quiet, warn: () => quiet, info: () => quiet, debug: () => quiet } as unknown as NonNullable<Parameters<typeof compile>[1]>['logger']
