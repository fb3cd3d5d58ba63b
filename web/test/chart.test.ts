import { expect, it } from 'vitest'
import { configOf } from '../src/documents/chartConfig'

const look = { text: '#111', line: '#222', font: 'Own' }

it('what the specification of a chart says about its look takes precedence over the page', () => {
  const config = configOf({ axis: { labelAngle: 45, grid: false, titleColor: 'red' }, axisX: { labelOverlap: false }, legend: { orient: 'bottom' }, title: { color: 'blue', fontSize: 20 }, range: { category: ['#abc'] }, mark: { color: 'green' }, view: { stroke: 'black' }, background: 'white', font: 'Serif', bar: { size: 3 } }, look)
  expect(config.axis).toMatchObject({ labelAngle: 45, grid: false, titleColor: 'red', labelColor: '#111', gridColor: '#222' })
  expect(config.axisX).toMatchObject({ labelAngle: 45, labelOverlap: false })
  expect(config.legend).toMatchObject({ orient: 'bottom', labelColor: '#111' })
  expect(config.title).toEqual({ color: 'blue', fontSize: 20 })
  expect(config.range).toEqual({ category: ['#abc'] })
  expect(config.mark).toEqual({ color: 'green', tooltip: true })
  expect(config).toMatchObject({ view: { stroke: 'black' }, background: 'white', font: 'Serif', bar: { size: 3 } })
})

it('a chart without a configuration has the look of the page', () => {
  for (const none of [undefined, {}]) expect(configOf(none, look)).toMatchObject({ axis: { labelColor: '#111', domainColor: '#222' }, axisX: { labelAngle: 0 }, legend: { titleColor: '#111' }, title: { color: '#111' }, background: 'transparent', font: 'Own' })
})

it('the labels of an axis do not run together', () => {
  expect(configOf(undefined, look).axisX).toMatchObject({ labelOverlap: 'parity', labelSeparation: 8 })
})
