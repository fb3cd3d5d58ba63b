import type { Props } from '../api/types'

/** What a chart takes from the page around it. */
export interface ChartLook {
  text: string
  line: string
  font: string
}

/** The configuration of a chart: that of its specification, with the page's look for what it leaves out. */
export function configOf(own: Props | undefined, { text, line, font }: ChartLook): Props {
  const words = { labelFontSize: 12, titleFontSize: 12, labelColor: text, titleColor: text }
  const usual = {
    background: 'transparent', font, mark: { tooltip: true, color: '#4f7df0' }, range: { category: ['#4f7df0', '#e39b2d', '#2fa56b', '#d65f8a', '#8b6fe0', '#3fa7c4'] },
    view: { stroke: 'transparent' }, axis: { ...words, gridColor: line, domainColor: line, tickColor: line },
    // Vega-Lite prefers these to the configuration of all axes, so what that says is said here too.
    axisX: { labelAngle: 0, labelOverlap: 'parity', labelSeparation: 8, ...(isProps(own?.axis) && own.axis) },
    legend: words, title: { color: text },
  }
  return merged(usual, own ?? {})
}

/** Both objects in one, and the objects in them likewise; the second takes precedence. */
function merged(base: Props, own: Props): Props {
  return { ...base, ...Object.fromEntries(Object.entries(own).map(([key, value]) => [key, isProps(value) && Object.hasOwn(base, key) && isProps(base[key]) ? merged(base[key], value) : value])) }
}

const isProps = (value: unknown): value is Props => typeof value === 'object' && value !== null && !Array.isArray(value)
