/** Calls a function of the page. What it throws must not remove the tray, and the page with it. */
export function tell(call: () => void): void {
  try {
    call()
  } catch (error) {
    console.error(error)
  }
}
