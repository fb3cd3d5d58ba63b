import Papa from 'papaparse'
import { useEffect, useId, useRef, useState, type RefObject } from 'react'
import { parse, View, type Loader, type Signal, type Spec } from 'vega'
import { formatValue, Handler } from 'vega-tooltip'
import type { Props } from '../api/types'
import { DownloadIcon } from '../components/icons'
import { download } from '../markdown/copy'
import { Tool } from '../markdown/TableFrame'
import { useAllLabels } from '../state/allLabels'
import { configOf } from './chartConfig'
import { limitedInterpreter } from './chartExpressions'
import { compiled } from './chartLimits'

/** Rows that are drawn. */
const MAX_ROWS = 20_000

/** Loads nothing: a chart has its data with it. */
const refuse = () => Promise.reject(new Error('charts load nothing'))
const loader: Loader = { load: refuse, sanitize: refuse, http: refuse, file: refuse }

/** A chart from a Vega-Lite specification without data, and CSV. Expressions are interpreted, never compiled; one that would take too long is not drawn. */
export default function Chart({ csv, spec }: { csv: string; spec: Props }) {
  const labels = useAllLabels()
  const box = useRef<HTMLDivElement>(null)
  const tip = useRef<HTMLDivElement>(null)
  const id = useId()
  const drawn = useRef<View | null>(null)
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
      const vega = vegaOf(csv, spec, element)
      const { expr, finish } = limitedInterpreter()
      view = new View(parse({ ...vega, description: described }, {}, { ast: true }), { expr, loader, renderer: 'canvas', container: element, hover: true, tooltip: tooltipOf(id) })
      await view.runAsync()
      finish()
      drawn.current = gone ? null : view
      if (gone) return view.finalize()
      // Vega-Lite leaves out rows without the values that it would draw.
      const from = sourcesOf(vega as Drawn)
      if (from.length > 0 && from.every((name) => view?.data(name).length === 0)) throw new NoData()
    }
    draw().then(() => setProblem(''), (error: unknown) => setProblem(error instanceof NoData ? 'chartEmpty' : 'chartFailed'))
    return () => {
      gone = true
      drawn.current = null
      view?.finalize()
      element.replaceChildren()
    }
  }, [csv, spec, colours, described, width, id])
  const save = async () => {
    const view = drawn.current
    if (!view || !tip.current) return
    const canvas = await view.background(getComputedStyle(tip.current).backgroundColor).toCanvas(PNG_SCALE)
    view.background('transparent')
    canvas.toBlob((png) => png && download('chart.png', png))
  }
  return (
    <div className="ct-chart-frame">
      <div ref={box} className="ct-chart-box" role="img" aria-label={described} hidden={problem !== ''} />
      <div ref={tip} id={id} className="ct-chart-tip" />
      {!problem && <span className="ct-chart-tools"><Tool label={labels.chartPng} onClick={() => void save()}><DownloadIcon /></Tool></span>}
      {problem && <p className="ct-note" data-tone="error">{labels[problem]}</p>}
    </div>
  )
}

const PNG_SCALE = 2

/** Shows the tooltip in an element of the chart's own, in our styles and without images. */
function tooltipOf(id: string) {
  return new Handler({
    id, disableDefaultStyle: true, theme: 'ct', maxDepth: 2,
    formatTooltip: (value: unknown, sanitize: (text: unknown) => string, depth: number) => formatValue(value !== null && typeof value === 'object' && 'image' in value ? { ...value, image: undefined } : value, sanitize, depth, ''),
  }).call
}

class NoData extends Error {}

interface Drawn {
  from?: { data?: string; facet?: { data?: string } }
  marks?: Drawn[]
}

/** The names of the data that marks are drawn from. */
function sourcesOf({ from, marks = [] }: Drawn): string[] {
  const name = from?.data ?? from?.facet?.data
  return name !== undefined ? [name] : marks.flatMap(sourcesOf)
}

/** The available width; a chart is drawn again when it changes. */
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
  const { data: _, datasets: __, usermeta: ___, $schema: ____, config: own, ...rest } = spec
  const style = getComputedStyle(element)
  const config = configOf(own as Props | undefined, { text: style.color, line: style.getPropertyValue('--ct-chart-line') || '#8884', font: style.fontFamily })
  const vega = compiled({ height: 280, ...rest, width: 'container', autosize: { type: 'fit', contains: 'padding' }, config }, values)
  const signals = ((vega.signals ?? []) as Signal[]).map((s) => (s.name === 'width' ? { name: 'width', value: Math.max(200, element.clientWidth) } : s))
  return { ...vega, signals } as Spec
}
