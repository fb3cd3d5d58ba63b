package documents

import (
	"math/big"
	"strings"
)

// Positions are fractional keys: base 36 digits after a point, compared as
// text. A key always fits between two others. Keys at the ends are as short as
// possible.
const (
	keyBase  = 36
	keyWidth = 8 // digits of a key without neighbours on both sides
	keyFirst = "i0000000"
	// keyStep is the distance from the last key to the next, so that many keys
	// fit between two without becoming longer.
	keyStep = keyBase * keyBase * keyBase
	// maxKey is the length from which all keys of a document are assigned again.
	maxKey = 48
)

// keyBetween returns a key between low and high; "" is an open end. It returns
// false if there is no room within maxKey.
func keyBetween(low, high string) (string, bool) {
	switch {
	case low == "" && high == "":
		return keyFirst, true
	case high == "":
		return keyBeside(low, keyStep)
	case low == "":
		if key, ok := keyBeside(high, -keyStep); ok {
			return key, true
		}
		low = strings.Repeat("0", keyWidth)
	}
	for width := max(len(low), len(high)); width <= maxKey; width++ {
		a, b := keyNumber(low, width), keyNumber(high, width)
		if b.Sub(b, a).Cmp(big.NewInt(2)) < 0 {
			continue
		}
		return keyText(a.Add(a, b.Rsh(b, 1)), width), true
	}
	return "", false
}

// keyBeside returns a key of keyWidth digits at a distance from key, and false
// if there is none.
func keyBeside(key string, distance int64) (string, bool) {
	n := keyNumber(key[:min(len(key), keyWidth)], keyWidth)
	text := keyText(n.Add(n, big.NewInt(distance)), keyWidth)
	return text, n.Sign() > 0 && len(text) == keyWidth
}

// keyNumber reads a key as a number of width digits.
func keyNumber(key string, width int) *big.Int {
	n := new(big.Int)
	n.SetString(key+strings.Repeat("0", width-len(key)), keyBase)
	return n
}

func keyText(n *big.Int, width int) string {
	text := n.Text(keyBase)
	return strings.Repeat("0", max(0, width-len(text))) + text
}

// keysEven returns n keys in order, spread evenly.
func keysEven(n int) []string {
	keys := make([]string, n)
	first := keyNumber(keyFirst, keyWidth)
	for i := range keys {
		keys[i] = keyText(new(big.Int).Add(first, big.NewInt(int64(i)*keyStep)), keyWidth)
	}
	return keys
}
