/** Copies text through a hidden field, where the browser has no clipboard for pages, or refuses it. */
export function copyByField(text: string): boolean {
  let before = document.activeElement
  // In a shadow root the document only knows its host.
  while (before?.shadowRoot?.activeElement) before = before.shadowRoot.activeElement
  const field = document.createElement('textarea')
  field.value = text
  field.className = 'ct-offscreen'
  // What is outside an open dialog cannot be selected.
  ;(before?.closest('dialog') ?? document.body).append(field)
  field.select()
  const done = document.execCommand('copy')
  field.remove()
  if (before instanceof HTMLElement) before.focus({ preventScroll: true })
  return done
}
