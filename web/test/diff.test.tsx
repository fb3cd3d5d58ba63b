import { render } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import type { Block, DocumentApi } from '../src/documents'
import { RenderedDiff } from '../src/documents/RenderedDiff'
import { apply, applyAll, pendingOf, renamed, targetOf, undo, without, withProposals, type Decision, type Proposal } from '../src/documents/undo'

const texts = (container: HTMLElement, tag: string) => [...container.querySelectorAll(tag)].map((e) => e.textContent)

describe('a change of a block', () => {
  it('is shown in the text as it is read: words in their block, formats and formulas whole', () => {
    const { container } = render(<RenderedDiff type="md" before={'# Gold\n\nThe **price** rose by 5 % in \\(x_1\\).\n\nSame.\n\nGone.'} after={'# Gold\n\nThe **price** fell by 5 % in \\(x_2\\).\n\nSame.\n\n- New'} />)
    expect(container.querySelector('h1')?.textContent).toBe('Gold')
    expect(container.querySelector('strong')?.textContent).toBe('price')
    const paragraph = container.querySelector('p')!
    expect([texts(paragraph, 'del')[0], texts(paragraph, 'ins')[0]]).toEqual(['rose ', 'fell '])
    const formulas = [...paragraph.querySelectorAll('del .ct-math, ins .ct-math')].map((e) => e.textContent)
    expect(formulas).toHaveLength(2)
    expect(formulas[0]).toContain('x_1')
    expect(formulas[1]).toContain('x_2')
    expect(container.textContent).not.toContain('**')
    expect(texts(container, 'del.ct-change').map((t) => t?.trim())).toEqual(['Gone.'])
    expect(texts(container, 'ins.ct-change').map((t) => t?.trim())).toEqual(['New'])
    expect(container.textContent?.match(/Same\./g)).toHaveLength(1)
  })

  it('keeps the space before words that are gone at the end', () => {
    const { container } = render(<RenderedDiff type="md" before="It draws on data. It was written by rules." after="It draws on data." />)
    expect(container.querySelector('p')?.textContent).toBe('It draws on data. It was written by rules.')
    expect(texts(container, 'del')).toEqual(['It was written by rules.'])
    const { container: other } = render(<RenderedDiff type="md" before="a b" after="a, b" />)
    expect(other.querySelector('p')?.textContent).toBe('a, b')
  })

  it('is shown in the cells of a table of Markdown and of CSV', () => {
    const md = render(<RenderedDiff type="md" before={'| a | b |\n|---|---|\n| 1 | x |'} after={'| a | b |\n|---|---|\n| 2 | x |'} />).container
    expect([texts(md, 'td del'), texts(md, 'td ins')]).toEqual([['1'], ['2']])
    const csv = render(<RenderedDiff type="csv" before={'name,n\na,1\nb,2\nc,3'} after={'name,n\na,1\nb,5\nd,4'} />).container
    expect([texts(csv, 'td del'), texts(csv, 'td ins')]).toEqual([['2', 'c', '3'], ['5', 'd', '4']])
    expect(texts(csv, 'tr[data-change=ins] td:first-child')).toEqual(['d'])
  })

  it('of code is shown in its words', () => {
    const { container } = render(<RenderedDiff type="md" before={'```go\na := 1\n```'} after={'```go\na := 2\n```'} />)
    expect([texts(container, 'del'), texts(container, 'ins')]).toEqual([['1\n'.trim()], ['2']])
  })

  it('of what has no words shows both, one beside the other', () => {
    const { container } = render(<RenderedDiff type="application/x" before="a" after="b" />)
    expect(texts(container, 'figure')).toEqual(['Currenta', 'Newb'])
  })
})

