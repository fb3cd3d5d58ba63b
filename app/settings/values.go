package settings

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v3"
)

type (
	prefixList = []netip.Prefix
	span       = time.Duration
)

// binder parses a raw value into a Config.
type binder = func(*Config, any) error

// scalar makes a binder from a parser of text.
func scalar[T any](field func(*Config) *T, parse func(string) (T, error)) binder {
	return func(c *Config, raw any) error {
		s, err := scalarText(raw)
		if err != nil {
			return err
		}
		v, err := parse(s)
		if err != nil {
			return err
		}
		*field(c) = v
		return nil
	}
}

// scalarText returns a raw value as text.
func scalarText(raw any) (string, error) {
	switch v := raw.(type) {
	case string:
		return strings.TrimSpace(v), nil
	case bool, int, int64, uint64, float64:
		return fmt.Sprint(v), nil
	default:
		return "", errors.New("must be a single value")
	}
}

// texts returns a raw value as a list: one of YAML, also in a string, or a string with commas.
func texts(raw any) ([]string, error) {
	if s, ok := raw.(string); ok && strings.HasPrefix(strings.TrimSpace(s), "[") {
		var err error
		if raw, err = structured(s); err != nil {
			return nil, err
		}
	}
	items, ok := raw.([]any)
	if !ok {
		s, err := scalarText(raw)
		if err != nil {
			return nil, errors.New("must be a list")
		}
		for part := range strings.SplitSeq(s, ",") {
			items = append(items, part)
		}
	}
	var list []string
	for _, item := range items {
		s, err := scalarText(item)
		if err != nil {
			return nil, errors.New("must be a list of single values")
		}
		if s != "" {
			list = append(list, s)
		}
	}
	return list, nil
}

func text(field func(*Config) *string) binder {
	return scalar(field, func(s string) (string, error) { return s, nil })
}

// parseHeaderText parses a text that is sent in a header. The error does not have it.
func parseHeaderText(s string) (string, error) {
	if strings.ContainsFunc(s, unicode.IsControl) {
		return "", errors.New("has a line break or another control character")
	}
	return s, nil
}

func oneOf(field func(*Config) *string, words ...string) binder {
	return scalar(field, func(s string) (string, error) {
		if !slices.Contains(words, s) {
			return "", fmt.Errorf("must be one of %s", strings.Join(words, ", "))
		}
		return s, nil
	})
}

func integer(field func(*Config) *int, low, high int) binder {
	return scalar(field, func(s string) (int, error) { return wholeNumber(s, low, high) })
}

// digits returns a number without the underscores that YAML allows between digits.
func digits(s string) string { return strings.ReplaceAll(s, "_", "") }

func wholeNumber(s string, low, high int) (int, error) {
	n, err := strconv.Atoi(digits(s))
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("must be a whole number from %d to %d", low, high)
	}
	return n, nil
}

func float(field func(*Config) *float64, low, high float64) binder {
	return scalar(field, func(s string) (float64, error) { return number(s, low, high) })
}

// number also refuses NaN, which is in no range.
func number(s string, low, high float64) (float64, error) {
	f, err := strconv.ParseFloat(digits(s), 64)
	if inRange := f >= low && f <= high; err != nil || !inRange {
		return 0, fmt.Errorf("must be a number from %s to %s", strconv.FormatFloat(low, 'f', -1, 64), strconv.FormatFloat(high, 'f', -1, 64))
	}
	return f, nil
}

func boolean(field func(*Config) *bool) binder { return scalar(field, parseSwitch) }

func parseSwitch(s string) (bool, error) {
	b, err := strconv.ParseBool(s)
	if err != nil {
		return false, errors.New("must be true or false")
	}
	return b, nil
}

// The limits of every duration setting.
const (
	minDuration = 10 * time.Millisecond
	maxDuration = 24 * time.Hour
)

func duration(field func(*Config) *span) binder {
	return durationFrom(field, minDuration, maxDuration)
}

func durationFrom(field func(*Config) *span, low, high span) binder {
	return scalar(field, func(s string) (span, error) { return spanFrom(s, low, high) })
}

// durationOrZero is a duration, or 0 for none.
func durationOrZero(field func(*Config) *span) binder {
	return scalar(field, func(s string) (span, error) {
		if d, err := time.ParseDuration(s); err == nil && d == 0 {
			return 0, nil
		}
		return orZero(parseSpan(s))
	})
}

// orZero adds to the error of a setting that it may also be 0.
func orZero[T any](v T, err error) (T, error) {
	if err != nil {
		err = fmt.Errorf("%w, or 0", err)
	}
	return v, err
}

// The limits of times for which data is kept.
const (
	day       = 24 * time.Hour
	minKept   = time.Hour
	maxKept   = 36500 * day
	keptError = "must be a time such as 30d or 12h, from 1h to 36500d, or 0"
)

// kept is how long data is kept, in days or as another duration; 0 means forever.
func kept(field func(*Config) *span) binder {
	return scalar(field, func(s string) (span, error) {
		d, err := time.ParseDuration(s)
		if days, ok := strings.CutSuffix(s, "d"); ok {
			var n int
			n, err = wholeNumber(days, 1, int(maxKept/day))
			d = span(n) * day
		}
		if err != nil || d != 0 && d < minKept || d > maxKept {
			return 0, errors.New(keptError)
		}
		return d, nil
	})
}

