import type { ReactNode } from 'react'
import { LANGUAGES, PARTS, THEMES, TOKENS, type Look, type Token } from './look'

/** Controls for the props, words, parts and tokens of the tray. */
export function Controls({ look, change }: { look: Look; change: (what: Partial<Look>) => void }) {
  return (
    <form className="play-controls" aria-label="What the tray looks like" onSubmit={(e) => e.preventDefault()}>
      <fieldset>
        <legend>Props</legend>
        <Pick label="layout" value={look.layout} of={['tray', 'sidebar', 'full']} onPick={(layout) => change({ layout })} />
        <Pick label="theme" value={look.theme} of={['auto', 'light', 'dark']} onPick={(theme) => change({ theme })} />
        <Pick label="openPayloads" value={look.openPayloads} of={['decisions', 'all', 'none']} onPick={(openPayloads) => change({ openPayloads })} />
        <Pick label="dir" value={look.dir} of={['ltr', 'rtl']} onPick={(dir) => change({ dir })} />
      </fieldset>
      <fieldset>
        <legend>Words</legend>
        <Pick label="labels" value={look.language} of={LANGUAGES} onPick={(language) => change({ language })} />
        <Field label="title"><input id="play-title" className="ct-input" value={look.title} onChange={(e) => change({ title: e.target.value })} /></Field>
        <Field label="placeholder"><input id="play-placeholder" className="ct-input" value={look.placeholder} onChange={(e) => change({ placeholder: e.target.value })} /></Field>
      </fieldset>
      <fieldset>
        <legend>Theme</legend>
        <Pick label="file" value={look.file} of={Object.keys(THEMES) as (keyof typeof THEMES)[]} onPick={(file) => change({ file })} />
        {(Object.keys(TOKENS) as Token[]).map((token) => <TokenField key={token} token={token} look={look} change={change} />)}
      </fieldset>
      <fieldset>
        <legend>Parts of your own</legend>
        {PARTS.map((name) => (
          <label key={name} className="ct-check">
            <input type="checkbox" checked={look.own.includes(name)} onChange={(e) => change({ own: e.target.checked ? PARTS.filter((n) => n === name || look.own.includes(n)) : look.own.filter((n) => n !== name) })} />
            {name}
          </label>
        ))}
      </fieldset>
    </form>
  )
}

function TokenField({ token, look, change }: { token: Token; look: Look; change: (what: Partial<Look>) => void }) {
  const { label, usual, ...kind } = TOKENS[token]
  const chosen = look.tokens[token]
  const set = (value: string | undefined) => {
    const { [token]: _, ...rest } = look.tokens
    change({ tokens: value === undefined ? rest : { ...rest, [token]: value } })
  }
  return (
    <Field label={label}>
      <span className="play-token">
        {kind.kind === 'color'
          ? <input id={idOf(label)} type="color" value={chosen ?? usual} onChange={(e) => set(e.target.value)} />
          : <input id={idOf(label)} type="range" min={'min' in kind ? kind.min : 0} max={kind.max} step="0.0125" value={chosen ?? usual} onChange={(e) => set(e.target.value)} />}
        {chosen !== undefined && <button type="button" className="ct-button ct-small" aria-label={`Reset: ${label}`} onClick={() => set(undefined)}>Reset</button>}
      </span>
    </Field>
  )
}

function Field({ label, children }: { label: string; children: ReactNode }) {
  return <div className="play-field"><label htmlFor={idOf(label)}>{label}</label>{children}</div>
}

const idOf = (label: string) => `play-${label}`

function Pick<T extends string>({ label, value, of, onPick }: { label: string; value: T; of: readonly T[]; onPick: (value: T) => void }) {
  return <Field label={label}><select id={idOf(label)} className="ct-input" value={value} onChange={(e) => onPick(e.target.value as T)}>{of.map((v) => <option key={v}>{v}</option>)}</select></Field>
}
