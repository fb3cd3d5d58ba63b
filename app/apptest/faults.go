package apptest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/chattray/chattray/schemas/record"
)

// FaultKind is how a statement fails.
type FaultKind string

// The kinds of faults.
const (
	// Refused is not executed.
	Refused FaultKind = "refused"
	// Lost is executed, but its answer is an error.
	Lost FaultKind = "lost"
)

// Faults is a driver of SQLite whose statements fail where a test says. It is safe for
// concurrent use.
type Faults struct {
	driver.Driver
	Name string // of the driver, as it is registered

	mu     sync.Mutex
	kind   FaultKind
	after  int // how many statements succeed before the first that fails
	fail   int // how many fail then
	failed []string
	armed  bool
	passed int // how many have succeeded after them
}

// NewFaults registers a driver without faults.
func NewFaults(t testing.TB) *Faults {
	t.Helper()
	db, err := sql.Open("sqlite", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	f := &Faults{Driver: db.Driver()}
	f.Name = fmt.Sprintf("faults %p", f)
	sql.Register(f.Name, f)
	return f
}

// Arm makes some statements fail, after some others.
func (f *Faults) Arm(kind FaultKind, after, fail int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kind, f.after, f.fail, f.failed, f.armed, f.passed = kind, after, fail, nil, true, 0
}

// Disarm ends the faults and returns the statements that failed.
func (f *Faults) Disarm() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail, f.armed = 0, false
	return f.failed
}

// Passed returns how many statements have succeeded after those that failed, until Disarm.
func (f *Faults) Passed() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.passed
}

// fault returns the kind of fault of the statement, "" for none.
func (f *Faults) fault(statement string) FaultKind {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.fail == 0:
		if f.armed {
			f.passed++
		}
		return ""
	case f.after > 0:
		f.after--
		return ""
	}
	f.fail--
	f.failed = append(f.failed, statement)
	return f.kind
}

var errFault = errors.Join(record.ErrUnavailable, errors.New("the test makes it fail"))

// Open makes a connection.
func (f *Faults) Open(source string) (driver.Conn, error) {
	conn, err := f.Driver.Open(source)
	if err != nil {
		return nil, err
	}
	all, ok := conn.(connection)
	if !ok {
		return nil, fmt.Errorf("the connection is a %T", conn)
	}
	return &faultyConn{all, f}, nil
}

// connection is what the driver's connections are.
type connection interface {
	driver.Conn
	driver.Pinger
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
}

type faultyConn struct {
	connection
	faults *Faults
}

// BeginTx begins a transaction whose end can fail.
func (c *faultyConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	tx, err := c.connection.BeginTx(ctx, o)
	return &faultyTx{tx, c.faults}, err
}

type faultyTx struct {
	driver.Tx
	faults *Faults
}

func (t *faultyTx) Commit() error {
	kind := t.faults.fault("COMMIT")
	if kind == Refused {
		return errors.Join(errFault, t.Rollback())
	}
	err := t.Tx.Commit()
	if err == nil && kind == Lost {
		err = errFault
	}
	return err
}

func (c *faultyConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return execute(c.faults, query, func() (driver.Result, error) { return c.connection.ExecContext(ctx, query, args) })
}

func (c *faultyConn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	return query(c.faults, text, func() (driver.Rows, error) { return c.connection.QueryContext(ctx, text, args) })
}

func (c *faultyConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	st, err := c.connection.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	all, ok := st.(statement)
	if !ok {
		return nil, fmt.Errorf("the statement is a %T", st)
	}
	return &faultyStatement{all, c.faults, query}, nil
}

// statement is what the driver's statements are.
type statement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

type faultyStatement struct {
	statement
	faults *Faults
	query  string
}

func (s *faultyStatement) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return execute(s.faults, s.query, func() (driver.Result, error) { return s.statement.ExecContext(ctx, args) })
}

func (s *faultyStatement) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return query(s.faults, s.query, func() (driver.Rows, error) { return s.statement.QueryContext(ctx, args) })
}

func execute(f *Faults, query string, do func() (driver.Result, error)) (driver.Result, error) {
	kind := f.fault(query)
	if kind == Refused {
		return nil, errFault
	}
	result, err := do()
	if err == nil && kind == Lost {
		return nil, errFault
	}
	return result, err
}

func query(f *Faults, text string, do func() (driver.Rows, error)) (driver.Rows, error) {
	kind := f.fault(text)
	if kind == Refused {
		return nil, errFault
	}
	found, err := do()
	if err == nil && kind == Lost {
		return nil, errors.Join(errFault, found.Close())
	}
	return found, err
}
