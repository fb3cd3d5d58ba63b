package packed

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// packedNow is a short log as this package has packed it since it has its
// dictionary. Databases hold such logs.
const packedNow = "0128b52ffd4500014000e500003073686f7274370600f12150c0440e08d8722a2303458129034e0401562a10f1"

// Logs that were packed earlier can be read: with the first dictionary, and
// without one.
func TestUnpackWhatIsStored(t *testing.T) {
	t.Parallel()
	want := []byte(strings.Repeat(`{"message":"short","conversation_id":7,"stop_reason":"end_turn"}`, 5))
	stored, err := hex.DecodeString(packedNow)
	if err != nil {
		t.Fatal(err)
	}
	without, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		t.Fatal(err)
	}
	for name, packed := range map[string][]byte{
		"with the first dictionary": stored, "without one": without.EncodeAll(want, []byte{packedZstd}), "plain": Plain(want), "now": Log(want),
	} {
		got, err := Open(packed)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: got %q, %v; want %q", name, got, err, want)
		}
	}
	if n := len(Log(want)); n > 60 {
		t.Errorf("packed to %d bytes, want at most 60", n)
	}
}

// BenchmarkLog packs the trace of a short run.
func BenchmarkLog(b *testing.B) {
	data := bytes.ReplaceAll(dictionary1, []byte("user"), []byte("u5er"))
	b.ReportAllocs()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		Log(data)
	}
}
