// Package packed writes what the store keeps as bytes: values and logs, compressed, and
// the entries of the journal.
package packed

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// Packed data begins with one of these bytes.
const (
	packedPlain = 0
	packedZstd  = 1
	packedS2    = 2
)

// Limits of packing.
const (
	// packFrom is the size from which data is compressed. Compressing less
	// would save little and cost as much as storing it.
	packFrom = 1024
	// packLogFrom is the same for data that is compressed with the dictionary.
	packLogFrom = 256
	// maxUnpacked bounds the size of one unpacked value.
	maxUnpacked = 512 << 20
	packers     = 2
	// packWindow is how far back zstd looks for what repeats, in bytes. Most values are
	// shorter, and each packer has twice as much memory all the time.
	packWindow = 256 << 10
)

// dictionary1 is the dictionary for compressing logs and traces: the content
// that most of them share. Stored data needs it, so it never changes; a better
// one gets another number.
//
//go:embed dictionary1.txt
var dictionary1 []byte

var (
	encoder = newEncoder()
	decoder = must(zstd.NewReader(nil, zstd.WithDecoderDictRaw(1, dictionary1), zstd.WithDecoderConcurrency(packers), zstd.WithDecoderMaxMemory(maxUnpacked)))
)

// newEncoder returns an encoder that is already initialized, because it starts
// its goroutines at its first use, which could be inside a test's bubble.
func newEncoder() *zstd.Encoder {
	e := must(zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(packers),
		zstd.WithEncoderDictRaw(1, dictionary1), zstd.WithWindowSize(packWindow), zstd.WithLowerEncoderMem(true)))
	e.EncodeAll([]byte{0}, nil)
	return e
}

// must returns v; constant options give no error.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Value returns data in the stored form: compressed, at several times the speed
// of zstd.
func Value[T ~string | ~[]byte](data T) []byte {
	if len(data) < packFrom {
		return Plain(data)
	}
	return compress([]byte(data), packedS2, s2.MaxEncodedLen(len(data)), func(dst, data []byte) []byte {
		n := len(dst)
		return dst[:n+len(s2.Encode(dst[n:cap(dst)], data))]
	})
}

// Log does the same for logs and traces, which are most of the data: short
// ones take a third of the space.
func Log[T ~[]byte](data T) []byte {
	if len(data) < packLogFrom {
		return Plain(data)
	}
	return compress(data, packedZstd, len(data)/2, func(dst, data []byte) []byte { return encoder.EncodeAll(data, dst) })
}

// scratch holds buffers to compress into; the result is copied to its exact
// size. A buffer larger than keepScratch bytes is not used again.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

const keepScratch = 256 << 10

// compress returns data packed by a method that appends about room bytes at
// most, or unpacked data if that is shorter.
func compress(data []byte, method byte, room int, appendTo func(dst, data []byte) []byte) []byte {
	buf := scratch.Get().(*[]byte)
	packed := appendTo(append(slices.Grow((*buf)[:0], 1+room), method), data)
	if cap(packed) <= keepScratch {
		*buf = packed
		defer scratch.Put(buf)
	}
	if len(packed) > len(data) {
		return Plain(data)
	}
	return slices.Clone(packed)
}

// Plain returns data in the packed format without compression, for data that is soon deleted.
func Plain[T ~string | ~[]byte](data T) []byte {
	return append(append(make([]byte, 0, len(data)+1), packedPlain), data...)
}

// Open reverses Value, Log and Plain. It returns nil for no data.
func Open(packed []byte) ([]byte, error) {
	switch {
	case len(packed) <= 1:
		return nil, nil
	case packed[0] == packedPlain:
		return packed[1:], nil
	case packed[0] == packedZstd:
		data, err := decoder.DecodeAll(packed[1:], nil)
		if err != nil {
			return nil, fmt.Errorf("unpack: %w", err)
		}
		return data, nil
	case packed[0] == packedS2:
		size, err := s2.DecodedLen(packed[1:])
		if err != nil || size > maxUnpacked {
			return nil, errors.Join(errors.New("unpack: the data is broken"), err)
		}
		data, err := s2.Decode(make([]byte, size), packed[1:])
		if err != nil {
			return nil, fmt.Errorf("unpack: %w", err)
		}
		return data, nil
	default:
		return nil, errors.New("unpack: the data is packed in an unknown way")
	}
}
