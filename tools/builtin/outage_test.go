package builtin_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/tools"
	"github.com/chattray/chattray/tools/builtin"
	"github.com/chattray/chattray/tools/toolstest"
)

// A call waits while the database is away, for a while: the model would answer without what
// it has asked for.
func TestReadersOutliveAnOutage(t *testing.T) {
	for name, input := range map[string]string{
		"search_articles": `{"query":"gold"}`,
		"list_reports":    `{}`,
		"get_report":      `{"report_id":1}`,
		"list_streams":    `{}`,
		"get_stream":      `{"stream_id":1}`,
		"get_payload":     `{"payload_id":"00000001"}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				data := &unsteady{away: 3}
				all := append(builtin.Research(data), builtin.Payloads(data)...)
				if _, err := toolstest.Call(t, all, name, input, tools.Call{}); err != nil || data.away > 0 {
					t.Errorf("got %v, and the database would be away %d more times, want no error once it is back", err, data.away)
				}
				data.away = 1 << 20
				if _, err := toolstest.Call(t, all, name, input, tools.Call{}); !errors.Is(err, record.ErrUnavailable) {
					t.Errorf("got %v, want an error while the database stays away", err)
				}
			})
		})
	}
}

// unsteady is stored data that is away for some calls.
type unsteady struct{ away int }

func (u *unsteady) read() error {
	if u.away > 0 {
		u.away--
		return record.ErrUnavailable
	}
	return nil
}

func (u *unsteady) Streams(context.Context) ([]schemas.Stream, error) { return nil, u.read() }
func (u *unsteady) Stream(context.Context, int64) (schemas.Stream, error) {
	return schemas.Stream{}, u.read()
}

func (u *unsteady) Reports(context.Context, int64) ([]schemas.Report, error) { return nil, u.read() }

func (u *unsteady) Report(context.Context, int64) (schemas.Report, error) {
	return schemas.Report{}, u.read()
}

func (u *unsteady) SearchArticles(context.Context, string, int64, int64, int) ([]schemas.Article, error) {
	return nil, u.read()
}

func (u *unsteady) Payload(context.Context, string, int64, string) (schemas.CustomPayload, error) {
	return schemas.CustomPayload{Data: []byte(`{}`)}, u.read()
}
