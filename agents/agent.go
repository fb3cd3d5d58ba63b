// Package agents runs one bounded conversation between a model and tools: it
// calls the model, runs the tools that the model asks for, gives it their
// results, and says what happens as a sequence of turn events.
//
// It knows nothing of HTTP, SQL, users or run ids. Model adapters are in
// sub-folders, one each.
package agents
