package usage

// What the black-box tests see.
const (
	MaxBudgetUsers = maxBudgetUsers
	MaxCost        = maxCost
)

// Users is how many users are remembered.
func (b *Budgets) Users() int { return len(b.users) }
