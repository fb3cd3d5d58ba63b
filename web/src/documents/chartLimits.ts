import { compile, type TopLevelSpec } from 'vega-lite'
import type { Props } from '../api/types'

/** Limits of a chart: a model may have written its specification and its data, and the page stands still while it is drawn. */
export const CHART_LIMITS = {
  /** Views in each other and beside each other. */
  views: 50,
  /** Ticks, bins, steps, and colours of a scheme. */
  count: 1_000,
  /** Rows that a transform may make. */
  rows: 2_000_000,
  /** Items of an array, and characters of a text, that an expression makes. */
  length: 20_000,
  /** Work of the expressions until the chart is drawn: a part of an expression, an item of an array, a character, and a comparison are one each. */
  work: 100_000_000,
  /** Work to prepare an expression, which each part of a facet does. */
  preparing: 5_000,
}

/** Thrown for a chart that exceeds a limit. */
export class TooMuch extends Error {}

export function within(ok: boolean): void {
  if (!ok) throw new TooMuch('the chart is too large')
}

export const isProps = (value: unknown): value is Props => typeof value === 'object' && value !== null

/** Compiles a Vega-Lite specification with its rows. It throws for one that exceeds a limit. */
export function compiled(spec: Props, values: readonly Props[]): Props {
  within(viewsOf(spec) <= CHART_LIMITS.views)
  const vega = withFewTicks(compile({ ...spec, data: { values } } as unknown as TopLevelSpec, { logger: quiet }).spec as unknown as Props)
  checkSpec(vega, values)
  return vega
}

const quiet = { level: () => quiet, error: () => quiet, warn: () => quiet, info: () => quiet, debug: () => quiet } as unknown as NonNullable<Parameters<typeof compile>[1]>['logger']

/** How many views a Vega-Lite specification has. */
function viewsOf(spec: unknown): number {
  if (!isProps(spec)) return 1
  const { repeat, spec: inner } = spec
  const lists = isProps(repeat) && !Array.isArray(repeat) ? Object.values(repeat) : [repeat]
  const times = lists.reduce<number>((all, list) => all * (Array.isArray(list) ? list.length : 1), 1)
  const parts = ['layer', 'concat', 'hconcat', 'vconcat'].flatMap((key) => (Array.isArray(spec[key]) ? spec[key] : []))
  return times * (parts.length > 0 ? parts.reduce<number>((all, part) => all + viewsOf(part), 0) : isProps(inner) ? viewsOf(inner) : 1)
}

/** The transforms of Vega that a chart may have. None makes rows from nothing. */
const TRANSFORMS = new Set([
  'aggregate', 'bin', 'collect', 'extent', 'filter', 'fold', 'formula', 'geojson', 'geopoint', 'identifier', 'impute', 'joinaggregate', 'kde', 'loess', 'lookup', 'pivot', 'quantile', 'regression', 'sample', 'stack', 'timeunit', 'voronoi', 'window',
])

/** Keys of numbers that say how many of something there are. */
const COUNTS = new Set(['tickCount', 'maxbins', 'steps', 'minsteps', 'maxsteps', 'count'])

/** A width in a format of numbers, to which they are filled up. */
export const WIDE = /\d{3}/

