// Package ballast saves a small update the time of garbage collections that would free nearly nothing.
//
// Go collects garbage whenever the memory in use has doubled, beginning with 4 MiB. Meanwhile zoekt loads its tables of
// languages, 16 MiB that stay. The ballast counts as memory in use, but nothing touches it, so the system never has to
// provide it. The package imports nothing, because then Go initializes it before those with the tables.
package ballast

var untouched = make([]byte, 64<<20)

// Size returns the number of bytes that Go counts as memory in use until Release.
func Size() int64 { return int64(len(untouched)) }

// Release lets Go collect garbage as usual, for an update that needs much memory.
func Release() { untouched = nil }
