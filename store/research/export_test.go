package research

// Seekable is how an import reads its data.
var Seekable = seekable
