package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chattray/chattray/store"
)

// A queued run that begins reads only what is after its question, and after each question that
// waits, once: with all messages of a long chat, others would wait for the writer.
func TestQueuedRunReadsAfterItsQuestion(t *testing.T) {
	s := fillChats(t, 1, 2)
	for _, statement := range []string{store.CurrentAnswer, store.SupersedeAnswered} {
		plan, err := s.Plan("EXPLAIN QUERY PLAN ", strings.ReplaceAll(statement, "?", "'1'"))
		got := fmt.Sprint(plan)
		if err != nil || !strings.Contains(got, "SEARCH b USING INDEX blocks_chat (chat_id=? AND <expr>>?)") || strings.Contains(got, "CORRELATED LIST") {
			t.Errorf("got the plan %v, %v of %s, want that it begins at the question", plan, err, statement)
		}
	}
}
