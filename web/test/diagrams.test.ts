import { describe, expect, it } from 'vitest'
import { plainSource } from '../src/markdown/diagram/source'
import { renderDiagram } from '../src/markdown/mermaid'

async function drawing(source: string): Promise<Element> {
  const box = document.createElement('div')
  box.innerHTML = (await renderDiagram(source)).replace(/<style>[\s\S]*?<\/style>/g, '')
  return box
}
const texts = (drawn: Element) => [...drawn.querySelectorAll('text')].map((e) => [...(e.querySelector('tspan') ? e.querySelectorAll('tspan') : [e])].map((t) => t.textContent).join(' ').trim()).filter(Boolean)

/** The boxes of a graph by their words, and its arrows between them. */
async function graph(source: string) {
  const drawn = await drawing(source)
  const names = new Map([...drawn.querySelectorAll('.node, .subgraph')].map((e) => [e.getAttribute('data-id')!, e.getAttribute('data-label')!]))
  const edges = [...drawn.querySelectorAll('.edge')].map((e) => [names.get(e.getAttribute('data-from')!), e.getAttribute('data-label') ?? '', names.get(e.getAttribute('data-to')!)].filter(Boolean).join(' > '))
  return { nodes: [...drawn.querySelectorAll('.node')].map((e) => e.getAttribute('data-label')), edges, drawn }
}

