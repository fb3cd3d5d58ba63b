package schemas

import "slices"

// User is the authenticated user; ID is issuer and subject.
type User struct {
	ID    string   `json:"user_id"`
	Name  string   `json:"name"`
	Roles []string `json:"roles"`
}

// Admin reports whether the user has the role admin.
func (u User) Admin() bool {
	return slices.Contains(u.Roles, "admin")
}

// Me is the authenticated user, with what the user may see and do.
type Me struct {
	ID    string   `json:"user_id"`
	Name  string   `json:"name"`
	Roles []string `json:"roles"`
	May   May      `json:"may"`
}

// May has the rights of a user beyond the user's own data.
type May struct {
	// Diagnostics allows reading the trace of runs, with the system prompt.
	Diagnostics bool `json:"diagnostics"`
	// AllUsage allows reading the usage of all users.
	AllUsage bool `json:"all_usage"`
	// AllStreams allows changing streams of other users, or without an owner.
	AllStreams bool `json:"all_streams"`
}
