package storetest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// planScripts is the number of scripts of testPlanModel.
const planScripts = 100

// testPlanModel lets a user and a run that plans change a document in any order, and ends
// the run without its answer, or lets the user only look and revert all. Each script is made
// of its number.
func testPlanModel(f *fixture) {
	begun := f.begin("model of plans")
	f.mustCommit(begun)
	for seed := range uint64(planScripts) {
		m := &planModel{fixture: f, rnd: rand.New(rand.NewPCG(seed, 0)), run: record.Fence{RunID: begun.RunID, Attempt: 1}, looks: seed%3 == 0}
		m.script()
		if f.Failed() {
			f.Fatalf("script %d:\n%s", seed, strings.Join(m.said, "\n"))
		}
	}
}

// planModel is a document with what is known of its blocks.
type planModel struct {
	*fixture
	rnd     *rand.Rand
	run     record.Fence
	doc     string
	said    []string
	ids     int
	before  schemas.Document // what the run has found
	title   string           // that waits when the plan is undone
	of      map[string]*blockModel
	earlier bool            // the run has written something before it has planned again
	over    bool            // the user has decided about the whole document
	looks   bool            // the user only shows what is hidden, and reverts all
	hidden  map[string]bool // blocks by a plan
	twice   map[string]bool // blocks that an earlier plan has hidden before
}

// blockModel is what a block must have at the end.
type blockModel struct {
	written, moved, accepted bool   // by the run: its text waits, its place waits, either was accepted
	user                     string // the text of the user in it
}

func (m *planModel) say(format string, args ...any) {
	m.said = append(m.said, fmt.Sprintf(format, args...))
}

func (m *planModel) id(kind string) string {
	m.ids++
	return fmt.Sprintf("%s%d-%s", kind, m.ids, m.doc)
}

// known returns what is known of a block.
func (m *planModel) known(id string) *blockModel {
	if m.of[id] == nil {
		m.of[id] = new(blockModel)
	}
	return m.of[id]
}

func (m *planModel) plan(fence record.Fence) {
	ids := []string{m.id("p"), m.id("p")}
	_, err := m.store.PlanDocument(record.WithFence(m.ctx, fence), m.owner, m.doc, plan("Plan "+ids[0], ids...))
	m.say("plan %v: %v", ids, err)
	for _, b := range m.document(m.doc).Blocks {
		m.hidden[b.ID] = !slices.Contains(ids, b.ID)
	}
}

func (m *planModel) write(id, content string, fence record.Fence) error {
	_, err := m.store.WriteBlock(record.WithFence(m.ctx, fence), m.owner, m.doc, record.BlockWrite{NewBlock: record.NewBlock{ID: id, Content: content}})
	return err
}

func (m *planModel) script() {
	m.doc, m.of, m.hidden = m.fixture.doc(), make(map[string]*blockModel), make(map[string]bool)
	for range 3 {
		_, err := m.store.AddBlock(m.ctx, m.owner, m.doc, record.NewBlock{ID: m.id("o"), Type: "md", Content: "old"}, nil)
		must(m.fixture, err)
	}
	if m.rnd.IntN(3) == 0 {
		m.plan(record.Fence{})
		must(m.fixture, m.write(m.id("n"), "older", record.Fence{}))
		m.twice = maps.Clone(m.hidden)
	}
	if m.rnd.IntN(3) == 0 {
		err := m.write(m.document(m.doc).Blocks[0].ID, "older", record.Fence{})
		m.say("an older proposal: %v", err)
	}
	if m.rnd.IntN(3) == 0 {
		id := m.document(m.doc).Blocks[1].ID
		_, err := m.store.ProposeDelete(m.ctx, m.owner, m.doc, id)
		m.say("an older deletion of %s: %v", id, err)
	}
	m.before = m.document(m.doc)
	m.title = m.before.NewTitle
	m.plan(m.run)
	for range m.rnd.IntN(8) {
		if blocks := m.document(m.doc).Blocks; m.rnd.IntN(2) == 0 {
			m.runActs(blocks)
		} else {
			m.userActs(blocks)
		}
	}
	if m.looks {
		m.revert()
		return
	}
	for range 2 {
		_, err := m.store.DropPlanned(m.ctx, m.owner, m.doc, m.run.RunID)
		must(m.fixture, err)
		m.check()
	}
}

