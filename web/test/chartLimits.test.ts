import { parse, View, type Spec } from 'vega'
import { describe, expect, it } from 'vitest'
import type { Props } from '../src/api/types'
import { limitedInterpreter } from '../src/documents/chartExpressions'
import { compiled, TooMuch } from '../src/documents/chartLimits'

const DAYS = Array.from({ length: 40 }, (_, i) => ({ x: i, y: (i * 7) % 11, kind: 'abc'[i % 3], when: `2026-01-${String((i % 28) + 1).padStart(2, '0')}` }))

/** Draws a chart without a canvas. */
async function draw(spec: Props, values: readonly Props[] = DAYS) {
  const { expr, finish } = limitedInterpreter()
  const view = new View(parse({ ...compiled({ height: 200, width: 300, ...spec }, values) } as Spec, {}, { ast: true }), { expr, renderer: 'none', logger: quiet })
  await view.runAsync()
  finish()
  return view
}
const logged: string[] = []
const quiet = { level: () => quiet, error: (...words: unknown[]) => (logged.push(String(words[0])), quiet), warn: () => quiet, info: () => quiet, debug: () => quiet } as never

const q = (field: string, more: object = {}) => ({ field, type: 'quantitative', ...more })
const xy = { x: q('x'), y: q('y') }
const point = (more: object = {}) => ({ mark: 'point', encoding: xy, ...more })
const encoded = (x: object, y: object = q('y')) => ({ mark: 'bar', encoding: { x, y } })
const long = Array.from({ length: 3_000 }, (_, i) => ({ x: i, y: i, kind: `k${i}`, when: 't' }))
const when = (more: object = {}) => ({ field: 'when', type: 'temporal', ...more })

