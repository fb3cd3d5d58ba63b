/** Shortest and longest time between two renders of a stream, in milliseconds. The shortest is just below two frames of the screen. */
const INTERVALS = { shortest: 30, longest: 400 }

/**
 * Renders as often as the machine allows: at most 30 times a second, and at most half of the time. Text that comes after a
 * pause is rendered with the next frame.
 */
export class RenderThrottle {
  private readonly render: () => void
  private waiting: ReturnType<typeof setTimeout> | number | null = null
  private last = 0
  private cost = 0

  constructor(render: () => void) {
    this.render = render
  }

  soon(): void {
    if (this.waiting !== null) return
    const interval = Math.min(Math.max(this.cost * 2, INTERVALS.shortest), INTERVALS.longest)
    this.waiting = setTimeout(() => {
      if (globalThis.document?.hidden || !globalThis.requestAnimationFrame) this.now()
      else this.waiting = requestAnimationFrame(() => this.now())
    }, this.last + interval - performance.now())
  }

  now(): void {
    if (this.waiting !== null) {
      clearTimeout(this.waiting)
      globalThis.cancelAnimationFrame?.(this.waiting as number)
      this.waiting = null
    }
    const start = (this.last = performance.now())
    this.render()
    // React renders, and the browser styles, lays out and paints, after this and before the next task.
    setTimeout(() => {
      this.cost = performance.now() - start
    })
  }
}
