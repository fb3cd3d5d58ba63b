package trace

import (
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
)

// The limits of the parts of one answer that are not shown. A run can have hundreds of them,
// each as large as a payload.
const (
	maxDropped     = 64
	maxDroppedText = 2 << 20 // bytes of all their texts
)

// Dropped are the parts of an answer that are not shown, the first ones up to a limit.
type Dropped struct {
	list []schemas.DroppedPart
	size int
}

// Add adds a part, whose text may be cut. False means that there are too many.
func (d *Dropped) Add(part schemas.DroppedPart) bool {
	if len(d.list) == maxDropped {
		return false
	}
	part.Text = text.Bytes(part.Text, maxDroppedText-d.size)
	d.size += len(part.Text)
	d.list = append(d.list, part)
	return true
}

// All returns the parts in order.
func (d *Dropped) All() []schemas.DroppedPart { return d.list }
