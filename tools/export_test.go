package tools

// MaxGroupName is what the tests see.
const MaxGroupName = maxGroupName
