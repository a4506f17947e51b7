// Package index keeps zoekt's index of a git repository up to date with git sluice.
//
// Update decides by itself: it does nothing if the index is up to date, adds the files that changed since the commits of
// the index, or builds the whole index. An index is always the old one or the new one, even if Update is killed:
// type place says why, and when it is not so.
package index

import (
	"errors"
	"fmt"
	"log"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sourcegraph/zoekt"
	zoektindex "github.com/sourcegraph/zoekt/index"

	"github.com/git-sluice/git-sluice/examples/zoekt-index/stream"
)

// Options says what is indexed, and how.
type Options struct {
	// Repository is the directory of the repository.
	Repository string
	// Branches are names of branches or other revisions, or patterns of branches such as release-*.
	Branches []string
	// BranchPrefix is prepended to a name that is no revision by itself.
	BranchPrefix string
	// AllowMissing skips branches that do not exist.
	AllowMissing bool
	// Incremental allows to do nothing, and Delta to index only changes.
	Incremental, Delta bool
	// MaxDeltas is the number of deltas after which the whole index is built. 0 stands for no limit.
	MaxDeltas uint64
	// Sluice are more options of git sluice, such as --access-rules=<file>.
	Sluice []string
	// Build are zoekt's own options. A name in its description of the repository overrides the configured one.
	Build zoektindex.Options
}

// Action is the kind of an update.
type Action string

const (
	Nothing Action = "nothing"
	Delta   Action = "delta"
	Whole   Action = "whole"
)

// Outcome is what Update did. Reason says why it did not do less.
type Outcome struct {
	Action Action
	Reason string
}

// Update brings the index up to date. It changes when Go collects garbage in this process.
func Update(o Options) (Outcome, error) {
	o.Build.SetDefaults()
	var err error
	if o.Build.IndexDir, err = filepath.Abs(o.Build.IndexDir); err != nil {
		return Outcome{}, err
	}
	settings, err := o.settings()
	if err != nil {
		return Outcome{}, err
	}
	o.Build.RepositoryDescription.Source = o.Repository
	applySettings(&o.Build.RepositoryDescription, settings)
	place, err := openPlace(&o.Build)
	if err != nil {
		return Outcome{}, err
	}
	defer place.close()
	// Only now, because another update may have held the place, and branches may have moved meanwhile.
	if err := o.findBranches(); err != nil {
		return Outcome{}, err
	}
	outcome, found := o.decide()
	switch outcome.Action {
	case Nothing:
		err = o.compareFilters(found)
	case Delta:
		limitMemory()
		err = o.buildDelta(place, found)
	}
	if outcome.Action != Whole {
		reason := needsWhole(err)
		if reason == "" {
			return outcome, err
		}
		outcome = Outcome{Whole, reason}
	}
	log.Printf("building the whole index of %s: %s", o.Build.RepositoryDescription.Name, outcome.Reason)
	liftLimit()
	return outcome, o.buildWhole(place)
}

// errName is the reason why a delta cannot be applied to zoekt's index: zoekt hides paths by a JSON file.
var errName = errors.New("a path that changed is not UTF-8")

// needsWhole returns why the whole index must be built after this error of a delta, or nothing if that would not help.
func needsWhole(err error) string {
	var exit *stream.ExitError
	switch {
	case errors.Is(err, errName):
		return err.Error()
	case errors.As(err, &exit) && exit.Status == stream.StatusBaseUnusable:
		return "the repository lacks the commit of the index, or the filters changed"
	case errors.As(err, &exit) && exit.Status == stream.StatusTooMuchChanged:
		return "too many files changed"
	default:
		return ""
	}
}

// newBuilder returns zoekt's builder of an index, or of a delta for it.
func (o *Options) newBuilder(place *place, isDelta bool, filters string) (*zoektindex.Builder, error) {
	options := o.Build
	options.IsDelta = isDelta
	if isDelta {
		options.ShardMax = min(options.ShardMax, maxDeltaShard)
		options.Parallelism = 1
	}
	options.RepositoryDescription.Metadata = map[string]string{filtersKey: filters}
	var err error
	if options.IndexDir, err = place.stage(); err != nil {
		return nil, err
	}
	return zoektindex.NewBuilder(options)
}

// finish replaces the index. It is called only after all files have arrived, because zoekt's builder cannot give up: what
// it has at its end becomes the index.
func finish(builder *zoektindex.Builder, place *place) error {
	if err := builder.Finish(); err != nil {
		return fmt.Errorf("cannot write the index: %w", err)
	}
	return place.publish()
}

// full returns a request for all files of a commit.
func (o *Options) full(target string) stream.Request {
	return stream.Request{Repository: o.Repository, Options: o.sluiceOptions(), Target: target}
}

// delta returns a request for the changes between two commits.
func (o *Options) delta(base, target string) stream.Request {
	request := o.full(target)
	request.Base = base
	return request
}

// update returns a request for the changes of a branch since the commit of the index. git sluice refuses it if the filters
// are not those of the index, or if too much changed.
func (o *Options) update(found *state, branch int) stream.Request {
	request := o.delta(found.branches[branch].Version, o.Build.RepositoryDescription.Branches[branch].Version)
	request.Filters = found.filters
	request.Options = append(request.Options, slices.DeleteFunc(slices.Clone(o.Sluice), isFilter)...)
	return request
}

// sluiceOptions returns the options by which git sluice selects the files that zoekt indexes.
func (o *Options) sluiceOptions() []string {
	options := []string{"--profile=zoekt", fmt.Sprintf("--max-size=%d", o.Build.SizeMax)}
	for _, glob := range o.Build.LargeFiles {
		options = append(options, "--size-exempt="+glob)
	}
	for _, option := range o.Sluice {
		if isFilter(option) {
			options = append(options, option)
		}
	}
	return options
}

// isFilter tells an option for all requests from one that limits a delta.
func isFilter(option string) bool { return !strings.HasPrefix(option, "--max-changed-") }

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func branchNames(branches []zoekt.RepositoryBranch) []string {
	var names []string
	for _, branch := range branches {
		names = append(names, branch.Name)
	}
	return names
}
