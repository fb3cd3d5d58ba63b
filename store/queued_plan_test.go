package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chattray/chattray/store"
)

// A queued run that begins reads only what is after its question: with all messages of a long
// chat, others would wait for the writer.
func TestQueuedRunReadsAfterItsQuestion(t *testing.T) {
	s := fillChats(t, 1, 2)
	plan, err := s.Plan("EXPLAIN QUERY PLAN ", strings.ReplaceAll(store.CurrentAnswer, "?", "'1'"))
	if err != nil || !strings.Contains(fmt.Sprint(plan), "SEARCH b USING INDEX blocks_chat (chat_id=? AND <expr>>?)") {
		t.Errorf("got the plan %v, %v, want that it begins at the question", plan, err)
	}
}
