package documents

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/chattray/chattray/schemas"
)

const (
	// claimEvery is how often a claim is tried that another run holds.
	claimEvery = 250 * time.Millisecond
	// releaseWait bounds the release of a claim.
	releaseWait = 10 * time.Second
	// unknownHolder holds a claim while the database does not say who does.
	unknownHolder = "unknown"
)

// Claims are the claims of the runs of all processes. They count until the run ends,
// whichever process works on it.
type Claims interface {
	// TakeClaim grants a run of the replica all that it claims, or returns another run
	// that holds some of it. If the run waits, that is noted until it is granted something
	// or LeaveClaim, unless a holder waits for this run, directly or through others: that
	// is a deadlock.
	TakeClaim(ctx context.Context, c Claim, replica string, waits bool) (holder string, deadlock bool, err error)
	LeaveClaim(ctx context.Context, run string) error
	// DropClaims drops what a run has claimed as one of the replica, unless an attempt
	// after that one has begun.
	DropClaims(ctx context.Context, run, replica string, attempt int) error
	// ClaimedIn returns the document in which a run has claimed the owner's block, "" for
	// none.
	ClaimedIn(ctx context.Context, owner, block string) (string, error)
	// SetWriting records whether text is being written into a block of the run. Until it
	// has ended the users of all processes cannot accept the block.
	SetWriting(ctx context.Context, run, block string, writing bool) error
	// Rejected returns the blocks into which these runs are writing text and in which
	// nothing is pending.
	Rejected(ctx context.Context, runs []string) ([]Claim, error)
}

// Share makes claims hold for the runs of all processes; replica returns the name under
// which runs are this process's now. It is called before the first run.
func (d *Documents) Share(claims Claims, replica func() string) {
	d.shared = &sharedClaims{claims: claims, replica: replica, taken: make(map[string]bool)}
}

// sharedClaims are the claims of this process's runs among those of all. It is safe for
// concurrent use.
type sharedClaims struct {
	claims  Claims
	replica func() string

	mu    sync.Mutex
	taken map[string]bool // runs that have taken something
}

func (s *sharedClaims) take(ctx context.Context, w Claim) (holder string, err error) {
	if w.Run == "" {
		return "", nil
	}
	s.begin(w.Run)
	holder, _, err = s.claims.TakeClaim(ctx, w, s.replica(), false)
	return holder, err
}

// begin notes that the run takes something.
func (s *sharedClaims) begin(run string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken[run] = true
}

// await tries again and again, also while the database is not available.
func (s *sharedClaims) await(ctx context.Context, w Claim, limit time.Duration) (holder string) {
	if w.Run == "" {
		return ""
	}
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	tick := time.NewTicker(claimEvery)
	defer tick.Stop()
	s.begin(w.Run)
	for {
		found, deadlock, err := s.claims.TakeClaim(ctx, w, s.replica(), true)
		switch {
		case err == nil && (found == "" || deadlock):
			return found
		case err == nil:
			holder = found
		case holder == "":
			holder = unknownHolder
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			s.leave(w.Run)
			return holder
		}
	}
}

// leave ends the wait of a run. What cannot be ended now ends with the next claim of the
// run, or with the run.
func (s *sharedClaims) leave(run string) {
	ctx, cancel := context.WithTimeout(context.Background(), releaseWait)
	defer cancel()
	_ = s.claims.LeaveClaim(ctx, run)
}

// release drops what the attempt has taken here. What cannot be dropped ends with the run.
func (s *sharedClaims) release(run string, attempt int) {
	s.mu.Lock()
	taken := s.taken[run]
	delete(s.taken, run)
	s.mu.Unlock()
	if !taken {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), releaseWait)
	defer cancel()
	_ = s.claims.DropClaims(ctx, run, s.replica(), attempt)
}

// setWriting records whether a block is being written. A nil value does nothing.
func (s *sharedClaims) setWriting(ctx context.Context, run, block string, writing bool) error {
	if s == nil {
		return nil
	}
	return s.claims.SetWriting(ctx, run, block, writing)
}

// lookForRejected withdraws the text that runs here are writing into blocks that the user
// has rejected or deleted through another process. A run learns it from its next piece of
// text, too, but the model may be silent for long.
func (d *Documents) lookForRejected(ctx context.Context) error {
	runs := d.writing.runs()
	if d.shared == nil || len(runs) == 0 {
		return nil
	}
	list, err := d.shared.claims.Rejected(ctx, runs)
	for _, c := range list {
		for _, block := range c.Blocks {
			err = errors.Join(err, d.withdrawRejected(ctx, c.Run, c.Owner, block))
		}
	}
	return err
}

func (d *Documents) withdrawRejected(ctx context.Context, run, owner, block string) error {
	_, unlock, err := d.own(ctx, owner) // no draft begins or ends meanwhile
	if err != nil {
		return err
	}
	defer unlock()
	for _, p := range d.writing.into(owner, block) {
		if p.run != run {
			continue
		}
		b, err := d.blocks.Block(ctx, owner, block)
		if err != nil && !errors.Is(err, schemas.ErrNotFound) {
			return err
		}
		p.mu.Lock()
		if !p.discarding && (err != nil || p.rejected(&b)) {
			p.withdraw()
		}
		p.mu.Unlock()
	}
	return nil
}

// rejected reports whether the user has rejected the draft, by what is stored of its
// block. A text that is held goes into a block that has pending changes. The caller has
// p.mu.
func (p *Draft) rejected(b *schemas.Block) bool {
	return b.New == nil && (p.late == nil || b.State == schemas.BlockClean)
}
