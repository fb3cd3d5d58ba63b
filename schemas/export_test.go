package schemas

// MaxToolText is what the tests see.
const MaxToolText = maxToolText
