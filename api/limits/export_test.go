package limits

// MaxRateUsers is the bound of a rate limit's memory.
const MaxRateUsers = maxRateUsers

// Users is the number of users who have bytes.
func (t *Bytes) Users() int { return len(t.users) }
