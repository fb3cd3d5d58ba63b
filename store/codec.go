package store

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// Packed bytes begin with one of these.
const (
	packedPlain = 0
	packedZstd  = 1
	packedS2    = 2
)

// Limits of packing.
const (
	// packFrom is the size from which data is compressed: less would win little
	// and cost as much as storing it.
	packFrom = 1024
	// maxUnpacked bounds what one value may unpack to.
	maxUnpacked = 512 << 20
	packers     = 2
)

var (
	encoder = newEncoder()
	decoder = must(zstd.NewReader(nil, zstd.WithDecoderConcurrency(packers), zstd.WithDecoderMaxMemory(maxUnpacked)))
)

// newEncoder returns an encoder that has made its parts, which it does when it is
// first used: a test that is the first one would own them.
func newEncoder() *zstd.Encoder {
	e := must(zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(packers),
		zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true)))
	e.EncodeAll([]byte{0}, nil)
	return e
}

// must returns what constant options make.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// pack returns data as it is stored: compressed, at several times the speed of
// zstd.
func pack[T ~string | ~[]byte](data T) []byte {
	if len(data) < packFrom {
		return plain(data)
	}
	return compress([]byte(data), packedS2, s2.MaxEncodedLen(len(data)), func(dst, data []byte) []byte {
		n := len(dst)
		return dst[:n+len(s2.Encode(dst[n:cap(dst)], data))]
	})
}

// packLog is pack for logs, of which there is most: a third smaller.
func packLog(data []byte) []byte {
	if len(data) < packFrom {
		return plain(data)
	}
	return compress(data, packedZstd, len(data)/2, func(dst, data []byte) []byte { return encoder.EncodeAll(data, dst) })
}

// scratch holds buffers to compress into: what is kept is the copy that has the
// right size. A buffer of more than keepScratch bytes is not used again.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

const keepScratch = 256 << 10

// compress returns data packed by a method that appends about room bytes at most, or
// plain where that is longer.
func compress(data []byte, method byte, room int, appendTo func(dst, data []byte) []byte) []byte {
	buf := scratch.Get().(*[]byte)
	packed := appendTo(append(slices.Grow((*buf)[:0], 1+room), method), data)
	if cap(packed) <= keepScratch {
		*buf = packed
		defer scratch.Put(buf)
	}
	if len(packed) > len(data) {
		return plain(data)
	}
	return slices.Clone(packed)
}

// plain is pack for what does not live long.
func plain[T ~string | ~[]byte](data T) []byte {
	return append(append(make([]byte, 0, len(data)+1), packedPlain), data...)
}

// unpack returns what pack was given; nil for nothing.
func unpack(packed []byte) ([]byte, error) {
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