// revert reverts all: the document is as the run has found it.
func (m *planModel) revert() {
	d, err := m.store.SettleDocument(m.ctx, m.owner, m.doc, record.Revert, nil)
	must(m.fixture, err)
	replaced := make(map[string]bool) // hidden by an earlier plan and shown, or a draft that was shown and written
	for _, b := range m.before.Blocks {
		replaced[b.ID] = m.twice[b.ID] || b.State != schemas.BlockClean && (m.known(b.ID).written || m.known(b.ID).moved)
	}
	left := func(d schemas.Document) schemas.Document {
		d.Pending = nil
		d.Blocks = slices.DeleteFunc(slices.Clone(d.Blocks), func(b schemas.Block) bool { return replaced[b.ID] })
		return d
	}
	untouched(m.fixture, "reverted in one step", left(d), left(m.before))
}

// any returns one of the blocks, an empty one if there is none.
func (m *planModel) any(blocks []schemas.Block) schemas.Block {
	if len(blocks) == 0 {
		return schemas.Block{ID: "none"}
	}
	return blocks[m.rnd.IntN(len(blocks))]
}

func (m *planModel) runActs(blocks []schemas.Block) {
	ctx, b := record.WithFence(m.ctx, m.run), m.any(blocks)
	switch m.rnd.IntN(7) {
	case 0:
		m.earlier = m.earlier || m.wrote(blocks)
		m.plan(m.run)
	case 1:
		b = schemas.Block{ID: m.id("w")}
		fallthrough
	case 2, 3, 4:
		err := m.write(b.ID, "of the run", m.run)
		m.say("the run writes %s: %v", b.ID, err)
		if err == nil {
			delete(m.hidden, b.ID)
			m.known(b.ID).written, m.known(b.ID).user = true, ""
			if b.Current != nil && strings.HasPrefix(*b.Current, "of the user") {
				m.known(b.ID).user = *b.Current
			}
		}
	case 5:
		moved, err := m.store.ProposeMove(ctx, m.owner, m.doc, b.ID, new(""))
		m.say("the run moves %s: %v", b.ID, err)
		if err == nil && moved.Revision != b.Revision {
			delete(m.hidden, b.ID)
			m.known(b.ID).moved = true
		}
	default:
		_, err := m.store.ProposeDelete(ctx, m.owner, m.doc, b.ID)
		m.say("the run removes %s: %v", b.ID, err)
		if err == nil && b.State != schemas.BlockPendingDelete {
			m.known(b.ID).written, m.known(b.ID).user = true, ""
		}
	}
}

