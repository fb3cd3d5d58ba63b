package eventlog

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// form describes how a body is stored.
type form struct {
	tag    byte // its first byte in an event; it is stored, so it never changes
	body   reflect.Type
	empty  func() runlog.Body
	fields func(f *fields, b runlog.Body)
}

// formOf returns the form of B: its fields in the order in which they are
// stored. New fields come last; they are empty in logs that were stored before.
func formOf[T any, B interface {
	*T
	runlog.Body
}](tag byte, each func(f *fields, b B)) form {
	return form{
		tag: tag, body: reflect.TypeFor[B](),
		empty:  func() runlog.Body { return B(new(T)) },
		fields: func(f *fields, b runlog.Body) { each(f, b.(B)) },
	}
}

// The tags of the most frequent bodies and of the largest one.
const (
	tagLevelStart = 4
	tagLevelEnd   = 5
	tagText       = 10
	tagMarker     = 11
	tagThinking   = 12
	tagArguments  = 13
	tagKeptText   = 14
	tagCompleted  = 19
	tagThreadText = 22
)

// forms has a row for each body. A tag differs from all versions.
var forms = []form{
	formOf(1, func(f *fields, b *runlog.Started) {
		f.run(&b.Run)
		f.text(&b.Message)
		f.target(&b.Target)
		f.text((*string)(&b.Code))
	}),
	formOf(2, func(f *fields, b *runlog.Status) { f.status(b) }),
	formOf(3, func(f *fields, b *runlog.Attempt) {
		f.run(&b.Run)
		f.text(&b.Message)
		f.target(&b.Target)
		f.int(&b.Number)
		f.int64(&b.KeptThrough)
		f.texts(&b.Text, (*string)(&b.Code))
	}),
	formOf(tagLevelStart, func(f *fields, b *runlog.LevelStart) {
		f.depth(&b.Depth)
		f.texts(&b.Type, &b.Label, &b.Ref, &b.Tool, &b.ToolUseID)
	}),
	formOf(tagLevelEnd, func(f *fields, b *runlog.LevelEnd) { f.depth(&b.Depth); f.texts(&b.Type, &b.Status) }),
	formOf(6, func(f *fields, b *runlog.Call) { f.texts(&b.ID, &b.Name); f.index(&b.Index); f.bool(&b.Client) }),
	formOf(tagText, func(f *fields, b *runlog.Text) { f.rest(&b.Text) }),
	formOf(tagMarker, func(f *fields, b *runlog.Marker) { f.rest(&b.Text) }),
	formOf(tagThinking, func(f *fields, b *runlog.Thinking) { f.rest(&b.Text) }),
	formOf(tagArguments, func(f *fields, b *runlog.Arguments) { f.rest(&b.Text) }),
	formOf(tagKeptText, func(f *fields, b *runlog.KeptText) { f.rest(&b.Text) }),
	formOf(15, func(f *fields, b *runlog.ToolStart) { f.toolStart(b) }),
	formOf(16, func(f *fields, b *runlog.ToolProgress) { f.toolProgress(b) }),
	formOf(17, func(f *fields, b *runlog.ToolComplete) { f.toolComplete(b) }),
	formOf(18, func(f *fields, b *runlog.Payload) {
		f.texts(&b.PayloadID, &b.Type, &b.Summary, &b.Source, &b.Outcome)
		f.raw(&b.Data)
		f.text(&b.ToolUseID)
		f.index(&b.Index)
	}),
	formOf(tagCompleted, func(f *fields, b *runlog.Completed) { // read by the function completed
		f.int64((*int64)(&b.Payload.Usage.CostUSD)) // JSON rounds it
		f.dst = b.Payload.AppendJSON(f.dst)
	}),
	formOf(20, func(f *fields, b *runlog.Failed) {
		f.text((*string)(&b.Code))
		f.text(&b.Message)
		f.bool(&b.Retryable)
		f.text(&b.MessageID)
		f.usage(&b.Used)
	}),
	formOf(21, func(f *fields, b *runlog.Cancelled) { f.text(&b.MessageID); f.usage(&b.Used) }),
	formOf(tagThreadText, func(f *fields, b *runlog.ThreadText) { f.rest(&b.Text) }),
	formOf(23, func(f *fields, b *runlog.ThreadToolStart) { f.toolStart(&b.ToolStart) }),
	formOf(24, func(f *fields, b *runlog.ThreadToolProgress) { f.toolProgress(&b.ToolProgress) }),
	formOf(25, func(f *fields, b *runlog.ThreadToolComplete) { f.toolComplete(&b.ToolComplete) }),
	formOf(26, func(f *fields, b *runlog.ApprovalRequest) {
		f.texts(&b.ApprovalID, &b.Tool, &b.ToolUseID, &b.Message, &b.Title, &b.Description, (*string)(&b.Reason), &b.ReasonText)
		f.raw(&b.Input)
		f.time(&b.ExpiresAt)
		f.index(&b.Index)
		f.usage(&b.Used)
	}),
	formOf(27, func(f *fields, b *runlog.ApprovalResolved) { f.text(&b.ApprovalID); f.bool(&b.Approved) }),
	formOf(28, func(f *fields, b *runlog.ClientToolCall) {
		f.texts(&b.Tool, &b.ToolUseID)
		f.raw(&b.Input)
		f.time(&b.ExpiresAt)
		f.index(&b.Index)
		f.usage(&b.Used)
	}),
	formOf(29, func(f *fields, b *runlog.BlockReset) {
		f.place(&b.Place)
		f.bool(&b.End)
		f.int64(&b.Revision)
		f.bool(&b.New)
		f.caller(&b.By)
		f.bool(&b.Refused)
	}),
	formOf(30, func(f *fields, b *runlog.BlockHeader) {
		f.place(&b.Place)
		f.text(&b.Header)
		f.int64(&b.Revision)
		f.caller(&b.By)
	}),
	formOf(31, func(f *fields, b *runlog.BlockContent) {
		f.place(&b.Place)
		f.text(&b.Text)
		f.int64(&b.Revision)
		f.caller(&b.By)
	}),
	formOf(32, func(f *fields, b *runlog.BlockDone) { f.place(&b.Place); f.caller(&b.By) }),
	formOf(33, func(f *fields, b *runlog.ToolRefused) { f.toolStart(&b.ToolStart) }),
	formOf(35, func(f *fields, b *runlog.Streamed) { f.text(&b.Argument) }),
	formOf(34, func(f *fields, b *runlog.ThreadStatus) { f.status(&b.Status) }),
}

