package index

import (
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/sourcegraph/zoekt"
	zoektindex "github.com/sourcegraph/zoekt/index"

	"github.com/git-sluice/git-sluice/examples/zoekt-index/stream"
)

// buildDelta adds what changed in any branch. zoekt hides a path in all branches at once, so a path that changed in one
// branch is sent again for the others.
func (o *Options) buildDelta(place *place, found *state) error {
	builder, err := o.newBuilder(place, true, found.filters)
	if err != nil {
		return err
	}
	if len(found.branches) == 1 {
		err = o.addChanges(builder, found)
	} else {
		err = o.addChangesOfBranches(builder, found)
	}
	if err != nil {
		return err
	}
	return finish(builder, place)
}

// addChanges adds the changes of the only branch as they arrive.
func (o *Options) addChanges(builder *zoektindex.Builder, found *state) error {
	branch := o.Build.RepositoryDescription.Branches[0]
	hidden := map[string]bool{}
	deleted, err := read(o.update(found, 0), func(document stream.Document) error {
		if document.Status != "A" {
			hidden[document.Path] = true
		}
		return builder.Add(zoektDocument(document, []string{branch.Name}))
	})
	if err != nil {
		return err
	}
	return hide(builder, hidden, deleted)
}

// addChangesOfBranches collects the changes of all branches, then adds them.
func (o *Options) addChangesOfBranches(builder *zoektindex.Builder, found *state) error {
	branches := o.Build.RepositoryDescription.Branches
	documents := newCollection()
	changed := make([]map[string]bool, len(branches))
	changedAnywhere := map[string]bool{}
	for i, branch := range branches {
		var err error
		if changed[i], err = documents.readChanges(o.update(found, i), branch.Name); err != nil {
			return err
		}
		maps.Copy(changedAnywhere, changed[i])
	}
	for i, branch := range branches {
		if err := o.readUnchanged(documents, branch, without(changedAnywhere, changed[i])); err != nil {
			return err
		}
	}
	if err := hide(builder, changedAnywhere, nil); err != nil {
		return err
	}
	return documents.addTo(builder)
}

// buildWhole builds the index again. The first branch is read in full, the others as differences to it, so that a file that
// branches share is sent only once.
func (o *Options) buildWhole(place *place) error {
	branches := o.Build.RepositoryDescription.Branches
	documents := newCollection()
	changed := make([]map[string]bool, len(branches))
	for i, branch := range branches[1:] {
		var err error
		changed[i+1], err = documents.readChanges(o.delta(branches[0].Version, branch.Version), branch.Name)
		if err != nil {
			return err
		}
	}
	answer, err := stream.Open(o.full(branches[0].Version))
	if err != nil {
		return err
	}
	builder, err := o.newBuilder(place, false, answer.Header.Filters)
	if err != nil {
		answer.Close()
		return err
	}
	err = drain(answer, func(document stream.Document) error {
		return builder.Add(zoektDocument(document, withoutChange(branches, changed, document.Path)))
	})
	if err != nil {
		return err
	}
	if err := documents.addTo(builder); err != nil {
		return err
	}
	return finish(builder, place)
}

// withoutChange returns the branches in which the path did not change.
func withoutChange(branches []zoekt.RepositoryBranch, changed []map[string]bool, path string) []string {
	var names []string
	for i, branch := range branches {
		if !changed[i][path] {
			names = append(names, branch.Name)
		}
	}
	return names
}

// compareFilters returns an error if the index was built with other filters. The commits are the same, so the delta is
// empty.
func (o *Options) compareFilters(found *state) error {
	_, err := read(o.update(found, 0), func(stream.Document) error { return nil })
	return err
}

// read passes all documents of an answer to visit, and returns the deleted paths once the answer is complete.
func read(request stream.Request, visit func(stream.Document) error) (deleted []string, err error) {
	answer, err := stream.Open(request)
	if err != nil {
		return nil, err
	}
	if err := drain(answer, visit); err != nil {
		return nil, err
	}
	return answer.Deleted, nil
}

// drain passes all documents of an answer to visit. It returns nil only if the answer is complete.
func drain(answer *stream.Stream, visit func(stream.Document) error) error {
	for answer.Next() {
		if err := visit(answer.Document); err != nil {
			answer.Close()
			return err
		}
	}
	return answer.Close()
}

// readUnchanged adds these files of a branch, as far as it has them.
func (o *Options) readUnchanged(documents *collection, branch zoekt.RepositoryBranch, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	request := o.full(branch.Version)
	request.Paths = paths
	_, err := read(request, func(document stream.Document) error {
		// A path that is a directory in this branch brings the files below it, which have not changed.
		if _, isWanted := slices.BinarySearch(paths, document.Path); isWanted {
			documents.add(document, branch.Name)
		}
		return nil
	})
	return err
}

// hide hides all versions of these paths in the shards of the index.
func hide(builder *zoektindex.Builder, changed map[string]bool, deleted []string) error {
	for _, path := range slices.AppendSeq(deleted, maps.Keys(changed)) {
		if !utf8.ValidString(path) {
			return errName
		}
		builder.MarkFileAsChangedOrRemoved(path)
	}
	return nil
}

// collection holds documents of several branches. Files with the same path and content are one document.
type collection struct {
	documents []stream.Document
	branches  [][]string
	places    map[identity]int
}

type identity struct{ path, blob, reason string }

func newCollection() *collection { return &collection{places: map[identity]int{}} }

// readChanges adds the documents of a delta, and returns all paths that it changes.
func (c *collection) readChanges(request stream.Request, branch string) (map[string]bool, error) {
	changed := map[string]bool{}
	deleted, err := read(request, func(document stream.Document) error {
		changed[document.Path] = true
		c.add(document, branch)
		return nil
	})
	for _, path := range deleted {
		changed[path] = true
	}
	return changed, err
}

func (c *collection) add(document stream.Document, branch string) {
	key := identity{document.Path, document.Blob, document.Reason}
	place, exists := c.places[key]
	if !exists {
		place = len(c.documents)
		c.places[key] = place
		c.documents = append(c.documents, document)
		c.branches = append(c.branches, nil)
	}
	c.branches[place] = append(c.branches[place], branch)
}

func (c *collection) addTo(builder *zoektindex.Builder) error {
	for i, document := range c.documents {
		if err := builder.Add(zoektDocument(document, c.branches[i])); err != nil {
			return err
		}
	}
	return nil
}

// zoektDocument returns the document that zoekt indexes for a file of these branches.
func zoektDocument(document stream.Document, branches []string) zoektindex.Document {
	converted := zoektindex.Document{Name: document.Path, Content: document.Content, Branches: branches}
	switch document.Reason {
	case "":
	case "binary":
		converted.SkipReason = zoektindex.SkipReasonBinary
	default:
		converted.SkipReason = zoektindex.SkipReasonTooLarge
	}
	return converted
}

// without returns the paths of a set that are not in another one, in order.
func without(set, other map[string]bool) []string {
	var paths []string
	for path := range set {
		if !other[path] {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}
