package text

// DecodeByLibrary is Decode by the standard library.
var DecodeByLibrary = decode