var formByTag, formByType = func() (byTag [version2]*form, byType map[reflect.Type]*form) {
	byType = make(map[reflect.Type]*form)
	for i := range forms {
		byTag[forms[i].tag], byType[forms[i].body] = &forms[i], &forms[i]
	}
	return byTag, byType
}()

// textOf returns the tag and the text of a body that is only a text, as most
// bodies are. The tag of any other body is 0.
func textOf(b runlog.Body) (tag byte, text string) {
	switch b := b.(type) {
	case *runlog.Text:
		return tagText, b.Text
	case *runlog.Marker:
		return tagMarker, b.Text
	case *runlog.Thinking:
		return tagThinking, b.Text
	case *runlog.Arguments:
		return tagArguments, b.Text
	case *runlog.KeptText:
		return tagKeptText, b.Text
	case *runlog.ThreadText:
		return tagThreadText, b.Text
	case *runlog.Unknown:
		return b.Kind, ""
	default:
		return 0, ""
	}
}

// onlyText reports whether the stored body is only a text, see textOf.
func (p *packedEvent) onlyText() bool {
	switch p.tag {
	case tagText, tagMarker, tagThinking, tagArguments, tagKeptText, tagThreadText:
		return p.version == version2
	default:
		return false
	}
}

// bodies decodes stored events. The zero value is ready.
type bodies struct {
	texts     runlog.Slab[runlog.Text]
	thinking  runlog.Slab[runlog.Thinking]
	arguments runlog.Slab[runlog.Arguments]
	threads   runlog.Slab[runlog.ThreadText]
	starts    runlog.Slab[runlog.LevelStart]
	ends      runlog.Slab[runlog.LevelEnd]
	fields    fields // fields of the body that is read
}

// own returns the event in memory of its own.
func (m *bodies) own(p *packedEvent) (runlog.Event, error) {
	if p.tag == tagCompleted {
		return m.event(p, "")
	}
	return m.event(p, string(p.body))
}

// event returns the event whose body is stored as packed, a copy of p.body. The
// event's texts share packed's memory, except for Completed: packed may then be
// empty.
func (m *bodies) event(p *packedEvent, packed string) (runlog.Event, error) {
	b, err := m.body(p, packed)
	if err != nil {
		err = fmt.Errorf("event %d: %w: %w", p.seq, errSegment, err)
	}
	return runlog.Event{Seq: p.seq, Time: p.time, At: p.at, Body: b}, err
}

// completed reads the one body with JSON in it, which may be large.
func completed(p *packedEvent) (runlog.Body, error) {
	var b runlog.Completed
	if p.version == version1 {
		return completed1(p.body[p.text:])
	}
	cost, n := binary.Varint(p.body)
	if n <= 0 {
		return &b, errFields
	}
	err := json.Unmarshal(p.body[n:], &b.Payload)
	b.Payload.Usage.CostUSD = schemas.USD(cost)
	return &b, err
}

func (m *bodies) body(p *packedEvent, packed string) (runlog.Body, error) {
	if p.tag == tagCompleted {
		return completed(p)
	}
	text, data := packed, packed
	if p.version == version1 {
		text, data = packed[:p.text], packed[p.text:]
	}
	switch {
	case p.tag == tagText:
		return m.texts.New(runlog.Text{Text: text}), nil
	case p.tag == tagThreadText:
		return m.threads.New(runlog.ThreadText{Text: text}), nil
	case p.tag == tagThinking:
		return m.thinking.New(runlog.Thinking{Text: text}), nil
	case p.tag == tagArguments && (p.version != version1 || data == ""):
		return m.arguments.New(runlog.Arguments{Text: text}), nil
	case p.version == version1:
		return bodyOf1[p.tag](text, []byte(data))
	}
	form := formByTag[p.tag]
	var b runlog.Body
	switch {
	case form == nil:
		return &runlog.Unknown{Kind: p.tag}, nil
	case p.tag == tagLevelStart:
		b = m.starts.New(runlog.LevelStart{})
	case p.tag == tagLevelEnd:
		b = m.ends.New(runlog.LevelEnd{})
	default:
		b = form.empty()
	}
	m.fields = fields{src: packed, reading: true}
	form.fields(&m.fields, b)
	return b, m.fields.err
}