func parseSpan(s string) (span, error) { return spanFrom(s, minDuration, maxDuration) }

func spanFrom(s string, low, high span) (span, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d < low || d > high {
		return 0, fmt.Errorf("must be a time such as 15s or 2m, from %s to %s", low, high)
	}
	return d, nil
}

// The limits of size settings, for memory and for storage.
const (
	minSize    = 1 << 10
	maxSize    = 1 << 30
	maxStorage = 1 << 50
)

var sizeUnits = []struct {
	suffix string
	bytes  int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1}, {"", 1}}

func size(field func(*Config) *int64) binder { return scalar(field, parseSize) }

func parseSize(s string) (int64, error) {
	n, ok := bytesOf(s, maxSize)
	if !ok || n < minSize {
		return 0, errors.New("must be a size such as 65536, 512KiB or 1MiB, from 1KiB to 1GiB")
	}
	return n, nil
}

// sizeOrZero parses a size, or 0 for a derived one.
func sizeOrZero(field func(*Config) *int64) binder {
	return scalar(field, func(s string) (int64, error) {
		if s == "0" {
			return 0, nil
		}
		return orZero(parseSize(s))
	})
}

// storage parses a size of stored data; it may be 0.
func storage(field func(*Config) *int64) binder {
	return scalar(field, func(s string) (int64, error) {
		n, ok := bytesOf(s, maxStorage)
		if !ok || n > 0 && n < minSize {
			return 0, errors.New("must be a size such as 512MiB or 10GiB, from 1KiB to 1024TiB, or 0")
		}
		return n, nil
	})
}

// bytesOf returns the bytes of a size with its unit, from 0 to most.
func bytesOf(s string, most int64) (int64, bool) {
	for _, unit := range sizeUnits {
		number, ok := strings.CutSuffix(s, unit.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(digits(strings.TrimSpace(number)), 10, 64)
		if err != nil || n < 0 || n > most/unit.bytes {
			return 0, false
		}
		return n * unit.bytes, true
	}
	return 0, false
}

func address(field func(*Config) *string) binder {
	return scalar(field, func(s string) (string, error) {
		_, port, err := net.SplitHostPort(s)
		if err == nil {
			_, err = strconv.ParseUint(port, 10, 16)
		}
		if err != nil {
			return "", errors.New("must be host:port, such as 127.0.0.1:8080")
		}
		return s, nil
	})
}

func folder(field func(*Config) *string) binder {
	return scalar(field, func(s string) (string, error) {
		if s == "" {
			return "", nil
		}
		if info, err := os.Stat(s); err != nil || !info.IsDir() {
			return "", errors.New("must be a folder that exists")
		}
		return s, nil
	})
}

func prefixes(field func(*Config) *prefixList) binder {
	return func(c *Config, raw any) error {
		list, err := texts(raw)
		if err != nil {
			return err
		}
		var found prefixList
		for _, s := range list {
			p, err := netip.ParsePrefix(s)
			if err != nil {
				return fmt.Errorf("%q is not a CIDR such as 10.1.0.0/16", redactURLs(s))
			}
			found = append(found, p.Masked())
		}
		*field(c) = found
		return nil
	}
}

// names parses a list of names.
func names(field func(*Config) *[]string) binder {
	return func(c *Config, raw any) (err error) {
		*field(c), err = texts(raw)
		return err
	}
}

func logLevel(c *Config, raw any) error {
	return scalar(func(c *Config) *slog.Level { return &c.LogLevel }, func(s string) (slog.Level, error) {
		levels := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
		level, ok := levels[s]
		if !ok {
			return 0, errors.New("must be one of debug, info, warn, error")
		}
		return level, nil
	})(c, raw)
}

// structured returns a raw value with lists and maps: a value of the file, or
// one decoded from a string of JSON or YAML. Any other string is returned
// unchanged, but one that has brackets, braces, quotes or keys is an error: its secrets must
// not become names.
func structured(raw any) (any, error) {
	s, ok := raw.(string)
	if !ok {
		return raw, nil
	}
	s = strings.TrimSpace(s)
	var document yaml.Node
	value := any(s)
	if yaml.Unmarshal([]byte("value: "+s), &document) == nil {
		keepText(&document)
		var read map[string]any
		if document.Decode(&read) == nil {
			value = read["value"]
		}
	}
	if text, ok := value.(string); ok && (strings.HasPrefix(text, "[") || strings.ContainsAny(text, `{}"`) || strings.Contains(text, ": ")) {
		return nil, errors.New("cannot be read: a bracket, a brace or a quotation mark is missing")
	}
	return value, nil
}

func secrets(c *Config, raw any) error {
	found := map[string]string{}
	raw, err := structured(raw)
	if err != nil {
		return err
	}
	switch m := raw.(type) {
	case nil:
	case map[string]any:
		for _, name := range sortedKeys(m) {
			s, err := scalarText(m[name])
			if err != nil {
				return fmt.Errorf("%s must be a single value", name)
			}
			found[name] = s
		}
	default:
		return errors.New("must be a map of names to values")
	}
	c.Secrets = found
	return nil
}
