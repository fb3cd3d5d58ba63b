package agents

// MaxThreads is what the tests see.
const MaxThreads = maxThreads