describe('a flowchart', () => {
  it.each<[string, string, string[]]>([
    ['without spaces', 'graph TD\nA-->B\nB-->C', ['A > B', 'B > C']],
    ['with semicolons', 'graph TD;\n  A-->B;\n  A-->C;', ['A > B', 'A > C']],
    ['in one line', 'graph LR; A-->B-->C; C-->D', ['A > B', 'B > C', 'C > D']],
    ['without a direction', 'flowchart\nA-->B', ['A > B']],
    ['with every link', 'flowchart LR\nA---B\nB-.->C\nC==>D\nD-.-E\nE===F\nF---->G\nG--xH\nH--oI\nI<-->J\nJ-..->K', ['A > B', 'B > C', 'C > D', 'D > E', 'E > F', 'F > G', 'G > H', 'H > I', 'I > J', 'J > K']],
    ['with words on links', 'flowchart LR\nA-->|yes|B\nB-- no way -->C\nC--maybe-->D\nD-. soon .->E\nE== now ==>F\nF -->|"a (b)"| G', ['A > yes > B', 'B > no way > C', 'C > maybe > D', 'D > soon > E', 'E > now > F', 'F > a (b) > G']],
    ['with several nodes', 'flowchart LR\nA & B-->C & D', ['A > C', 'A > D', 'B > C', 'B > D']],
    ['with names of all kinds', 'graph TD\nuser_1-->svc-a\nsvc-a-->db.main\n开始-->结束\nétat-->x', ['user_1 > svc-a', 'svc-a > db.main', '开始 > 结束', 'état > x']],
    ['with shapes', 'graph TD\nA[one]-->B(two)\nB-->C{three}\nC-->D((four))\nD-->E([five])\nE-->F[[six]]\nF-->G[(seven)]\nG-->H{{eight}}\nH-->I>nine]\nI-->J[/ten/]\nJ-->K[\\eleven\\]\nK-->L(((twelve)))', ['one > two', 'two > three', 'three > four', 'four > five', 'five > six', 'six > seven', 'seven > eight', 'eight > nine', 'nine > ten', 'ten > eleven', 'eleven > twelve']],
    ['with brackets and quotes in words', 'graph TD\nA["call(x[1]); // {ok}"]-->B[foo(bar)]\nB-->C(a (b) c)\nC-->D["say #quot;hi#quot; &amp; go"]', ['call(x[1]); // {ok} > foo(bar)', 'foo(bar) > a (b) c', 'a (b) c > say "hi" & go']],
    ['with a name that gets its words later', 'graph TD\nA-->B\nA[First]\nB{Second?}', ['First > Second?']],
    ['with front matter, settings and remarks', '---\ntitle: T\n---\n%%{init: {"theme":"dark"}}%%\ngraph TD\n%% why\nA-->B\nclick A href "https://a.example"', ['A > B']],
    ['with classes', 'flowchart LR\nA:::hot-->B\nclassDef hot fill:#f00;\nclass B hot;\nstyle A fill:#ff9,stroke:#333', ['A > B']],
  ])('%s', async (_, source, edges) => {
    expect((await graph(source)).edges).toEqual(edges)
  })

  it('keeps its groups, what is in them, and arrows to them', async () => {
    const { nodes, edges, drawn } = await graph('flowchart TB\nsubgraph one[The first]\n  direction LR\n  a1-->a2\nend\nsubgraph "Second part"\n  b1-->b2\nend\na2-->b1')
    expect(nodes).toEqual(['a1', 'a2', 'b1', 'b2'])
    expect(edges.sort()).toEqual(['a1 > a2', 'a2 > b1', 'b1 > b2'])
    expect([...drawn.querySelectorAll('.subgraph')].map((e) => e.getAttribute('data-label'))).toEqual(['The first', 'Second part'])
  })

  it('has words that can be read on the colour that the model chose', () => {
    expect(plainSource('graph TD\nA-->B\nstyle A fill:#ff9\nstyle B fill:#003,stroke:#fff')).toMatch(/fill:#ff9,color:#1a1d23[\s\S]*fill:#003,stroke:#fff,color:#ffffff/)
    expect(plainSource('graph TD\nA\nstyle A fill:#ff9,color:red')).toContain('fill:#ff9,color:red')
  })

  it.each(['graph TD\nA-->', 'graph TD\nA[open', 'graph TD\nA --> B C', 'graph TD\nA e1@--> B', 'graph TD\nsubgraph x\nA', 'graph TD\nend', 'pie\n"a": 1', 'mindmap\n  root', 'this is none', ''])('that cannot be read is not drawn in part: %j', async (source) => {
    await expect((async () => renderDiagram(source))()).rejects.toThrow()
  })
})

it('with too many parts is not drawn: the page would stand still', () => {
  const list = (n: number, one: (i: number) => string, between = '\n') => Array.from({ length: n }, (_, i) => one(i)).join(between)
  const all = (n: number) => `graph TD\n${list(n, (i) => `a${i}`, '&')} --> ${list(n, (i) => `b${i}`, '&')}`
  expect(plainSource(all(15)).match(/-->/g)).toHaveLength(225)
  const large = [
    all(16), all(2_000), `graph TD\n${list(251, (i) => `a${i}-->b`)}`, `graph TD\n${list(401, (i) => `a${i}`)}`, `graph TD\n${list(401, (i) => `subgraph s${i}\na\nend`)}`,
    `stateDiagram-v2\n${list(251, (i) => `a${i} --> b`)}`, `classDiagram\n${list(251, (i) => `A${i} <|-- B`)}`, `erDiagram\n${list(251, (i) => `A${i} ||--o{ B : has`)}`, `erDiagram\n${list(401, (i) => `A${i}`)}`,
  ]
  for (const source of large) expect(() => plainSource(source), source.slice(0, 60)).toThrow('too many parts')
})

describe('a sequence diagram', () => {
  it('has every message, whatever its participants are called', async () => {
    const found = texts(await drawing('sequenceDiagram\nautonumber\nparticipant options as The options\nparser->>options: read\noptions-->>Alice Smith: a: b\nAlice Smith-xparser: no\nalt is it so\nandroid-)parser: go\nelse not\nparser->>parser: self\nend\nbox Aqua Group\nparticipant Z\nend\nactivate Z\nNote over Alice Smith,Z: thoughts'))
    for (const words of ['The options', 'parser', 'Alice Smith', 'android', 'Z', '1. read', '2. a: b', '3. no', '4. go', '5. self', 'thoughts']) expect(found, words).toContain(words)
    expect(found.join(' ')).toMatch(/is it so/)
  })

  it('that cannot be read is not drawn in part', () => {
    expect(() => plainSource('sequenceDiagram\nA->>B: x\nA=>B: y')).toThrow()
  })
})

describe('other diagrams', () => {
  it('states keep their words, wherever they stand', async () => {
    const { nodes, edges } = await graph('stateDiagram-v2\n[*]-->Idle\nIdle-->Busy: start\nBusy-->[*]\nIdle: Waits for work\nstate "Is busy" as Busy\nstate Inner {\n  a-->b\n}')
    expect(nodes.filter(Boolean)).toEqual(['Waits for work', 'Is busy', 'a', 'b'])
    expect(edges).toContain('Waits for work > start > Is busy')
    expect(() => plainSource('stateDiagram-v2\nA-->B\nnote right of A: important')).toThrow()
  })

  it('classes keep their relations, with or without spaces', async () => {
    const found = texts(await drawing('classDiagram\nAnimal<|--Dog\nOwner "1"-->"*" Dog:has\nclass Animal {\n  +String name\n  +eat() void\n}\n<<interface>> Owner\nclass Cat { +meow() }\nAnimal <|-- Cat'))
    for (const words of ['Animal', 'Dog', 'Owner', 'Cat', 'has', '1', '*']) expect(found, words).toContain(words)
    expect(plainSource('classDiagram\nAnimal<|--Dog')).toContain('Animal <|-- Dog')
    expect(() => plainSource('classDiagram\nA <|-- B\nnote for A "x"')).toThrow()
  })

  it('entities keep their relations, with or without words', async () => {
    const found = texts(await drawing('erDiagram\nCUSTOMER||--o{ORDER:places\nORDER ||--|{ LINE-ITEM\nCUSTOMER {\n  string name PK, FK "the key"\n}\nALONE'))
    for (const words of ['CUSTOMER', 'ORDER', 'LINE-ITEM', 'ALONE', 'places']) expect(found, words).toContain(words)
    expect(() => plainSource('erDiagram\nA one or more to many B : x')).toThrow()
  })

  it('charts are drawn only where every line is understood', async () => {
    expect(texts(await drawing('xychart-beta\ntitle "Sales"\nx-axis [jan, feb]\ny-axis "Money" 0 --> 10\nbar [3, 4]'))).toContain('Sales')
    expect(() => plainSource('xychart-beta\nx-axis [a, b]\nbar "x" [1, 2]')).toThrow()
  })
})