describe('a chart that would take too long', () => {
  const doubled = Array.from({ length: 40 }, (_, i) => ({ calculate: i === 0 ? '"0123456789"' : 'datum.t + datum.t', as: 't' }))
  it.each<[string, Props, (readonly Props[])?]>([
    ['data without rows', { layer: [{ ...point(), data: { sequence: { start: 0, stop: 1e9 } } }] }],
    ['a map of lines', { layer: [{ mark: 'geoshape', data: { graticule: { step: [1e-4, 1e-4] } } }] }],
    ['a sequence', point({ transform: [{ calculate: 'sequence(0, 1e9)', as: 'z' }] })],
    ['a sequence of times', point({ transform: [{ calculate: 'utcSequence("milliseconds", 0, 1e12)', as: 'z' }] })],
    ['a sequence in a parameter', point({ params: [{ name: 'p', expr: 'length(sequence(1e9))' }] })],
    ['the values of an axis', encoded(q('x', { axis: { values: { expr: 'sequence(0, 1e9)' } } }))],
    ['ticks', encoded(q('x', { axis: { tickCount: 1e9 } }))],
    ['ticks of the configuration', point({ config: { axis: { tickCount: 1e9 } } })],
    ['ticks of a legend', { mark: 'point', encoding: { ...xy, color: q('y', { legend: { tickCount: 1e9 } }) } }],
    ['bins', encoded(q('x', { bin: { maxbins: 1e9 } }))],
    ['narrow bins', encoded(q('x', { bin: { step: 1e-7 } }))],
    ['bins without end', encoded(q('x', { bin: { base: 1.0000001 } }))],
    ['bins of which there are fewer than none', point({ transform: [{ bin: { maxbins: -1 }, field: 'x', as: 'b' }] })],
    ['bins of a scale', encoded(q('x', { scale: { bins: { step: 1e-7 } } }))],
    ['bins of an expression', encoded(q('x', { bin: { maxbins: { signal: '1e9' } } }))],
    ['colours', { mark: 'rect', encoding: { ...xy, color: q('y', { scale: { type: 'quantize', scheme: { name: 'blues', count: 1e9 } } }) } }],
    ['a density', { transform: [{ density: 'x', steps: 1e9 }], mark: 'area', encoding: { x: q('value'), y: q('density') } }],
    ['quantiles', { transform: [{ quantile: 'x', step: 1e-9 }], mark: 'point', encoding: { x: q('prob'), y: q('value') } }],
    ['a regression', { transform: [{ regression: 'y', on: 'x', method: 'poly', order: 1e6 }], mark: 'line', encoding: xy }],
    ['values between others', { mark: 'line', encoding: { x: q('x'), y: q('y', { impute: { value: 0, keyvals: { start: 0, stop: 1e9 } } }) } }],
    ['an area for each row', { mark: 'area', encoding: { ...xy, color: { field: 'kind', type: 'nominal' } } }, long],
    ['columns for each row', { transform: [{ pivot: 'kind', value: 'y', groupby: ['x'] }], ...point() }, long],
    ['folds', point({ transform: Array.from({ length: 12 }, () => ({ fold: ['x', 'y', 'x', 'y'] })) })],
    ['lists as rows', point({ transform: [{ calculate: '[1, 2]', as: 'a' }, { flatten: ['a'] }] })],
    ['medians of windows', point({ transform: [{ window: [{ op: 'median', field: 'y', as: 'm' }], frame: [-4_000, 4_000] }] }), [...long, ...long, ...long]],
    ['views', { repeat: { row: Array(40).fill('x'), column: Array(40).fill('y') }, spec: point() }],
    ['views in views', { repeat: Array(10).fill('x'), spec: { repeat: { row: Array(10).fill('x') }, spec: point() } }],
    ['a view for each row', { ...point(), encoding: { ...xy, facet: { field: 'kind', columns: 3 } } }, [...long, ...long.map((row) => ({ ...row, kind: `j${row.kind}` }))]],
    ['long texts', point({ transform: doubled })],
    ['a text that is filled up', point({ transform: [{ calculate: 'pad("", 1e8, "x")', as: 'z' }] })],
    ['a number that is filled up', point({ transform: [{ calculate: 'format(1, "100000000d")', as: 'z' }] })],
    ['a label that is filled up', encoded(q('x', { axis: { format: '100000000d' } }))],
    ['a regular expression', point({ transform: [{ filter: 'test(/(a+)+$/, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab")' }] })],
    ['a regular expression of a text', point({ transform: [{ filter: 'test("(a+)+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab")' }] })],
    ['all rows for each row', point({ transform: [{ calculate: 'length(sort(pluck(data("source_0"), "x")))', as: 'z' }] }), Array.from({ length: 7 }, () => long).flat().slice(0, 20_000)],
    ['a timer', point({ params: [{ name: 'p', select: { type: 'point', on: 'timer{1}' } }] })],
  ])('is not drawn: %s', async (_, spec, values) => {
    expect(await draw(spec, values).then(() => 'drawn', (error: unknown) => error)).toBeInstanceOf(TooMuch)
  })

  it('has few ticks where there would be one for each day of many years', async () => {
    const spec = { mark: 'point', encoding: { x: when({ axis: { tickCount: 'day' } }), y: q('y') } }
    for (const [last, days] of [['2026-02-01', 32], ['+200000-01-01', 20]] as const) {
      const labels = textsOf(await draw(spec, [{ when: '2026-01-01', y: 1 }, { when: last, y: 2 }]))
      expect(labels.filter((text) => text !== '1' && text !== '2').length).toBeLessThan(days + 20)
    }
  })
})

/** The texts of what was drawn. */
function textsOf(view: View): string[] {
  const all: string[] = []
  const read = ({ items, marktype, text }: { items?: unknown[]; marktype?: string; text?: unknown }) => {
    if (marktype === undefined && text !== undefined) all.push(String(text))
    for (const item of items ?? []) read(item as object)
  }
  read((view.scenegraph() as unknown as { root: never }).root)
  return all
}