func (m *planModel) userActs(blocks []schemas.Block) {
	b := m.any(blocks)
	if m.looks {
		if m.hidden[b.ID] {
			delete(m.hidden, b.ID)
			_, err := m.store.SettleBlock(m.ctx, m.owner, b.ID, record.Revert, nil)
			m.say("the user shows %s: %v", b.ID, err)
		}
		return
	}
	text := fmt.Sprintf("of the user %d", len(m.said))
	var err error
	switch act := m.rnd.IntN(12); act {
	case 0, 1: // a block of a chat
		target := act == 1
		if !target {
			b = schemas.Block{ID: m.id("u")}
		}
		_, err = m.store.WriteBlock(m.ctx, m.owner, m.doc, record.BlockWrite{Only: target, KeepsType: target, Applied: true, NewBlock: record.NewBlock{ID: b.ID, Type: "md", Content: text}})
		m.say("the user applies to %s: %v", b.ID, err)
		if err == nil {
			m.known(b.ID).written, m.known(b.ID).user = false, text
		}
	case 2, 3, 4:
		var left record.Settled
		left, err = m.store.SettleBlock(m.ctx, m.owner, b.ID, record.Revert, nil)
		m.say("the user rejects %s: %v", b.ID, err)
		if !left.Gone && left.Block.State != schemas.BlockClean { // it is no longer hidden
			return
		}
		if k := m.known(b.ID); b.Current == nil || *b.Current != k.user {
			k.user = ""
		}
		m.known(b.ID).written, m.known(b.ID).moved = false, false
	case 5:
		_, err = m.store.SettleBlock(m.ctx, m.owner, b.ID, record.Accept, nil)
		m.say("the user accepts %s: %v", b.ID, err)
		k := m.known(b.ID)
		if b.State == schemas.BlockPendingDelete || b.New != nil && *b.New != k.user {
			k.user = ""
		}
		k.written, k.moved, k.accepted = false, false, k.accepted || k.written || k.moved
	case 6:
		_, err = m.store.PatchBlock(m.ctx, m.owner, b.ID, schemas.BlockPatch{Content: &text}, nil)
		m.say("the user edits %s: %v", b.ID, err)
		if err == nil {
			m.known(b.ID).user = text
		}
	case 7:
		err = m.store.DeleteBlock(m.ctx, m.owner, b.ID, nil)
		m.say("the user deletes %s: %v", b.ID, err)
		delete(m.of, b.ID)
	case 8:
		id := m.id("a")
		_, err = m.store.AddBlock(m.ctx, m.owner, m.doc, record.NewBlock{ID: id, Type: "md", Content: text}, nil)
		m.say("the user adds %s: %v", id, err)
		m.known(id).user = text
	case 9:
		_, err = m.store.RenameDocument(m.ctx, m.owner, m.doc, text, nil)
		m.say("the user renames: %v", err)
		m.title = ""
	default:
		if m.rnd.IntN(4) > 0 {
			return
		}
		decision := []record.Settle{record.Accept, record.Revert}[act-10]
		_, err = m.store.SettleDocument(m.ctx, m.owner, m.doc, decision, nil)
		m.say("the user decides %v: %v", decision, err)
		m.over = true
		clear(m.of)
	}
}

// wrote reports whether something of the run waits in the blocks or was accepted there.
func (m *planModel) wrote(blocks []schemas.Block) bool {
	return slices.ContainsFunc(blocks, func(b schemas.Block) bool {
		k := m.known(b.ID)
		return k.written || k.moved || k.accepted
	})
}

// check checks the document of a run that has ended.
func (m *planModel) check() {
	d := m.document(m.doc)
	state := make(map[string]schemas.BlockState)
	for _, b := range m.before.Blocks {
		state[b.ID] = b.State
	}
	wrote := m.earlier || m.wrote(d.Blocks)
	for _, b := range d.Blocks {
		_, older := state[b.ID]
		k := m.known(b.ID)
		switch {
		case !older && b.State == schemas.BlockPendingNew && *b.New == "":
			m.Errorf("the planned block %s is left", b.ID)
		case b.State == schemas.BlockClean && *b.Current == "":
			m.Errorf("the empty block %s is accepted", b.ID)
		case !m.over && !wrote && b.State == schemas.BlockPendingDelete && state[b.ID] != schemas.BlockPendingDelete:
			m.Errorf("%s is marked, and the run has written nothing", b.ID)
		case k.user != "" && (b.Current == nil || *b.Current != k.user) && (b.New == nil || *b.New != k.user):
			m.Errorf("%s has lost %q: %s", b.ID, k.user, shape(d))
		}
	}
	for id, k := range m.of {
		if k.user != "" && !slices.ContainsFunc(d.Blocks, func(b schemas.Block) bool { return b.ID == id }) {
			m.Errorf("%s is lost with %q", id, k.user)
		}
	}
	if !m.over && !wrote && d.NewTitle != m.title {
		m.Errorf("the title that waits is %q, want %q", d.NewTitle, m.title)
	}
}
