package responses

// The ids of responses and items, for tests.
var (
	ParseID    = parseID
	RunOf      = runOf
	ResponseID = responseID
)
