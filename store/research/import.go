package research

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/store/sqldb"
)

// Limits of an import.
const (
	// maxImportOnce bounds data that can be read only once: they are kept in memory.
	maxImportOnce = 256 << 20
	maxImportLine = 8 << 20
	// importLines and importBytes bound the lines that one transaction stores, but for a
	// longer line: others wait that long.
	importLines, importBytes = 400, 512 << 10
	// maxWrongLines is how many invalid lines an error names.
	maxWrongLines = 20
)

// Counts are how many records an import had.
type Counts struct {
	Streams, Reports, Articles int
}

// Import reads research data as JSON lines,
//
//	{"kind": "stream", "stream_id": 1, "name": "…", …}
//
// with kind stream, report or article and the fields of that schema. A record
// replaces the one with the same id. A stream comes before its reports, a
// report before its articles, unless the database has it.
//
// All lines are checked before the first one is stored. If one is invalid,
// nothing is imported; the error names the lines, at most maxWrongLines, and is a
// schemas.Error. Then
// each transaction stores a few hundred lines, and others may write in between.
// If the database stops the import, the error names the last line that is
// stored; a second import of the same data completes it.
//
// Data that are an io.Seeker are read twice and may have any size; they must
// not change meanwhile. Others may have maxImportOnce bytes.
func (d *Data) Import(ctx context.Context, from io.Reader) (Counts, error) {
	data, err := seekable(from, maxImportOnce)
	if err != nil {
		return Counts{}, fmt.Errorf("store: import: %w", err)
	}
	start, err := data.Seek(0, io.SeekCurrent)
	if err != nil {
		return Counts{}, fmt.Errorf("store: import: %w", err)
	}
	check := &importCheck{data: d, streams: make(map[int64]struct{}), reports: make(map[int64]struct{})}
	reader := &importReader{from: data}
	if err := check.all(ctx, reader); err != nil {
		return Counts{}, d.importFault(reader, err)
	}
	size := reader.n
	if _, err := data.Seek(start, io.SeekStart); err != nil {
		return Counts{}, fmt.Errorf("store: import: %w", err)
	}
	stored, err := d.storeLines(ctx, io.LimitReader(reader, size))
	if err == nil && stored != check.lines {
		err = errImportChanged
	}
	if err == nil {
		err = d.db.Imported(ctx)
	}
	if err != nil && stored > 0 {
		err = fmt.Errorf("the lines up to %d are stored, a second import of the same data completes it: %w", stored, err)
	}
	if err != nil {
		return Counts{}, d.importFault(reader, err)
	}
	return check.counts, nil
}

// importFault returns the error for callers. One of the data is not of the database.
func (d *Data) importFault(data *importReader, err error) error {
	if data.err != nil {
		return fmt.Errorf("store: import: %w", err)
	}
	return d.db.Fault("import", err)
}

// errImportChanged means that the data differ from what was checked.
var errImportChanged = errors.New("the data changed meanwhile")

// seekable returns the data, or a copy in memory of at most limit bytes if they can be read
// only once.
func seekable(from io.Reader, limit int) (io.ReadSeeker, error) {
	if data, ok := from.(io.ReadSeeker); ok {
		if _, err := data.Seek(0, io.SeekCurrent); err == nil { // an os.File may be a pipe
			return data, nil
		}
	}
	data, err := io.ReadAll(io.LimitReader(from, int64(limit)+1))
	if err != nil {
		return nil, err
	}
	if len(data) > limit {
		return nil, schemas.NewError(schemas.CodeTooLarge, fmt.Sprintf("data that can be read only once, as from a pipe, may have %d MiB; a file may have any size", limit>>20))
	}
	return bytes.NewReader(data), nil
}

// importCheck checks that the lines can be stored.
type importCheck struct {
	data *Data
	// streams and reports have the ids that exist: those of earlier lines, and those that
	// were found in the database.
	streams, reports map[int64]struct{}
	counts           Counts
	// lines is the number of the last line with a record.
	lines int
	// wrong has the errors of invalid lines. Unread is true if one could not be read: what
	// later lines refer to may be on it.
	wrong  []error
	unread bool
}

