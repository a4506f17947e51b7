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
	// Build are zoekt's own options. The name in its description of the repository is the one of a repository without zoekt.name.
	Build zoektindex.Options
}

// Kind is the kind of an update.
type Kind string

const (
	Nothing Kind = "nothing"
	// Metadata changes only the description of the repository.
	Metadata Kind = "metadata"
	Delta    Kind = "delta"
	Whole    Kind = "whole"
)

// Outcome is what Update did. Reason says why it did not do less.
type Outcome struct {
	Repository string `json:"repository"`
	Kind       Kind   `json:"kind"`
	Reason     string `json:"reason,omitempty"`
	// Documents and Bytes are what was written: documents of new shards, and all files.
	Documents int   `json:"documents"`
	Bytes     int64 `json:"bytes"`
	// Shards is the number of shards that the index has now.
	Shards  int     `json:"shards"`
	Seconds float64 `json:"seconds"`
	Error   string  `json:"error,omitempty"`
}

func (o Outcome) String() string {
	text := string(o.Kind)
	if o.Reason != "" {
		text += " (" + o.Reason + ")"
	}
	return fmt.Sprintf("%s, %d documents, %d bytes, %d shards, %.3f s", text, o.Documents, o.Bytes, o.Shards, o.Seconds)
}

// Update brings the index up to date. It changes when Go collects garbage in this process.
func Update(o Options) (Outcome, error) {
	start := time.Now()
	outcome, err := o.update()
	outcome.Repository, outcome.Seconds = o.Repository, time.Since(start).Seconds()
	if err != nil {
		outcome.Error = err.Error()
	}
	return outcome, err
}

func (o *Options) update() (Outcome, error) {
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
	if outcome.Kind != Whole {
		limitMemory()
		err := o.follow(place, found, &outcome)
		reason := needsWhole(err)
		if reason == "" {
			return outcome, err
		}
		outcome = Outcome{Kind: Whole, Reason: reason}
	}
	log.Printf("building the whole index of %s: %s", o.Build.RepositoryDescription.Name, outcome.Reason)
	liftLimit()
	err = o.buildWhole(place, &outcome)
	return outcome, err
}

// follow updates an index without building all of it again.
func (o *Options) follow(place *place, found *state, outcome *Outcome) error {
	switch outcome.Kind {
	case Delta:
		return o.addDelta(place, found, outcome)
	case Metadata:
		return o.describe(place, found, outcome)
	default:
		outcome.Shards = len(found.shards)
		return o.compareFilters(found)
	}
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

// paths returns a request for some files of a branch, as far as it has them.
func (o *Options) paths(branch zoekt.RepositoryBranch, paths []string) stream.Request {
	request := o.full(branch.Version)
	request.Paths = paths
	return request
}

// changes returns a request for the changes of a branch since the commit of the index. git sluice refuses it if the filters
// are not those of the index, or if too much changed.
func (o *Options) changes(found *state, branch int) stream.Request {
	request := o.delta(found.repository().Branches[branch].Version, o.Build.RepositoryDescription.Branches[branch].Version)
	request.Filters = found.record.Filters
	limits := slices.DeleteFunc(slices.Clone(o.Sluice), func(option string) bool { return !isLimit(option) })
	if len(limits) == 0 {
		// Like --max-changed-ratio=0.5, but git sluice need not count the files.
		limits = []string{fmt.Sprintf("--max-changed-paths=%d", max(found.record.Documents/2, minChanges))}
	}
	request.Options = append(request.Options, limits...)
	return request
}

// minChanges is the number of changed paths that are never too many, because small repositories change much.
const minChanges = 200

// sluiceOptions returns the options by which git sluice selects the files that zoekt indexes.
func (o *Options) sluiceOptions() []string {
	options := []string{"--profile=zoekt", fmt.Sprintf("--max-size=%d", o.Build.SizeMax)}
	for _, glob := range o.Build.LargeFiles {
		options = append(options, "--size-exempt="+glob)
	}
	return append(options, slices.DeleteFunc(slices.Clone(o.Sluice), isLimit)...)
}

// isLimit tells an option that limits a delta from one for all requests.
func isLimit(option string) bool { return strings.HasPrefix(option, "--max-changed-") }
