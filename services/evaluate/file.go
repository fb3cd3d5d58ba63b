package evaluate

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"unicode/utf8"

	"github.com/chattray/chattray/schemas/text"
)

// Limits of a file of records.
const (
	maxRecord  = 64 << 20 // bytes of a line
	maxRecords = 10_000
	maxFaults  = 20 // faults that are reported at once
)

// errLarge is for a record that does not fit into a line.
var errLarge = fmt.Errorf("the record has more than %d bytes", maxRecord)

// errNotUTF8 is for a file in another encoding.
var errNotUTF8 = errors.New("is not text in UTF-8")

// byteOrderMark is at the start of files that some editors have written.
var byteOrderMark = []byte("\uFEFF")

// Write writes the records, one a line. What is too large for a line is left out of it.
func Write(to io.Writer, records iter.Seq2[*Record, error]) error {
	for r, err := range records {
		if err != nil {
			return err
		}
		line, err := encode(r)
		if err != nil {
			return fmt.Errorf("message %s: %w", r.MessageID, err)
		}
		if _, err := to.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

func encode(r *Record) ([]byte, error) {
	line, err := text.Encode(r)
	if err == nil && len(line) >= maxRecord && len(r.Attachments) > 0 {
		r.Attachments, r.Missing = nil, append(r.Missing, missingAttachments)
		line, err = text.Encode(r)
	}
	if err == nil && len(line) >= maxRecord {
		err = errLarge
	}
	return line, err
}

// Read reads a file of records, at most limit if that is not 0. Records without checks
// get the given ones. A byte order mark at the start is left out. The error joins what is
// wrong, with the numbers of the lines.
func Read(from io.Reader, checks []Check, limit int) ([]*Record, error) {
	if err := compileAll(checks); err != nil {
		return nil, err
	}
	var list []*Record
	var faults []error
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxRecord)
	n := 0
	for lines.Scan() {
		n++
		line := lines.Bytes()
		if n == 1 {
			line = bytes.TrimPrefix(line, byteOrderMark)
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		r, err := readRecord(line, checks)
		if err != nil {
			faults = append(faults, fmt.Errorf("line %d: %w", n, err))
			if len(faults) == maxFaults {
				return nil, errors.Join(append(faults, errors.New("and there may be more"))...)
			}
			continue
		}
		if list = append(list, r); limit > 0 && len(list) == limit {
			break
		}
		if len(list) > maxRecords {
			return nil, fmt.Errorf("line %d: more than %d records; use --limit or several files", n, maxRecords)
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		faults = append(faults, fmt.Errorf("line %d: %w", n+1, errLarge))
	} else if err != nil {
		faults = append(faults, err)
	}
	if len(faults) == 0 && len(list) == 0 {
		faults = append(faults, errors.New("the file has no records"))
	}
	return list, errors.Join(faults...)
}

func readRecord(line []byte, checks []Check) (*Record, error) {
	if !utf8.Valid(line) { // encoding/json would replace letters of other encodings
		return nil, errNotUTF8
	}
	r := new(Record)
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(r); err != nil {
		return nil, fmt.Errorf("is not a record: %w", err)
	}
	switch {
	case decoder.More():
		return nil, errors.New("has more than one record")
	case r.Version != Version:
		return nil, fmt.Errorf("has the version %d, want %d", r.Version, Version)
	case r.Question == "" && len(r.Attachments) == 0:
		return nil, errors.New("has no question")
	}
	for i := range r.History {
		if role := r.History[i].Role; role != "user" && role != "assistant" {
			return nil, fmt.Errorf("history: message %d has the role %q, want user or assistant", i+1, role)
		}
	}
	if err := compileAll(r.Checks); err != nil {
		return nil, err
	}
	if r.Checks == nil {
		r.Checks = checks
	}
	return r, nil
}

// ReadChecks reads checks from a JSON array. A byte order mark before it is left out.
func ReadChecks(raw []byte) ([]Check, error) {
	if !utf8.Valid(raw) {
		return nil, errNotUTF8
	}
	var checks []Check
	decoder := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(raw, byteOrderMark)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&checks); err != nil {
		return nil, fmt.Errorf("is not a JSON array of checks: %w", err)
	}
	return checks, compileAll(checks)
}