func (c *importCheck) all(ctx context.Context, data io.Reader) error {
	for line, err := range readImport(data) {
		unread := err != nil
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = c.add(ctx, &line.record)
		}
		c.lines = line.n
		if err == nil {
			continue
		}
		invalid, ok := errors.AsType[*schemas.Error](err) // invalidLine made it, for this line
		if !ok {
			return fmt.Errorf("line %d: %w", line.n, err)
		}
		invalid.Message = fmt.Sprintf("line %d: %s", line.n, invalid.Message)
		c.wrong, c.unread = append(c.wrong, err), c.unread || unread
		if len(c.wrong) == maxWrongLines {
			break
		}
	}
	return c.fault()
}

// fault returns the error for all invalid lines; nil if there are none.
func (c *importCheck) fault() error {
	if len(c.wrong) < 2 {
		return errors.Join(c.wrong...)
	}
	var list strings.Builder
	for _, err := range c.wrong {
		list.WriteString("\n" + strings.TrimPrefix(err.Error(), string(schemas.CodeInvalid)+": "))
	}
	if len(c.wrong) == maxWrongLines {
		fmt.Fprintf(&list, "\nThe lines after line %d were not read.", c.lines)
	}
	return invalidLine("these lines are not valid:" + list.String())
}

// add returns an error unless the row that the record refers to exists. A row that does not
// is told once.
func (c *importCheck) add(ctx context.Context, r *importRecord) error {
	switch r.table {
	case &importedStreams:
		c.counts.Streams++
		c.streams[r.id] = struct{}{}
		return nil
	case &importedReports:
		c.counts.Reports++
		c.reports[r.id] = struct{}{}
		return c.known(ctx, c.streams, "streams", r.parent, "stream_id")
	default:
		c.counts.Articles++
		return c.known(ctx, c.reports, "reports", r.parent, "report_id")
	}
}

func (c *importCheck) known(ctx context.Context, ids map[int64]struct{}, table string, id int64, field string) error {
	if _, ok := ids[id]; ok || c.unread {
		return nil
	}
	n, err := sqldb.Number(c.data.db.Read(ctx), "SELECT COUNT(*) FROM "+table+" WHERE id = ?", id)
	if err != nil {
		return err
	}
	ids[id] = struct{}{}
	if n == 0 {
		return invalidLine(fmt.Sprintf("%s %d does not exist", field, id))
	}
	return nil
}

// importReader counts the bytes of the data and keeps the error that ended them.
type importReader struct {
	from io.Reader
	n    int64
	err  error
}

// Read reads and counts.
func (r *importReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	r.n += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// storeLines stores the lines and returns the number of the last one that is stored.
func (d *Data) storeLines(ctx context.Context, data io.Reader) (stored int, err error) {
	var records []importRecord
	size, last := 0, 0
	flush := func() error {
		if len(records) == 0 {
			return nil
		}
		if stored > 0 {
			if err := d.db.GiveWay(ctx); err != nil {
				return err
			}
		}
		if err := d.db.Transact(ctx, func(tx sqldb.Session) error { return storeRecords(ctx, tx, records) }); err != nil {
			return err
		}
		records, size, stored = records[:0], 0, last
		return nil
	}
	for line, err := range readImport(data) {
		if _, invalid := errors.AsType[*schemas.Error](err); invalid { // it was valid before
			err = errImportChanged
		}
		if err != nil {
			return stored, fmt.Errorf("line %d: %w", line.n, err)
		}
		if len(records) == importLines || size+line.size > importBytes {
			if err := flush(); err != nil {
				return stored, err
			}
		}
		records, size, last = append(records, line.record), size+line.size, line.n
	}
	err = flush()
	return stored, err
}

func storeRecords(ctx context.Context, tx sqldb.Session, records []importRecord) error {
	for i := range records {
		if err := tx.Each(ctx, records[i].table.upsert, [][]any{records[i].args}); err != nil {
			return err
		}
	}
	return nil
}