describe('a decision', () => {
  const block = (id: string, state: Block['state'], more: Partial<Block> = {}): Block => ({ id, type: 'md', current: id, state, position: id, revision: 1, ...more })
  const before = [block('a', 'clean'), block('b', 'pending_edit', { new: 'B' }), block('c', 'pending_delete'), block('d', 'pending_move', { new_position: '0' }), block('e', 'pending_new', { current: undefined, new: 'E' })]

  /** A service that records its requests. */
  function service() {
    const asked: unknown[] = []
    const note = (name: string) => async (...args: unknown[]) => {
      asked.push([name, ...args])
      return { ...block('made', 'clean') }
    }
    return { asked, api: { updateBlock: note('update'), removeBlock: note('remove'), addBlock: note('add'), rename: note('rename') } as unknown as DocumentApi }
  }

  it('that accepted is undone in the service, and what was decided waits again', async () => {
    const { api, asked } = service()
    const back = await undo(api, 'doc', { kind: 'accept', proposals: pendingOf(before), title: { old: 'Old', proposed: 'New' } })
    expect(asked).toEqual([
      ['rename', 'doc', 'Old'], ['update', 'b', { content: 'b' }], ['add', 'doc', { type: 'md', content: 'c', after_block_id: 'b' }], ['update', 'd', { after_block_id: 'made' }], ['remove', 'e'],
    ])
    const now = withProposals({ id: 'doc', title: 'Old', revision: 2, blocks: [block('a', 'clean'), block('b', 'clean'), block('made', 'clean'), block('d', 'clean')] }, back)!
    expect(now.blocks!.map((b) => [b.id, b.state, b.new])).toEqual([['a', 'clean', undefined], ['b', 'pending_edit', 'B'], ['made', 'pending_delete', undefined], ['d', 'pending_move', undefined], ['e', 'pending_new', 'E']])
  })

  it('that reverted is undone without the service, which has dropped it; accepting it proposes and accepts it again', async () => {
    const { api, asked } = service()
    const back = await undo(api, 'doc', { kind: 'revert', proposals: pendingOf(before) })
    expect(asked).toEqual([])
    for (const proposal of back) await apply(api, 'doc', proposal, before)
    expect(asked).toEqual([['update', 'b', { content: 'B' }, 1], ['remove', 'c', 1], ['update', 'd', { after_block_id: '' }], ['add', 'doc', { type: 'md', content: 'E', after_block_id: 'd' }]])
    expect(targetOf(block('a', 'pending_move', { new_position: 'c5' }), before)).toBe('c')
  })

  it('that was undone is made again, as a whole and one by one, and undone again', async () => {
    const blocks: Block[] = [block('a', 'clean'), block('b', 'clean')]
    const at = (id: string) => {
      const place = blocks.findIndex((b) => b.id === id)
      if (place < 0) throw new Error(`there is no block ${id}`)
      return place
    }
    const remove = async (id: string) => void blocks.splice(at(id), 1)
    let count = 0
    const add = async (_: string, { content = '', after_block_id: after = '' }) => {
      const made = block(`made${++count}`, 'clean', { current: content })
      blocks.splice(after === '' ? 0 : at(after) + 1, 0, made)
      return made
    }
    const api = { removeBlock: remove, addBlock: add } as unknown as DocumentApi
    const record = () => ({ id: 'doc', title: '', revision: 1, blocks: [...blocks] })
    const now = () => blocks.map((b) => b.current).join('')
    const added = (id: string) => block(id, 'pending_new', { current: undefined, new: id.toUpperCase() })
    /** Accepts some of the proposals. */
    const accept = async (all: readonly Proposal[], some: readonly Proposal[]) => {
      const ids = new Map<string, string>()
      const done: Proposal[] = []
      const decision: Decision = { kind: 'accept', proposals: pendingOf(withProposals(record(), all)!.blocks!).filter((p) => some.some((s) => s.block.id === p.block.id)) }
      await applyAll(api, 'doc', some, all, record().blocks, ids, done)
      return { left: without(all, done, ids), decision: renamed(decision, ids) }
    }
    const all = pendingOf([block('a', 'clean'), block('b', 'pending_delete'), added('x'), added('y'), added('z')])
    const whole = await accept(all, all)
    expect(now()).toBe('aXYZ')
    expect(whole.left).toEqual([])
    const again = await undo(api, 'doc', whole.decision)
    expect(now()).toBe('ab')
    expect(withProposals(record(), again)!.blocks!.map((b) => b.new ?? b.current).join('')).toBe('abXYZ')
    const last = await accept(again, again.slice(3))
    expect(withProposals(record(), last.left)!.blocks!.map((b) => b.new ?? b.current).join('')).toBe('abXYZ')
    const second = await accept(last.left, last.left.slice(2))
    expect(now()).toBe('abYZ')
    expect(withProposals(record(), second.left)!.blocks!.map((b) => b.new ?? b.current).join('')).toBe('abXYZ')
    const rest = await accept(second.left, second.left)
    expect(now()).toBe('aXYZ')
    expect(rest.left).toEqual([])
    await undo(api, 'doc', rest.decision)
    await undo(api, 'doc', second.decision)
    await undo(api, 'doc', last.decision)
    expect(now()).toBe('ab')
  })

  it('of this page gives way to a later proposal of the service', () => {
    const mine = pendingOf([block('b', 'pending_edit', { new: 'mine' })])
    expect(withProposals({ id: 'd', title: '', revision: 1, blocks: [block('b', 'pending_edit', { new: 'theirs' })] }, mine)!.blocks![0]!.new).toBe('theirs')
  })
})

