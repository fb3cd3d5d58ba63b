import { hiddenWords, Names, Undrawable } from './words'

/** Statements that change only looks or behaviour. */
const LOOKS = /^(?:classDef|class|cssClass|style|linkStyle|click|link|links|callback|direction|accTitle|accDescr|autonumber)(?=[\s:]|$)/

/** A sequence diagram in the form that the renderer reads. */
export function sequence(lines: string[]): string {
  const names = new Names('p')
  const actors: string[] = []
  const known = new Set<string>()
  const actor = (name: string, words = name) => {
    const id = names.of(name.trim())
    if (!known.has(id)) actors.push(`participant ${id} as ${hiddenWords(words)}`)
    known.add(id)
    return id
  }
  const out: string[] = []
  const open: string[] = []
  let number = lines.some((line) => /^autonumber\b/.test(line)) ? 1 : 0
  for (const line of lines) {
    let found = /^(?:create\s+)?(?:participant|actor)\s+(.+?)(?:\s+as\s+(.+))?$/.exec(line)
    if (found) {
      actor(found[1]!, found[2])
      continue
    }
    found = /^(.+?)\s*(<<-->>|<<->>|-->>|->>|--x|-x|--\)|-\)|-->|->)\s*([+-]?)\s*([^:]+?)\s*:(.*)$/.exec(line)
    if (found) {
      const arrow = found[2]!.replace('<<', '').replace(/^(-+)x$/, '$1>>')
      out.push(`${actor(found[1]!)} ${arrow} ${found[3]}${actor(found[4]!)}: ${hiddenWords(`${number > 0 ? `${number++}. ` : ''}${found[5]!.trim()}`)}`)
      continue
    }
    found = /^note\s+(left of|right of|over)\s+([^:]+):(.*)$/i.exec(line)
    if (found) {
      out.push(`Note ${found[1]!.toLowerCase()} ${found[2]!.split(',').map((name) => actor(name)).join(',')}: ${hiddenWords(found[3]!)}`)
      continue
    }
    found = /^(loop|alt|opt|par_over|par|critical|break|rect|box)(?:\s+(.*))?$/.exec(line)
    if (found) {
      open.push(found[1]!)
      if (found[1] !== 'box') out.push(`${found[1] === 'par_over' ? 'par' : found[1]} ${found[1] === 'rect' ? '' : hiddenWords(found[2] ?? '')}`)
      continue
    }
    found = /^(else|and|option)(?:\s+(.*))?$/.exec(line)
    if (found && open.length > 0) out.push(`${found[1] === 'and' ? 'and' : 'else'} ${hiddenWords(found[2] ?? '')}`)
    else if (line === 'end' && open.length > 0) {
      if (open.pop() !== 'box') out.push('end')
    } else if (!LOOKS.test(line) && !/^(?:activate|deactivate|destroy|title)(?=[\s:])/.test(line)) throw new Undrawable(line)
  }
  return ['sequenceDiagram', ...actors, ...out].join('\n')
}

/** A state diagram in the form that the renderer reads. */
export function states(lines: string[]): string {
  const names = new Names('s')
  const words = new Map<string, string>()
  const steps: ({ id: string; inner?: true } | { from: string; to: string; words: string } | string)[] = []
  const state = (name: string) => {
    if (name === '[*]') return name
    const id = names.of(name)
    if (!words.has(id)) words.set(id, name)
    return id
  }
  for (const whole of lines) {
    const line = whole.replace(/:::[\w-]+/g, '')
    let found = /^(\[\*\]|[\w\p{L}.-]+?)\s*-->\s*(\[\*\]|[\w\p{L}.-]+)\s*(?::(.*))?$/u.exec(line)
    if (found) {
      const [from, to] = [state(found[1]!), state(found[2]!)]
      steps.push({ from, to, words: found[3]?.trim() ?? '' })
      continue
    }
    found = /^state\s+(?:"([^"]*)"\s+as\s+)?([\w\p{L}.-]+)\s*(\{|<<\w+>>)?$/u.exec(line)
    if (found) {
      const id = state(found[2]!)
      if (found[1]) words.set(id, found[1])
      steps.push(found[3] === '{' ? { id, inner: true } : { id })
      continue
    }
    found = /^([\w\p{L}.-]+)\s*:(.+)$/u.exec(line)
    if (found && !LOOKS.test(line)) {
      const id = state(found[1]!)
      words.set(id, found[2]!)
      steps.push({ id })
    } else if (line === '}') steps.push(line)
    else if (/^direction\s+(TD|TB|LR|BT|RL)$/i.test(line)) steps.push(line)
    else if (/^[\w\p{L}.]+$/u.test(line)) steps.push({ id: state(line) })
    else if (!LOOKS.test(line) && !/^hide empty description$/.test(line)) throw new Undrawable(line)
  }
  const groups = new Set(steps.flatMap((step) => (typeof step === 'object' && 'inner' in step ? step.id : [])))
  const known = new Set<string>()
  const first = (id: string) => {
    if (id === '[*]' || groups.has(id) || known.has(id)) return []
    known.add(id)
    return `state "${hiddenWords(words.get(id)!)}" as ${id}`
  }
  return ['stateDiagram-v2', ...steps.flatMap((step) => {
    if (typeof step === 'string') return step
    if ('id' in step) return step.inner ? `state "${hiddenWords(words.get(step.id)!)}" as ${step.id} {` : first(step.id)
    return [...[first(step.from), first(step.to)].flat(), `${step.from} --> ${step.to}${step.words ? ` : ${hiddenWords(step.words)}` : ''}`]
  })].join('\n')
}

