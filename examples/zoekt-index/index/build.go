package index

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"

	zoektindex "github.com/sourcegraph/zoekt/index"

	"github.com/git-sluice/git-sluice/examples/zoekt-index/stream"
)

// addDelta adds what changed in any branch. It also replaces the newest deltas by what their documents are now.
func (o *Options) addDelta(place *place, found *state, outcome *Outcome) error {
	changes, err := o.listChanges(found)
	if err != nil {
		return err
	}
	options := o.Build
	options.ShardMax = min(options.ShardMax, maxDeltaShard)
	options.Parallelism = 1
	documents := &writer{place: place, options: options}
	next := &successor{old: found, kept: found.keep(), hidden: changes.hidden(), record: found.record}
	next.record.Documents = max(found.record.Documents+changes.growth, 0)
	paths := maps.Clone(changes.paths)
	maps.Copy(paths, found.shards[next.kept-1].repository.FileTombstones)
	if err := o.sendPaths(documents, paths); err != nil {
		return err
	}
	if next.written, err = documents.finish(); err != nil {
		return err
	}
	if changes.isFixed {
		next.record.Fixed = next.kept + len(next.written)
	}
	if err := next.addSpares(&writer{place: place, options: options}); err != nil {
		return err
	}
	outcome.Documents = documents.documents
	return o.install(place, next, outcome)
}

// describe changes only the description of the repository.
func (o *Options) describe(place *place, found *state, outcome *Outcome) error {
	if err := o.compareFilters(found); err != nil {
		return err
	}
	return o.install(place, &successor{old: found, kept: len(found.shards), record: found.record}, outcome)
}

// compareFilters returns an error if the index was built with other filters. The commits are the same, so the delta is
// empty.
func (o *Options) compareFilters(found *state) error {
	_, err := stream.List(o.changes(found, 0), func(stream.File) {})
	return err
}

// buildWhole builds the index again.
func (o *Options) buildWhole(place *place, outcome *Outcome) error {
	writer := &writer{place: place, options: o.Build}
	// Even a repository without files has a shard.
	if err := writer.open(); err != nil {
		return err
	}
	filters, err := o.sendAll(writer)
	if err != nil {
		return err
	}
	written, err := writer.finish()
	if err != nil {
		return err
	}
	outcome.Documents = writer.documents
	return o.install(place, &successor{old: &state{}, written: written, record: record{
		Filters: filters, Options: o.hash(), Built: writer.documents, Documents: writer.documents, Fixed: len(written),
	}}, outcome)
}

// writer makes new shards, in a directory of its own.
type writer struct {
	place     *place
	options   zoektindex.Options
	builder   *zoektindex.Builder
	documents int
}

func (w *writer) open() (err error) {
	if w.options.IndexDir, err = w.place.stage(); err != nil {
		return err
	}
	w.builder, err = zoektindex.NewBuilder(w.options)
	return err
}

func (w *writer) add(document stream.Document, branches []string) error {
	if w.builder == nil {
		if err := w.open(); err != nil {
			return err
		}
	}
	w.documents++
	return w.builder.Add(zoektDocument(document, branches))
}

// finish returns the paths of the new shards.
func (w *writer) finish() ([]string, error) {
	if w.builder == nil {
		return nil, nil
	}
	if err := w.builder.Finish(); err != nil {
		return nil, fmt.Errorf("cannot write the index: %w", err)
	}
	return w.options.FindAllShards(), nil
}

// successor is an index that replaces the old one: it keeps some of the first shards, and has new ones after them. So that
// it has as many as the old one, empty shards follow.
type successor struct {
	old     *state
	kept    int
	hidden  map[string]struct{}
	written []string
	record  record
}

// addSpares adds empty shards in place of those that had documents and have no successor. From the first one on, the index
// always has one at its end, because a link to one costs less than another one.
func (s *successor) addSpares(writer *writer) error {
	filled, has := s.kept+len(s.written), len(s.old.shards)
	missing := max(len(s.old.filled())-filled, 0)
	if s.old.record.Spare > 0 && filled >= has {
		missing = 1
	}
	s.record.Spare = max(has, filled+missing) - filled
	if missing == 0 {
		return nil
	}
	spare := s.old.shards[has-1].path
	if s.old.record.Spare == 0 {
		// Nothing touches the tables of an empty shard, so they take no memory, unless the collector gives old memory to them.
		debug.SetMemoryLimit(math.MaxInt64)
		if err := writer.open(); err != nil {
			return err
		}
		paths, err := writer.finish()
		if err != nil {
			return err
		}
		spare = paths[0]
	}
	s.written = append(s.written, slices.Repeat([]string{spare}, missing)...)
	return nil
}

// install makes a successor the index. It is called only after all files have arrived.
func (o *Options) install(place *place, next *successor, outcome *Outcome) error {
	staged, err := place.stage()
	if err != nil {
		return err
	}
	shards := slices.Clone(next.old.shards[:next.kept])
	for _, path := range next.written {
		linked := filepath.Join(staged, filepath.Base(numbered(path, len(shards))))
		if err := os.Link(path, linked); err != nil {
			return err
		}
		shard, err := readShard(linked)
		if err != nil {
			return err
		}
		outcome.Bytes += shard.size
		shards = append(shards, shard)
	}
	if len(shards) < len(next.old.shards) {
		shards = append(shards, next.old.shards[len(shards):]...)
	}
	next.record.Sizes = nil
	for i := range shards {
		next.record.Sizes = append(next.record.Sizes, shards[i].size)
	}
	record, err := json.Marshal(next.record)
	if err != nil {
		return err
	}
	for i, shard := range shards {
		if i == next.kept {
			next.hidden = nil
		}
		bytes, err := shard.writeMetadata(staged, &o.Build.RepositoryDescription, next.hidden, string(record))
		if err != nil {
			return err
		}
		outcome.Bytes += int64(bytes)
	}
	outcome.Shards = len(shards)
	stale, err := o.stale(shards)
	if err != nil {
		return err
	}
	return place.publish(staged, stale, next.kept == 0)
}

// stale returns the files of the index that are no part of these shards.
func (o *Options) stale(shards []shard) ([]string, error) {
	first := filepath.Join(o.Build.IndexDir, filepath.Base(shards[0].path))
	stale, err := filesFrom(first, len(shards))
	for _, path := range ownShards(&o.Build) {
		if prefix(path) != prefix(first) {
			stale = append(stale, path, path+".meta")
		}
	}
	return stale, err
}
