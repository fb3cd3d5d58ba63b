package schemas_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/chattray/chattray/schemas"
)

// The table is shared with the tray, which tells the types of chosen files.
func TestImageTable(t *testing.T) {
	raw, err := os.ReadFile("testdata/images.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		Name   string
		Base64 []byte
		Media  string
	}
	if err := json.Unmarshal(raw, &rows); err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		t.Run(row.Name, func(t *testing.T) {
			for _, kind := range []string{"image/png", "image/jpeg", "image/gif", "image/webp"} {
				err := schemas.CheckImageFile(kind, row.Base64)
				if (err == nil) != (kind == row.Media) {
					t.Errorf("as %s: got error %v, want it to be taken as %q only", kind, err, row.Media)
				}
			}
		})
	}
}
