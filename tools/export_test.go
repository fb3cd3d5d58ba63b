package tools

// What the tests see.
const MaxGroupName = maxGroupName

// DeclaredClient returns the client of declared tools.
var DeclaredClient = declaredClient
