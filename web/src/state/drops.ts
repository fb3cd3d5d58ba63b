/** Files that were dropped on a tray, for its input. */
export class Drops {
  private taker: ((files: FileList) => void) | null = null
  private offered: FileList | null = null

  /** Gives files to the input; they wait while it is not shown. */
  offer(files: FileList): void {
    if (this.taker) this.taker(files)
    else this.offered = files
  }

  /** Sets the function that takes files, until the returned function is called. */
  take(taker: (files: FileList) => void): () => void {
    this.taker = taker
    const { offered } = this
    this.offered = null
    if (offered) taker(offered)
    return () => {
      if (this.taker === taker) this.taker = null
    }
  }
}
