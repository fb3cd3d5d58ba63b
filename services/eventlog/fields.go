package eventlog

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

var errFields = errors.New("a field is cut off")

// fields stores the fields of a body, or reads them in the same order. A missing field
// is empty: it is newer than the stored log. Storing does not write to a body, because
// readers may have it.
type fields struct {
	dst     []byte // grows while storing
	src     string // shrinks while reading
	reading bool
	err     error
}

// text stores or reads a string: its length and its bytes.
func (f *fields) text(v *string) {
	if !f.reading {
		f.dst = append(binary.AppendUvarint(f.dst, uint64(len(*v))), *v...)
		return
	}
	n := f.uvarint()
	if n > uint64(len(f.src)) {
		f.err, n = errFields, 0
	}
	*v, f.src = f.src[:n], f.src[n:]
}

func (f *fields) texts(list ...*string) {
	for _, v := range list {
		f.text(v)
	}
}

// rest stores or reads a string that extends to the end of the body.
func (f *fields) rest(v *string) {
	if !f.reading {
		f.dst = append(f.dst, *v...)
		return
	}
	*v, f.src = f.src, ""
}

// raw stores or reads JSON.
func (f *fields) raw(v *json.RawMessage) {
	if !f.reading {
		f.dst = append(binary.AppendUvarint(f.dst, uint64(len(*v))), *v...)
		return
	}
	var text string
	if f.text(&text); text != "" {
		*v = json.RawMessage(text)
	}
}

func (f *fields) int64(v *int64) {
	if !f.reading {
		f.dst = binary.AppendVarint(f.dst, *v)
		return
	}
	u := f.uvarint()
	*v = int64(u>>1) ^ -int64(u&1) // as binary.Varint decodes it
}

func (f *fields) int(v *int) {
	n := int64(*v)
	if f.int64(&n); f.reading {
		*v = int(n)
	}
}

// index is the index of a call, which older logs do not have.
func (f *fields) index(v *int) {
	n := *v - runlog.NoIndex
	if f.int(&n); f.reading {
		*v = n + runlog.NoIndex
	}
}

func (f *fields) bool(v *bool) {
	var n int64
	if *v {
		n = 1
	}
	if f.int64(&n); f.reading {
		*v = n != 0
	}
}

func (f *fields) float(v *float64) {
	n := int64(math.Float64bits(*v)) //nolint:gosec // the same bits
	if f.int64(&n); f.reading {
		*v = math.Float64frombits(uint64(n)) //nolint:gosec // the same bits
	}
}

// time stores or reads a time in the form of JSON, so that it is always shown
// in the same way.
func (f *fields) time(v *time.Time) {
	var text string
	if !f.reading {
		text = v.Format(time.RFC3339Nano)
	}
	if f.text(&text); !f.reading || text == "" {
		return
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		f.err = err
	}
	*v = at
}

func (f *fields) depth(v *runlog.Depth) {
	n := int64(*v)
	if f.int64(&n); f.reading {
		*v = runlog.Depth(n) //nolint:gosec // there are three depths
	}
}

func (f *fields) run(v *runlog.Run) {
	f.text(&v.RunID)
	f.int64(&v.ConversationID)
	f.texts(&v.ChatID, &v.UserMessageID)
}

func (f *fields) place(v *runlog.Place) { f.texts(&v.BlockIDs, &v.DocumentID, &v.Type) }

func (f *fields) target(v *runlog.Target) {
	f.place(&v.Place)
	f.texts(&v.MessageID, &v.Header)
	f.bool(&v.Awaited)
}

func (f *fields) status(b *runlog.Status) {
	f.text(&b.Message)
	f.text(&b.ApprovalID)
	f.text((*string)(&b.Reason))
	f.texts((*string)(&b.Code), &b.Tool)
	f.bool(&b.Shown)
}

func (f *fields) usage(v *schemas.Usage) {
	f.int(&v.InputTokens)
	f.int(&v.OutputTokens)
	f.int(&v.TotalTokens)
	f.int64((*int64)(&v.CostUSD))
}

func (f *fields) caller(v **runlog.Caller) {
	var c runlog.Caller
	if *v != nil {
		c = **v
	}
	f.texts(&c.Tool, &c.ToolUseID)
	f.int(&c.Index)
	if *v == nil && c.Tool != "" {
		*v = &c
	}
}

func (f *fields) toolStart(b *runlog.ToolStart) {
	f.texts(&b.Tool, &b.ToolUseID)
	f.int(&b.Index)
	f.raw(&b.Input)
	f.texts(&b.Title, &b.Streamed)
	f.raw(&b.Beside)
}

func (f *fields) toolProgress(b *runlog.ToolProgress) {
	f.texts(&b.Tool, &b.ToolUseID)
	f.int(&b.Index)
	f.texts(&b.Stage, &b.Message)
	f.float(&b.Progress)
	f.raw(&b.Data)
	var d runlog.DocumentChange
	if b.Document != nil {
		d = *b.Document
	}
	f.texts(&d.DocumentID, &d.BlockID, &d.BlockIDs)
	f.bool(&d.NewDoc)
	f.text(&d.BlockTypes)
	if b.Document == nil && d != (runlog.DocumentChange{}) {
		b.Document = &d
	}
}

func (f *fields) toolComplete(b *runlog.ToolComplete) {
	f.texts(&b.Tool, &b.ToolUseID)
	f.int(&b.Index)
	f.bool(&b.IsError)
	f.texts(&b.Done, &b.Output)
	f.bool(&b.Apart)
}

// uvarint reads a number, 0 at the end.
func (f *fields) uvarint() (v uint64) {
	for i := 0; i < len(f.src) && i < binary.MaxVarintLen64; i++ {
		c := f.src[i]
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			f.src = f.src[i+1:]
			return v
		}
	}
	if f.src != "" {
		f.err, f.src = errFields, ""
	}
	return 0
}