describe('undoing what was accepted', () => {
  const block = (id: string, more: Partial<Block> = {}): Block => ({ id, type: 'md', current: id, state: 'clean', position: id, revision: 1, ...more })
  const added = (id: string) => block(id, { state: 'pending_new', current: undefined, new: id.toUpperCase() })

  /** A service that has blocks, and refuses a request once it has answered some. */
  function service(blocks: Block[], most = Infinity) {
    let count = 0
    const at = (id: string) => {
      const place = blocks.findIndex((b) => b.id === id)
      if (place < 0) throw new Error(`there is no block ${id}`)
      return place
    }
    const asked = (id: string, revision?: number) => {
      if (count++ >= most) throw new Error('too many requests')
      const place = at(id)
      if (revision !== blocks[place]!.revision) throw new Error(`${id} has changed`)
      return place
    }
    const api = {
      removeBlock: async (id: string, revision?: number) => void blocks.splice(asked(id, revision), 1),
      updateBlock: async (id: string, { content }: { content?: string }, revision?: number) => {
        const place = asked(id, revision)
        blocks[place] = { ...blocks[place]!, current: content, revision: 5 }
      },
      addBlock: async (_: string, { content, after_block_id: after }: { content: string; after_block_id?: string }) => {
        const made = block(`made${++count}`, { current: content })
        blocks.splice(after === undefined ? blocks.length : after === '' ? 0 : at(after) + 1, 0, made)
        return made
      },
    } as unknown as DocumentApi
    return { api, blocks, now: () => ({ id: 'doc', title: '', revision: 1, blocks: [...blocks] }), allow: () => (most = Infinity), texts: () => blocks.map((b) => b.current).join(' ') }
  }

  it('puts a deleted block back where a new one took its place', async () => {
    const { api, texts, now } = service([block('a'), block('x', { current: 'X' }), block('c')])
    const proposals = pendingOf([block('a'), added('x'), block('b', { state: 'pending_delete' }), block('c')])
    const back = await undo(api, 'doc', { kind: 'accept', proposals }, [], [...proposals], now())
    expect(texts()).toBe('a b c')
    expect(withProposals(now(), back)!.blocks!.map((b) => b.new ?? b.current).join(' ')).toBe('a X b c')
  })

  it('leaves what has changed since, and what is gone', async () => {
    const stored = service([block('x', { current: 'X, and more of my own' }), block('y', { current: 'Y', state: 'pending_edit', new: 'later' }), block('b', { current: 'my own' }), block('c', { current: 'C' })])
    const proposals = pendingOf([added('x'), added('y'), added('gone'), ...['b', 'c', 'lost'].map((id) => block(id, { state: 'pending_edit', new: id.toUpperCase() })), block('d', { state: 'pending_delete' })])
    const back = await undo(stored.api, 'doc', { kind: 'accept', proposals }, [], [...proposals], stored.now())
    expect(stored.texts()).toBe('X, and more of my own Y my own c d')
    expect(back.map((p) => p.block.id)).toEqual(['gone', 'c', 'made2'])
  })

  it('continues where it failed', async () => {
    const stored = service([block('x', { current: 'X' }), block('y', { current: 'Y' }), block('b', { current: 'B' })], 1)
    const proposals = pendingOf([added('x'), added('y'), block('b', { state: 'pending_edit', new: 'B' })])
    const [back, left]: Proposal[][] = [[], [...proposals]]
    await expect(undo(stored.api, 'doc', { kind: 'accept', proposals }, back, left, stored.now())).rejects.toThrow('too many')
    expect([back!, left!].map((all) => all.map((p) => p.block.id).join())).toEqual(['x', 'y,b'])
    stored.allow()
    await undo(stored.api, 'doc', { kind: 'accept', proposals: left! }, back, left, stored.now())
    expect(stored.texts()).toBe('b')
    expect(withProposals(stored.now(), back!)!.blocks!.map((b) => b.new ?? b.current).join(' ')).toBe('X Y B')
  })

  it('continues in the right places', async () => {
    const stored = service([block('a'), block('x', { current: 'X' }), block('z')])
    const proposals = pendingOf([block('a'), added('x'), block('b', { state: 'pending_delete' }), block('c', { state: 'pending_delete' }), block('d', { state: 'pending_delete' }), block('z')])
    const [back, left]: Proposal[][] = [[], [...proposals]]
    const { addBlock } = stored.api
    let adds = 0
    stored.api.addBlock = async (...added) => {
      if ([1, 3].includes(++adds)) throw new Error('too many requests')
      return addBlock(...added)
    }
    const next = () => undo(stored.api, 'doc', { kind: 'accept', proposals: left! }, back, left, stored.now())
    await expect(next()).rejects.toThrow('too many')
    await expect(next()).rejects.toThrow('too many')
    await next()
    expect(stored.texts()).toBe('a b c d z')
    expect(withProposals(stored.now(), back!)!.blocks!.map((b) => b.new ?? b.current).join(' ')).toBe('a X b c d z')
  })
})
