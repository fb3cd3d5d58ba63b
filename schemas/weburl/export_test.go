package weburl

// Sent is what the tests see.
var Sent = sent
