package limits

// MaxRateUsers is the bound of a rate limit's memory.
const MaxRateUsers = maxRateUsers