describe('an ordinary chart', () => {
  const texts = { field: 'kind', type: 'nominal' }
  it.each<[string, Props, (readonly Props[])?]>([
    ['bars', encoded({ field: 'kind', type: 'nominal' }, { aggregate: 'sum', field: 'y' })],
    ['lines with a tooltip', { mark: { type: 'line', point: true, tooltip: true }, encoding: { ...xy, color: texts } }],
    ['areas', { mark: 'area', encoding: { ...xy, color: texts } }],
    ['a large area', { mark: 'area', encoding: { ...xy, color: texts } }, Array.from({ length: 5_000 }, (_, i) => ({ x: i, y: i % 97, kind: 'abcde'[i % 5] }))],
    ['many points', { mark: 'point', encoding: { ...xy, color: texts, tooltip: [q('x', { format: '.2f' }), texts] } }, Array.from({ length: 20_000 }, (_, i) => ({ x: i, y: i % 97, kind: 'abcde'[i % 5] }))],
    ['a histogram', encoded(q('x', { bin: true }), { aggregate: 'count' } as never)],
    ['wide bins of prices', encoded(q('x', { bin: { step: 50_000 } }), { aggregate: 'count' } as never), [{ x: 120_000 }, { x: 990_000 }]],
    ['bins of nearly equal numbers', encoded(q('x', { bin: true }), { aggregate: 'count' } as never), [{ x: 0 }, { x: 1e-323 }]],
    ['a heat map', { mark: 'rect', encoding: { x: q('x', { bin: { maxbins: 20 } }), y: q('y', { bin: true }), color: { aggregate: 'count' } } }],
    ['months', { mark: 'line', encoding: { x: when({ timeUnit: 'yearmonth', axis: { tickCount: 'month', format: '%b %Y' } }), y: q('y', { aggregate: 'mean' }) } }],
    ['facets', { ...point(), encoding: { ...xy, row: texts } }],
    ['repeated', { repeat: { layer: ['x', 'y'] }, spec: { mark: 'line', encoding: { x: q('x'), y: { field: { repeat: 'layer' }, type: 'quantitative' } } } }],
    ['a rule at a value', { layer: [point(), { mark: 'rule', encoding: { y: { datum: 5 } } }, { data: { values: [{ at: 3 }] }, mark: 'rule', encoding: { x: q('at') } }] }],
    ['a box plot', { mark: 'boxplot', encoding: { x: texts, y: q('y') } }],
    ['an error band', { layer: [{ mark: { type: 'errorband', extent: 'ci' }, encoding: xy }, { mark: 'line', encoding: { x: q('x'), y: q('y', { aggregate: 'mean' }) } }] }],
    ['a density', { transform: [{ density: 'x', groupby: ['kind'] }], mark: 'area', encoding: { x: q('value'), y: q('density'), color: texts } }],
    ['a trend', { layer: [point(), { transform: [{ loess: 'y', on: 'x' }], mark: 'line', encoding: xy }, { transform: [{ regression: 'y', on: 'x', method: 'poly', order: 3 }], mark: 'line', encoding: xy }] }],
    ['a moving mean', point({ transform: [{ window: [{ op: 'mean', field: 'y', as: 'm' }], frame: [-3, 3] }, { calculate: 'upper(substring(replace(datum.kind, "a", "b"), 0, 1)) + format(datum.m, ",.1f")', as: 't' }, { filter: 'datum.x > 3' }] })],
    ['folded columns', { transform: [{ fold: ['x', 'y'] }], mark: 'line', encoding: { x: q('x'), y: q('value'), color: { field: 'key', type: 'nominal' } } }],
    ['a pie', { mark: { type: 'arc', innerRadius: 40 }, encoding: { theta: { aggregate: 'sum', field: 'y' }, color: texts } }],
    ['a selection', { params: [{ name: 'p', select: 'interval', bind: 'scales' }, { name: 'h', select: { type: 'point', on: 'pointerover', nearest: true } }], mark: 'point', encoding: { ...xy, opacity: { condition: { param: 'h', value: 1 }, value: 0.4 } } }],
    ['labels', { encoding: { x: texts, y: q('y', { axis: { labelExpr: 'datum.value + " t"', tickCount: 5, format: '$,.2f' } }) }, layer: [{ mark: 'bar' }, { mark: 'text', encoding: { text: q('y') } }] }],
    ['stacked columns in parts', { mark: 'bar', encoding: { x: texts, y: q('y', { aggregate: 'sum', stack: 'normalize' }), color: { field: 'when', sort: ['2026-01-02', '2026-01-01'] } } }],
    ['places', { projection: { type: 'mercator' }, mark: 'circle', encoding: { longitude: q('x'), latitude: q('y') } }],
    ['values that are missing', { mark: 'line', encoding: { x: q('x'), y: q('y', { impute: { value: 0, keyvals: { start: 0, stop: 50 } } }), color: texts } }],
    ['side by side', { hconcat: [point(), { vconcat: [point(), encoded(texts)] }] }],
  ])('is drawn: %s', async (_, spec, values) => {
    logged.length = 0
    const view = await draw(spec, values)
    expect(logged).toEqual([])
    expect((view.scenegraph() as unknown as { toJSON: () => string }).toJSON().length).toBeGreaterThan(1_000)
  })
})
