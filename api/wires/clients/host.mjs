// Runs cases with unmodified clients, one after the other: node host.mjs DRIVER. Starting
// Node and loading a client's modules takes longer than most cases, so it is done once.
//
// A line of its input begins a case: its client, the service's url and its name, as JSON.
// It prints "at POINT" where the test acts and continues after the next line. A case ends
// with "done" and what the client shows and what the chat has, or with "failed" and why.
import { begin, lines } from './common.mjs'

// Some clients do not handle a rejected promise of theirs when a connection breaks. What
// is left of a case that ended may fail too; it does not end the cases after it.
process.on('unhandledRejection', () => {})
process.on('uncaughtException', (e) => { console.error(e) })

let cases = 0
for await (const line of lines) {
  begin(JSON.parse(line))
  try {
    await import(`./${process.argv[2]}?${++cases}`) // evaluated again for each case; what it imports is not
  } catch (e) {
    console.log('failed ' + e) // a client that is not installed, or a driver that can't be read
  }
}
process.exit(0)
