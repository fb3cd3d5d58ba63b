package attempts_test

import (
	"testing"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/attempts"
)

// checkpoints are those of a run without calls and without a log.
type checkpoints []attempts.Checkpoint

func (c checkpoints) left() *record.Left {
	left := new(record.Left)
	for n, one := range c {
		left.Checkpoints = append(left.Checkpoints, record.Checkpoint{N: n, Data: schemas.Encode(one)})
	}
	return left
}

// The time that a run has worked is the longest that any of its checkpoints says.
func TestWorked(t *testing.T) {
	for _, tt := range []struct {
		stored checkpoints
		want   time.Duration
	}{
		{nil, 0},
		{checkpoints{{Mark: &attempts.Mark{}}, {Reply: &turn.Reply{}}}, 0},
		{checkpoints{{Mark: &attempts.Mark{}, WorkedMS: 1500}, {Reply: &turn.Reply{}, WorkedMS: 1000}}, 1500 * time.Millisecond},
		{checkpoints{{Mark: &attempts.Mark{}, WorkedMS: 1500}, {Reply: &turn.Reply{}, WorkedMS: 1000}, {WorkedMS: 2500}}, 2500 * time.Millisecond},
	} {
		e, err := attempts.Read(tt.stored.left())
		if err != nil || e.Worked != tt.want {
			t.Errorf("%+v: worked %v, %v, want %v", tt.stored, e.Worked, err, tt.want)
		}
	}
}
