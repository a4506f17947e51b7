package index

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sourcegraph/zoekt"
	zoektindex "github.com/sourcegraph/zoekt/index"
)

// decide compares the index with what is wanted, and returns the state of the index unless it has to be replaced. It looks
// at every shard, because an index that another program left half replaced differs only in some of them.
func (o *Options) decide() (Outcome, *state) {
	found, reason := o.findState()
	if reason != "" {
		return Outcome{Kind: Whole, Reason: reason}, nil
	}
	old, wanted := found.repository(), &o.Build.RepositoryDescription
	_, isDescriptionChanged, err := merge(old, wanted)
	hasPush := !slices.Equal(old.Branches, wanted.Branches)
	switch {
	case err != nil:
		return Outcome{Kind: Whole, Reason: err.Error()}, nil
	case !o.Incremental && !hasPush:
		return Outcome{Kind: Whole, Reason: "-incremental=false asks for it"}, nil
	case !hasPush && !isDescriptionChanged:
		return Outcome{Kind: Nothing}, found
	case isCompound(found.shards[0].path):
		return Outcome{Kind: Whole, Reason: "zoekt has merged the index with those of other repositories"}, nil
	case !hasPush:
		return Outcome{Kind: Metadata, Reason: "the description of the repository changed"}, found
	case !o.Delta:
		return Outcome{Kind: Whole, Reason: "-delta=false asks for it"}, nil
	case o.MaxDeltas > 0 && uint64(len(found.builds())) > o.MaxDeltas:
		return Outcome{Kind: Whole, Reason: fmt.Sprintf("the index has %d deltas", len(found.builds())-1)}, nil
	case found.isOvergrown():
		return Outcome{Kind: Whole, Reason: "a whole build would be much smaller than the index"}, nil
	}
	return Outcome{Kind: Delta}, found
}

// findState reads the index. It returns a reason if no update can build on what it finds.
func (o *Options) findState() (*state, string) {
	shards, err := readShards(&o.Build)
	found := &state{shards: shards}
	if err == nil && len(shards) == 0 {
		found.shards, err = findCompound(&o.Build)
	}
	if err != nil {
		return nil, err.Error()
	}
	if len(found.shards) == 0 {
		return nil, "there is no index"
	}
	text := found.repository().Metadata[recordKey]
	if json.Unmarshal([]byte(text), &found.record) != nil {
		return nil, "another program made the index"
	}
	if reason := o.incompatibility(found, text); reason != "" {
		return nil, reason
	}
	if len(shards) > 0 {
		return found, found.damage()
	}
	return found, ""
}

// incompatibility returns why nothing can be added to the shards, or nothing if something can.
func (o *Options) incompatibility(found *state, record string) string {
	old := found.repository()
	for _, shard := range found.shards {
		metadata := shard.metadata
		version := zoektindex.IndexFormatVersion
		if isCompound(shard.path) {
			version = zoektindex.NextIndexFormatVersion
		}
		switch {
		case metadata.IndexFormatVersion != version || metadata.IndexFeatureVersion != zoektindex.FeatureVersion:
			return "zoekt's format changed"
		case shard.repository.IndexOptions != o.Build.GetHash() || found.record.Options != o.hash():
			return "the options changed"
		case shard.repository.Metadata[recordKey] != record || !slices.Equal(shard.repository.Branches, old.Branches):
			return "the shards are of different updates"
		}
	}
	if !slices.Equal(branchNames(old.Branches), branchNames(o.Build.RepositoryDescription.Branches)) {
		return "the branches changed"
	}
	return ""
}

// damage returns which shards differ from the last update, or nothing if they are complete.
func (s *state) damage() string {
	if len(s.shards) != len(s.record.Sizes) {
		return fmt.Sprintf("the index has %d of %d shards", len(s.shards), len(s.record.Sizes))
	}
	for i, shard := range s.shards {
		if shard.size != s.record.Sizes[i] {
			return fmt.Sprintf("%s has another length than after the last update", shard.path)
		}
	}
	more, err := filesFrom(s.shards[0].path, len(s.shards))
	switch {
	case err != nil:
		return err.Error()
	case len(more) > 0:
		return fmt.Sprintf("%s is of another update", more[0])
	}
	return ""
}

// hash identifies the options that change documents, in addition to those that zoekt's own hash has.
func (o *Options) hash() string {
	filters := slices.DeleteFunc(slices.Clone(o.Sluice), isLimit)
	text := fmt.Sprintf("%d %q %q %q", o.Build.TrigramMax, o.Build.LanguageMap, o.Build.ScipCTagsPath, filters)
	return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
}

func branchNames(branches []zoekt.RepositoryBranch) []string {
	var names []string
	for _, branch := range branches {
		names = append(names, branch.Name)
	}
	return names
}
