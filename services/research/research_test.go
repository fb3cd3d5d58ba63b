package research_test

import (
	"context"
	"errors"
	"testing"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/services/research"
)

// one is a store with one stream, which belongs to everybody.
type one struct{ research.Store }

func (one) UpdateStream(_ context.Context, id int64, change func(*schemas.Stream) error) (schemas.Stream, error) {
	s := schemas.Stream{StreamID: 1, Name: "Gold"}
	if id != s.StreamID {
		return schemas.Stream{}, schemas.ErrNotFound
	}
	err := change(&s)
	return s, err
}

// Everybody may read a stream: one who may not change it is told so.
func TestUpdateStream(t *testing.T) {
	name := "Silver"
	for _, tt := range []struct {
		id    int64
		roles []string
		want  schemas.Code
	}{
		{1, []string{"admin"}, ""},
		{1, nil, schemas.CodeForbidden},
		{2, nil, schemas.CodeNotFound},
	} {
		s, err := research.New(one{}).UpdateStream(t.Context(), schemas.User{ID: "i|ann", Roles: tt.roles}, tt.id, schemas.StreamUpdate{Name: &name})
		var code schemas.Code
		if e, ok := errors.AsType[*schemas.Error](err); ok {
			code = e.Code
		}
		if code != tt.want || err == nil && s.Name != name {
			t.Errorf("stream %d, roles %v: %+v, %v, want code %q", tt.id, tt.roles, s, err, tt.want)
		}
	}
}
