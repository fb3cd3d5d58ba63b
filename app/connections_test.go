package app

import (
	"strings"
	"testing"
)

func TestConnectionLimit(t *testing.T) {
	for _, tt := range []struct {
		configured, descriptors, want int
		refused                       string
	}{
		{0, 1024, 480, ""},
		{0, 100, 18, ""},
		{0, 65, 1, ""},
		{0, 64, 0, "raise the limit"},
		{500, 1024, 500, ""},
		{960, 1024, 960, ""},
		{961, 1024, 0, "at most 960"},
		{0, 20_000, 9744, ""},
		{0, mostDescriptors, 524032, ""},
	} {
		got, err := connectionLimit(tt.configured, tt.descriptors)
		if got != tt.want || (tt.refused == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.refused) {
			t.Errorf("%d connections with %d descriptors: got %d, %v, want %d, %q", tt.configured, tt.descriptors, got, err, tt.want, tt.refused)
		}
	}
}
