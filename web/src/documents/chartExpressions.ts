import { expressionInterpreter } from 'vega-interpreter'
import type { Props } from '../api/types'
import { CHART_LIMITS, isNumbers, isProps, isShort, TooMuch, WIDE, within } from './chartLimits'

/** The functions that an expression may call. None makes something long from something short, unless it is limited below. */
const FUNCTIONS = new Set(`
  abs acos asin atan atan2 ceil clamp cos exp floor hypot isFinite isNaN log max min pow random round sin sqrt tan
  date datetime day dayofyear hours milliseconds minutes month now quarter seconds time timezoneoffset week year isoweek
  utc utcdate utcday utcdayofyear utchours utcisoweek utcmilliseconds utcminutes utcmonth utcquarter utcseconds utcweek utcyear timeOffset utcOffset timeUnitSpecifier
  dayAbbrevFormat dayFormat format monthAbbrevFormat monthFormat timeFormat timeParse utcFormat utcParse
  isArray isBoolean isDate isDefined isNumber isObject isString isTuple isValid toBoolean toDate toNumber toString
  clampRange data extent flush if inrange indexof indata join lastindexof length lerp merge peek pluck replace reverse sequence slice sort span
  lower parseFloat parseInt split substring trim truncate upper
  contrast hcl hsl lab luminance rgb
  bandspace bandwidth copy domain geoCentroid geoScale gradient inScope intersect invert range scale
  containerSize group item modify panLinear panLog panPow panSymlog screen view windowSize x xy y zoomLinear zoomLog zoomPow zoomSymlog
  vlSelectionIdTest vlSelectionResolve vlSelectionTest vlSelectionTuples
`.split(/\s+/))

type Call = (...args: never[]) => unknown
type Functions = Record<string, Call>

/** Functions of texts that the interpreter has for itself, so that they could not be limited. */
const TEXTS: Functions = {
  lower: (text: unknown) => String(text).toLowerCase(),
  upper: (text: unknown) => String(text).toUpperCase(),
  trim: (text: unknown) => String(text).trim(),
  split: (text: unknown, by: string, most?: number) => String(text).split(by, most),
  substring: (text: unknown, from: number, to?: number) => String(text).substring(from, to),
  parseFloat, parseInt,
}

/** The length of the sequence that a call would make. */
const lengthOf = ([from, to, step = 1]: number[]) => (to === undefined ? from! : (to - from!) / step)

/** Interprets the expressions of one chart. It throws for one that calls another function, or has a regular expression, and once there is too much work. */
export function limitedInterpreter() {
  let left = CHART_LIMITS.work
  let exceeded = false
  const spend = (work: number) => {
    left -= work
    within(left > 0)
  }
  /** The value; one that is too long is refused. */
  const paid = (value: unknown) => {
    if (typeof value === 'string' || Array.isArray(value)) {
      within(value.length <= CHART_LIMITS.length)
      spend(value.length)
    }
    return value
  }
  const sizes = new WeakMap<object, number>()
  /** The number of an expression's parts, all of which are allowed. */
  const sizeOf = (part: unknown): number => {
    if (!isProps(part)) return 0
    if (!sizes.has(part)) {
      if (part.type === 'CallExpression') within(isProps(part.callee) && FUNCTIONS.has(String(part.callee.name).replace(/^_/, '')))
      if (part.type === 'Literal') within(part.regex === undefined)
      sizes.set(part, Object.values(part).reduce<number>((all, inner) => all + sizeOf(inner), part.type ? 1 : 0))
    }
    return sizes.get(part)!
  }
  let wrapped: Functions | undefined
  const wrap = (own: Functions) => Object.fromEntries([...FUNCTIONS].filter((name) => TEXTS[name] ?? own[name]).map((name) => [name, function (this: unknown, ...args: never[]) {
    args.forEach(paid)
    if (name === 'sequence') within(!(lengthOf(args) > CHART_LIMITS.length))
    const [items] = args as unknown[]
    if (name === 'sort' && Array.isArray(items)) spend(items.length * Math.log2(items.length + 1))
    if (/format$/i.test(name)) within(!WIDE.test(String(args[1])))
    return paid((TEXTS[name] ?? own[name]!).apply(this as never, args))
  }]))
  const contexts = new WeakMap<object, object>()
  const limited = (own: Functions) => {
    if (!contexts.has(own)) contexts.set(own, Object.assign(Object.create(own), (wrapped ??= wrap(own))))
    return contexts.get(own)
  }
  const watched = <T>(act: () => T): T => {
    try {
      return act()
    } catch (error) {
      exceeded ||= error instanceof TooMuch
      throw error
    }
  }
  /** Prepares an expression that runs while there is work left. */
  const counted = (prepare: Call, size: (code: Props) => number) => (context: { functions: Functions }, code: Props) => watched(() => {
    const work = size(code)
    spend(CHART_LIMITS.preparing)
    const run = (prepare as (context: unknown, code: unknown) => Call)({ functions: limited(context.functions) }, code)
    return (...args: never[]) => watched(() => {
      spend(work)
      const value = paid(run(...args))
      // The bins of a scale may be a function with the numbers.
      const bins = typeof value === 'function' ? { ...(value as object) } : value
      if (isProps(bins) && isNumbers(bins)) within(isShort(bins))
      return value
    })
  })
  const { operator, parameter, event, handler, encode } = expressionInterpreter
  const size = (code: Props) => sizeOf(code.ast)
  return {
    expr: {
      operator: counted(operator, size), parameter: counted(parameter, size), event: counted(event, size), handler: counted(handler, size),
      encode: counted(encode, ({ channels }) => Object.values(channels as Record<string, Props>).reduce((all, channel) => all + size(channel), 1)),
    },
    /** Called when the chart is drawn: throws if it is not complete. From then on single results are limited, and not all of them together. */
    finish: () => {
      within(!exceeded)
      left = Infinity
    },
  }
}
