package runs

import (
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas"
)

// Live returns the ids of the user's runs of a chat that have not ended, the one
// under way first, then those that wait in the order in which they came.
func (r *Runs) Live(user schemas.User, chat string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []*run
	for _, run := range r.live {
		if _, over := run.log.Ended(); !over && run.owner.ID == user.ID && run.chatKey == chat {
			list = append(list, run)
		}
	}
	slices.SortFunc(list, func(a, b *run) int { // ids are made in order of time
		if (a.attempt > 0) != (b.attempt > 0) {
			return map[bool]int{true: -1, false: 1}[a.attempt > 0]
		}
		return strings.Compare(a.id, b.id)
	})
	ids := make([]string, len(list))
	for i, run := range list {
		ids[i] = run.id
	}
	return ids
}
