package index

import (
	"fmt"
	"maps"
	"slices"

	"github.com/sourcegraph/zoekt"
	zoektindex "github.com/sourcegraph/zoekt/index"
)

// filtersKey is the key in zoekt's metadata of a repository whose value is the hash of the filters. git sluice compares it
// with those of a delta.
const filtersKey = "git-sluice-filters"

// state is what an index has: the commits of its branches, and the hash of the filters that selected the files.
type state struct {
	branches []zoekt.RepositoryBranch
	filters  string
}

// decide compares the index with what is wanted, and returns the state of the index unless it has to be replaced. It looks
// at every shard, because an index that another program left half replaced differs only in some of them.
func (o *Options) decide() (Outcome, *state) {
	description := &o.Build.RepositoryDescription
	shards, err := readShards(&o.Build)
	switch {
	case err != nil:
		return Outcome{Whole, err.Error()}, nil
	case len(shards) == 0:
		return Outcome{Whole, "there is no index"}, nil
	}
	old := shards[0].repository
	if reason := o.incompatibility(shards); reason != "" {
		return Outcome{Whole, reason}, nil
	}
	found := &state{old.Branches, old.Metadata[filtersKey]}
	if slices.Equal(old.Branches, description.Branches) {
		if o.Incremental {
			return Outcome{Action: Nothing}, found
		}
		return Outcome{Whole, "-incremental=false asks for it"}, nil
	}
	if !o.Delta {
		return Outcome{Whole, "-delta=false asks for it"}, nil
	}
	if deltas := countBuilds(shards) - 1; o.MaxDeltas > 0 && deltas >= o.MaxDeltas {
		return Outcome{Whole, fmt.Sprintf("the index has %d deltas", deltas)}, nil
	}
	return Outcome{Action: Delta}, found
}

// incompatibility returns why no delta of any commits can be added to the shards, or nothing if one can.
func (o *Options) incompatibility(shards []shard) string {
	description := &o.Build.RepositoryDescription
	old := shards[0].repository
	for _, shard := range shards {
		metadata := shard.metadata
		switch {
		case metadata.IndexFormatVersion != zoektindex.IndexFormatVersion || metadata.IndexFeatureVersion != zoektindex.FeatureVersion:
			return "zoekt's format changed"
		case shard.repository.IndexOptions != o.Build.GetHash():
			return "zoekt's options changed"
		case shard.repository.Metadata[filtersKey] == "":
			return "another program made the index"
		case shard.repository.Metadata[filtersKey] != old.Metadata[filtersKey]:
			return "the shards have different filters"
		case !slices.Equal(shard.repository.Branches, old.Branches):
			return "the shards have different commits"
		}
	}
	if !slices.Equal(branchNames(old.Branches), branchNames(description.Branches)) {
		return "the branches changed"
	}
	if !describesSame(old, description) {
		return "the description of the repository changed"
	}
	return ""
}

// describesSame reports whether both descriptions are equal except for the commits. A delta keeps the old description.
func describesSame(old, wanted *zoekt.Repository) bool {
	merged := *old
	merged.Branches = wanted.Branches
	merged.RawConfig = maps.Clone(old.RawConfig)
	isChanged, err := merged.MergeMutable(wanted)
	return err == nil && !isChanged
}

// shard is what a shard of the index says about itself.
type shard struct {
	repository *zoekt.Repository
	metadata   *zoekt.IndexMetadata
}

// readShards returns the shards of the repository. It returns none if zoekt has merged them with other repositories',
// because such a shard cannot be updated.
func readShards(options *zoektindex.Options) ([]shard, error) {
	var shards []shard
	for _, path := range ownShards(options) {
		repositories, metadata, err := zoektindex.ReadMetadataPathAlive(path)
		if err != nil {
			return nil, fmt.Errorf("cannot read the index: %w", err)
		}
		if len(repositories) != 1 || repositories[0].Name != options.RepositoryDescription.Name {
			return nil, fmt.Errorf("%s does not belong to this repository alone", path)
		}
		shards = append(shards, shard{repositories[0], metadata})
	}
	return shards, nil
}

// countBuilds counts the builds that made the shards: zoekt gives all shards of one build the same ID.
func countBuilds(shards []shard) uint64 {
	builds := map[string]bool{}
	for _, shard := range shards {
		builds[shard.metadata.ID] = true
	}
	return uint64(len(builds))
}
