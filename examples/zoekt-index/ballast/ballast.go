// Package ballast saves a small update the time of garbage collections that would free nearly nothing.
//
// Go collects garbage whenever the memory in use has doubled, beginning with 4 MiB. Meanwhile zoekt loads its tables of
// languages, 16 MiB that stay. The ballast counts as memory in use, but nothing touches it, so the system never has to
// provide it. The package imports nothing, because then Go initializes it before those with the tables.
package ballast

// Size is the number of bytes that Go counts as memory in use until Release.
const Size = 64 << 20

var untouched = make([]byte, Size)

// Release lets Go collect garbage as usual, for an update that needs much memory.
func Release() { untouched = nil }
