package index

import (
	"math"
	"runtime/debug"

	"github.com/git-sluice/git-sluice/examples/zoekt-index/ballast"
)

const (
	// maxDeltaMemory is the memory, in bytes, that Go may use for a delta in addition to the ballast. The program's code and
	// the shards that zoekt maps add about 20 MiB.
	maxDeltaMemory = 100 << 20
	// maxDeltaShard is the largest content of a delta's shard, in bytes. While zoekt writes a shard, it holds several times
	// that, and it prepares tables for the largest shard even if there is only one small file.
	maxDeltaShard = 4 << 20
)

// limitMemory makes Go collect garbage only near the limit, so that a small delta needs no collection at all.
func limitMemory() {
	debug.SetMemoryLimit(ballast.Size() + maxDeltaMemory)
	debug.SetGCPercent(-1)
}

// liftLimit makes Go collect garbage as usual, for an index that needs much memory.
func liftLimit() {
	ballast.Release()
	debug.SetMemoryLimit(math.MaxInt64)
	debug.SetGCPercent(100)
}
