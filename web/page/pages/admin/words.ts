/** A duration in a form that is short and easy to compare. */
export function took(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`
  return `${(ms / 3_600_000).toFixed(1)} h`
}

export function dollars(amount: number | undefined): string {
  if (!amount) return '–'
  return `$${amount < 0.01 ? amount.toPrecision(2) : amount.toFixed(2)}`
}

export function count(n: number): string {
  return n.toLocaleString('en')
}