/** A class diagram in the form that the renderer reads. */
export function classes(lines: string[]): string {
  const out: string[] = []
  let body = false
  for (const whole of lines) {
    const line = whole.replace(/:::[\w-]+/g, '')
    if (body || line === '}' || /^namespace\s+\S+\s*\{$/.test(line)) {
      body = body && line !== '}'
      out.push(line)
      continue
    }
    let found = /^class\s+([^\s{["`]+)\s*(?:\{(?:(.*)\})?)?$/.exec(line)
    if (found) {
      body = line.endsWith('{')
      out.push(...(found[2] === undefined ? [`class ${found[1]}${body ? ' {' : ''}`] : [`class ${found[1]} {`, ...found[2].split(';').map((member) => member.trim()).filter(Boolean), '}']))
      continue
    }
    found = /^<<(\w+)>>\s+(\S+)$/.exec(line)
    if (found) {
      out.push(`class ${found[2]} {`, `<<${found[1]}>>`, '}')
      continue
    }
    found = /^([^\s"<>*:|-]+?)\s*("[^"]*")?\s*(<\|--|<\|\.\.|\*--|o--|--\|>|\.\.\|>|-->|--\*|--o|\.\.>|<--|<\.\.|--)\s*("[^"]*")?\s*([^\s"<>*:|-]+)\s*(?::(.*))?$/.exec(line)
    if (found) out.push([found[1], found[2], found[3], found[4], found[5], found[6]?.trim() && `: ${hiddenWords(found[6])}`].filter(Boolean).join(' '))
    else if (/^[^\s"<>*|-]+\s*:\s*.+$/.test(line) && !LOOKS.test(line)) out.push(line)
    else if (!LOOKS.test(line)) throw new Undrawable(line)
  }
  return ['classDiagram', ...out].join('\n')
}

/** An entity-relationship diagram in the form that the renderer reads. */
export function entities(lines: string[]): string {
  const out: string[] = []
  let body = false
  for (const line of lines) {
    if (body) {
      body = line !== '}'
      out.push(line.replace(/,\s*(?=[PFU]K\b)/g, ' '))
      continue
    }
    const entity = /^([^\s"{}:[\]]+)\s*(\{\s*\}?)?$/.exec(line)
    const relation = /^([^\s"|{}:.]+?)\s*((?:\|\||\|o|o\||\}\||\}o)(?:--|\.\.)(?:\|\||o\||\|o|\|\{|o\{))\s*([^\s"|{}:]+)\s*(?::(.*))?$/.exec(line)
    if (relation) out.push(`${relation[1]} ${relation[2]} ${relation[3]} : ${hiddenWords(relation[4] ?? '')}`)
    else if (entity && !LOOKS.test(line)) {
      body = entity[2] === '{'
      out.push(`${entity[1]} {`, ...(body ? [] : ['}']))
    } else if (!LOOKS.test(line)) throw new Undrawable(line)
  }
  return ['erDiagram', ...out].join('\n')
}

/** A chart, of which each statement is one that the renderer reads. */
export function chart(lines: string[], head: string): string {
  const number = String.raw`-?\d+(?:\.\d+)?`
  const known = new RegExp(String.raw`^(?:title\s+"[^"]+"|x-axis\s+(?:"[^"]*"\s*)?\[[^\]]+\]|[xy]-axis\s+(?:"[^"]*"\s+)?${number}\s*-->\s*${number}|y-axis\s+"[^"]+"|(?:bar|line)\s+\[[\s\d.,+-]+\])$`)
  for (const line of lines) if (!known.test(line) && !LOOKS.test(line)) throw new Undrawable(line)
  return [head, ...lines].join('\n')
}