/** Checks that the Vega specification of a chart makes no more than it may of the rows that it has. Thus what Vega-Lite adds, and what its shorter forms mean, is checked too. */
function checkSpec(vega: Props, rows: readonly Props[]): void {
  const different = (field: unknown) => (typeof field === 'string' && rows[0] && Object.hasOwn(rows[0], field) ? new Set(rows.map((row) => row[field])).size : rows.length)
  const groups = (fields: unknown) => {
    within(fields === undefined || Array.isArray(fields))
    return ((fields ?? []) as unknown[]).reduce<number>((all, field) => Math.min(all * different(field), rows.length), 1)
  }
  let folded = rows.length
  const checkTransform = (t: Props) => {
    within(TRANSFORMS.has(String(t.type)))
    const ops = Array.isArray(t.ops) ? t.ops : []
    const [from, to] = Array.isArray(t.frame) ? t.frame : [null, null]
    switch (t.type) {
      case 'bin':
        // Otherwise the search for the width of a bin would not end.
        within(Number(t.base ?? 10) >= 2 && Number(t.maxbins ?? 1) >= 1)
        t.minstep = Math.max(Number(t.minstep ?? 0), 1e-200)
        break
      case 'fold':
        within(Array.isArray(t.fields) && (folded *= t.fields.length) <= CHART_LIMITS.rows)
        break
      case 'impute':
        within(groups(t.groupby) * (different(t.key) + (Array.isArray(t.keyvals) ? t.keyvals.length : t.keyvals ? CHART_LIMITS.length : 0)) <= CHART_LIMITS.rows)
        break
      case 'pivot':
        within(groups(t.groupby) * different(t.field) <= CHART_LIMITS.rows)
        break
      case 'kde':
        within(groups(t.groupby) * Math.max(...[200, t.steps, t.maxsteps].map((n) => Number(n ?? 0))) <= CHART_LIMITS.rows)
        break
      case 'quantile':
        within(groups(t.groupby) / Number(t.step ?? 0.01) <= CHART_LIMITS.rows && Number(t.step ?? 1) >= 1 / CHART_LIMITS.count)
        break
      case 'regression':
        within(Number(t.order ?? 1) <= 10)
        break
      case 'window':
        // These are computed from all rows of the frame, for each row.
        within(!ops.some((op) => String(op).startsWith('ci')) && (!ops.some((op) => /^(?:median|q[13])$/.test(String(op))) || rows.length * (typeof from === 'number' && typeof to === 'number' ? to - from : rows.length) <= 10 * CHART_LIMITS.rows))
    }
  }
  const check = (value: unknown, key: string): void => {
    if (Array.isArray(value)) return value.forEach((item) => check(item, COUNTS.has(key) ? '' : key))
    if (COUNTS.has(key) && value !== undefined) within((typeof value === 'number' && value <= CHART_LIMITS.count) || (key === 'tickCount' && isProps(value) && 'signal' in value))
    if (typeof value === 'string') within(!(/format$/i.test(key) && WIDE.test(value)) && !(key === 'events' && value.includes('timer')))
    if (!isProps(value)) return
    if (key === 'transform') checkTransform(value)
    if (key === 'bins') within('signal' in value || (isNumbers(value) && isShort(value)))
    within(value.type !== 'timer' && value.source !== 'timer' && !(key === 'bind' && 'element' in value))
    for (const [name, inner] of Object.entries(value)) if (key !== 'data' || name !== 'values') check(inner, name)
  }
  check(vega, '')
}

/** Whether these are bins of a scale. */
export const isNumbers = ({ start, stop, step }: Props) => [start, stop, step].every((n) => typeof n === 'number')

/** Whether there are few numbers from start to stop. */
export const isShort = ({ start, stop, step }: Props) => !((Number(stop) - Number(start)) / Number(step) > CHART_LIMITS.count)

const SECONDS: Record<string, number> = { second: 1, minute: 60, hour: 3_600, day: 86_400, week: 604_800, month: 2_592_000, year: 31_536_000 }

/** A Vega specification whose axes and legends have no more ticks and bins than they may: a tick for each day only where there are few days. */
function withFewTicks(vega: Props): Props {
  const few = (guide: Props) => {
    const { scale, fill, stroke, tickCount } = guide
    if (isProps(tickCount) && typeof tickCount.signal === 'string') return { ...guide, tickCount: { signal: `min(${CHART_LIMITS.count}, ${tickCount.signal})` } }
    const { interval, step = 1 } = typeof tickCount === 'string' ? { interval: tickCount } : isProps(tickCount) ? tickCount : {}
    if (typeof interval !== 'string') return guide
    const most = (SECONDS[interval] ?? 0.001) * Number(step) * 1_000 * CHART_LIMITS.count
    return { ...guide, tickCount: { signal: `span(domain(${JSON.stringify(scale ?? fill ?? stroke)})) <= ${most} ? ${JSON.stringify({ interval, step })} : 10` } }
  }
  // The name of a signal alone would not be interpreted as an expression, whose bins are limited.
  const binned = (scale: Props) => (isProps(scale.bins) && 'signal' in scale.bins ? { ...scale, bins: { signal: `null || ${String(scale.bins.signal)}` } } : scale)
  const { axes, legends, scales, marks } = vega
  const all = (list: unknown, one: (item: Props) => Props) => (Array.isArray(list) ? list.map(one) : undefined)
  return { ...vega, axes: all(axes, few), legends: all(legends, few), scales: all(scales, binned), marks: all(marks, (mark) => (mark.type === 'group' ? withFewTicks(mark) : mark)) }
}
