import { expect, it, onTestFinished, vi } from 'vitest'
import { RenderThrottle } from '../src/state/store/renderThrottle'

/** Timers and frames as a browser numbers them: both from 1 on. */
function browser() {
  const timers = new Map<number, () => void>()
  const frames = new Map<number, () => void>()
  const numbered = (all: Map<number, () => void>) => {
    let last = 0
    return (act: () => void) => (all.set(++last, act), last)
  }
  vi.stubGlobal('setTimeout', numbered(timers))
  vi.stubGlobal('clearTimeout', (id: number) => timers.delete(id))
  vi.stubGlobal('requestAnimationFrame', numbered(frames))
  vi.stubGlobal('cancelAnimationFrame', (id: number) => frames.delete(id))
  onTestFinished(() => void vi.unstubAllGlobals())
  const run = (all: Map<number, () => void>, id: number) => {
    const act = all.get(id)!
    all.delete(id)
    act()
  }
  return { timers, frames, timer: (id: number) => run(timers, id), frame: (id: number) => run(frames, id) }
}

it('leaves the timers of the page as they are, which have the numbers of its own frames', () => {
  const { timers, timer, frame } = browser()
  const poll = setTimeout(() => undefined) as unknown as number
  let shown = 0
  const throttle = new RenderThrottle(() => shown++)
  throttle.soon()
  timer(2)
  frame(1)
  expect([shown, timers.has(poll)]).toEqual([1, true])
})

it('leaves the frames of the page as they are, which have the numbers of its own timers', () => {
  const { frames, timers } = browser()
  const drawn = requestAnimationFrame(() => undefined)
  const throttle = new RenderThrottle(() => undefined)
  throttle.soon()
  expect(timers.has(drawn)).toBe(true)
  throttle.now()
  expect([frames.has(drawn), timers.has(1)]).toEqual([true, false])
})

it('draws once when something urgent comes before the frame', () => {
  const { frames, timer } = browser()
  let shown = 0
  const throttle = new RenderThrottle(() => shown++)
  throttle.soon()
  throttle.soon()
  timer(1)
  throttle.now()
  expect([shown, frames.size]).toEqual([1, 0])
})
