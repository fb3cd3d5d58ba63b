package webpage

// MaxContent and Tree are what the tests see.
const MaxContent = maxContent

var Tree = tree
