package index

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/sourcegraph/zoekt"
	zoektindex "github.com/sourcegraph/zoekt/index"
)

// recordKey is the key of the record in zoekt's metadata of a repository.
const recordKey = "git-sluice"

// record is what an update notes about the whole index, in the metadata of each shard.
type record struct {
	// Filters is the hash of the filters that selected the files. git sluice compares it with the filters of a delta.
	Filters string `json:"filters"`
	// Options is a hash of the options that change documents.
	Options string `json:"options"`
	// Built is the number of documents that the last whole build had, and Documents an estimate of those that one would have
	// today.
	Built     int `json:"built"`
	Documents int `json:"documents"`
	// Fixed is the number of shards at the beginning that only a whole build replaces.
	Fixed int `json:"fixed"`
	// Sizes are the lengths of all shards in bytes. They show if a shard is missing, or was replaced by another program.
	Sizes []int64 `json:"sizes"`
	// Spare is the number of shards at the end that are empty, because a delta has replaced several. If they were deleted, a
	// web server would forget them before it knows the new shard.
	Spare int `json:"spare"`
}

// shard is a file of the index, and what it says about itself.
type shard struct {
	path       string
	size       int64
	repository *zoekt.Repository
	metadata   *zoekt.IndexMetadata
}

func readShard(path string) (shard, error) {
	info, err := os.Stat(path)
	if err != nil {
		return shard{}, err
	}
	repositories, metadata, err := zoektindex.ReadMetadataPathAlive(path)
	if err != nil {
		return shard{}, err
	}
	if len(repositories) != 1 {
		return shard{}, fmt.Errorf("%s has %d repositories", path, len(repositories))
	}
	return shard{path, info.Size(), repositories[0], metadata}, nil
}

// readShards returns the shards of the repository, without those that it shares with others.
func readShards(options *zoektindex.Options) ([]shard, error) {
	var shards []shard
	for _, path := range ownShards(options) {
		read, err := readShard(path)
		if err != nil {
			return nil, fmt.Errorf("cannot read the index: %w", err)
		}
		shards = append(shards, read)
	}
	return shards, nil
}

// ownShards returns the shards of the repository, without those that it shares with others.
func ownShards(options *zoektindex.Options) []string {
	return slices.DeleteFunc(options.FindAllShards(), isCompound)
}

// numbered returns the path of another shard of the same index.
func numbered(path string, number int) string {
	return fmt.Sprintf("%s%05d.zoekt", prefix(path), number)
}

// prefix returns the path of a shard without its number.
func prefix(path string) string { return path[:len(path)-len("00000.zoekt")] }

// state is what an index has.
type state struct {
	shards []shard
	record record
}

// filled returns the shards that have documents.
func (s *state) filled() []shard { return s.shards[:len(s.shards)-s.record.Spare] }

func (s *state) repository() *zoekt.Repository { return s.shards[0].repository }

// build are the shards that an update has made, as a range of their numbers.
type build struct {
	start, end int
	bytes      int64
}

// builds returns the whole build and the deltas. zoekt gives all shards of one build the same ID.
func (s *state) builds() []build {
	var builds []build
	for i, shard := range s.filled() {
		if i == 0 || shard.metadata.ID != s.shards[i-1].metadata.ID {
			builds = append(builds, build{start: i})
		}
		last := &builds[len(builds)-1]
		last.end = i + 1
		last.bytes += shard.size
	}
	return builds
}

// keep returns the number of shards that stay when a delta is added. The delta also replaces the newest ones, as soon as
// they have as many bytes as the one before them. So n pushes of the same size leave at most log n deltas, and each document
// is written about log n times.
func (s *state) keep() int {
	kept := len(s.filled())
	var newer int64
	for _, build := range slices.Backward(s.builds()) {
		if build.start < s.record.Fixed {
			break
		}
		if build.bytes <= newer {
			kept = build.start
		}
		newer += build.bytes
	}
	return kept
}

// maxGrowth is how many times the bytes of a whole build an index may have, and growthSlack is what it may have in addition,
// because the smallest shards consist mostly of tables.
const (
	maxGrowth   = 1.3
	growthSlack = 4 << 20
)

// isOvergrown reports whether a whole build would make the index much smaller.
func (s *state) isOvergrown() bool {
	var bytes int64
	builds := s.builds()
	for _, build := range builds {
		bytes += build.bytes
	}
	expected := float64(builds[0].bytes) * float64(s.record.Documents) / float64(max(s.record.Built, 1))
	return float64(bytes) > maxGrowth*expected+growthSlack
}

// merge returns the old description with the new commits and settings, and whether settings have changed. It fails if such
// a change needs a whole build.
func merge(old, wanted *zoekt.Repository) (merged *zoekt.Repository, isChanged bool, err error) {
	copied := *old
	copied.Branches = wanted.Branches
	copied.RawConfig = maps.Clone(old.RawConfig)
	isChanged, err = copied.MergeMutable(wanted)
	copied.Rank, copied.TenantID = wanted.Rank, wanted.TenantID
	return &copied, isChanged, err
}

// writeMetadata writes new metadata of the shard into a directory: with the commits and settings that are wanted, the record,
// and hidden paths. It returns the number of bytes.
func (s *shard) writeMetadata(directory string, wanted *zoekt.Repository, hidden map[string]struct{}, record string) (int, error) {
	next, _, err := merge(s.repository, wanted)
	if err != nil {
		return 0, err
	}
	next.LatestCommitDate = wanted.LatestCommitDate
	next.Metadata = map[string]string{recordKey: record}
	if len(hidden) > 0 {
		next.FileTombstones = maps.Clone(hidden)
		maps.Copy(next.FileTombstones, s.repository.FileTombstones)
	}
	text, err := json.Marshal(next)
	if err != nil {
		return 0, err
	}
	return len(text), os.WriteFile(filepath.Join(directory, filepath.Base(s.path)+".meta"), text, 0o666)
}
