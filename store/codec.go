package store

import (
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// Packed bytes begin with one of these.
const (
	packedPlain = 0
	packedZstd  = 1
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
	encoder = must(zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(packers),
		zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true)))
	decoder = must(zstd.NewReader(nil, zstd.WithDecoderConcurrency(packers), zstd.WithDecoderMaxMemory(maxUnpacked)))
)

// must returns what constant options make.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// pack returns data as it is stored.
func pack[T ~string | ~[]byte](data T) []byte {
	if len(data) < packFrom {
		return plain(data)
	}
	packed := append(make([]byte, 0, len(data)/2), packedZstd)
	if packed = encoder.EncodeAll([]byte(data), packed); len(packed) <= len(data) {
		return packed
	}
	return plain(data)
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
	default:
		return nil, errors.New("unpack: the data is packed in an unknown way")
	}
}
