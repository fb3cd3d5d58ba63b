/** Shortest and longest time between two renders of a stream, in milliseconds. The shortest is just below two frames of the screen. */
const INTERVALS = { shortest: 30, longest: 400 }

/**
 * Renders as often as the machine allows: at most 30 times a second, and at most half of the time. Text that comes after a
 * pause is rendered with the next frame.
 */
export class RenderThrottle {
  private readonly render: () => void
  /** Cancels the render that waits. A timer and a frame may have the same number. */
  private cancel: (() => void) | undefined
  private last = 0
  private cost = 0

  constructor(render: () => void) {
    this.render = render
  }

  soon(): void {
    if (this.cancel) return
    const interval = Math.min(Math.max(this.cost * 2, INTERVALS.shortest), INTERVALS.longest)
    const timer = setTimeout(() => {
      if (globalThis.document?.hidden || !globalThis.requestAnimationFrame) return this.now()
      const frame = requestAnimationFrame(() => this.now())
      this.cancel = () => cancelAnimationFrame(frame)
    }, this.last + interval - performance.now())
    this.cancel = () => clearTimeout(timer)
  }

  now(): void {
    this.cancel?.()
    this.cancel = undefined
    const start = (this.last = performance.now())
    this.render()
    // React renders, and the browser styles, lays out and paints, after this and before the next task.
    setTimeout(() => {
      this.cost = performance.now() - start
    })
  }
}
