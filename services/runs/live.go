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
	for _, one := range r.live {
		if _, over := one.log.Ended(); !over && one.owner.ID == user.ID && one.chatKey == chat {
			list = append(list, one)
		}
	}
	slices.SortFunc(list, func(a, b *run) int { // ids are made in order of time
		if (a.attempt > 0) != (b.attempt > 0) {
			return map[bool]int{true: -1, false: 1}[a.attempt > 0]
		}
		return strings.Compare(a.id, b.id)
	})
	ids := make([]string, len(list))
	for i, one := range list {
		ids[i] = one.id
	}
	return ids
}
