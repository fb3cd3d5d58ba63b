package webpage

// MaxContent is what the tests see.
const MaxContent = maxContent
