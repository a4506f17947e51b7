package index

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sourcegraph/zoekt"
	zoektindex "github.com/sourcegraph/zoekt/index"

	"github.com/git-sluice/git-sluice/examples/zoekt-index/stream"
)

// changes are the paths that changed since the commits of the index.
type changes struct {
	paths map[string]struct{}
	// growth is about the number of documents that the index gains.
	growth int
	// isFixed is set if zoekt's metadata cannot name a new path. So no delta can replace the shard of that document later.
	isFixed bool
}

// listChanges asks for the changes of all branches. zoekt hides a path in all branches at once, so a path that changed in
// one branch is sent again for the others.
func (o *Options) listChanges(found *state) (*changes, error) {
	branches := o.Build.RepositoryDescription.Branches
	all := &changes{paths: map[string]struct{}{}}
	var unnamed error
	for i := range branches {
		_, err := stream.List(o.changes(found, i), func(file stream.File) {
			switch file.Status {
			case "A":
				all.growth++
			case "D":
				all.growth--
			}
			if !utf8.ValidString(file.Path) {
				all.isFixed = true
				if file.Status != "A" || len(branches) > 1 {
					unnamed = errName
				}
			}
			all.paths[file.Path] = struct{}{}
		})
		if err != nil {
			return nil, err
		}
	}
	all.growth /= len(branches)
	return all, unnamed
}

// hidden returns the paths whose documents in older shards are hidden. New paths are among them, so that the hidden paths of
// a shard name all documents of later shards.
func (c *changes) hidden() map[string]struct{} {
	hidden := maps.Clone(c.paths)
	maps.DeleteFunc(hidden, func(path string, _ struct{}) bool { return !utf8.ValidString(path) })
	return hidden
}

// sendPaths writes the documents that these paths have now.
func (o *Options) sendPaths(writer *writer, paths map[string]struct{}) error {
	if len(paths) == 0 {
		return nil
	}
	branches := o.Build.RepositoryDescription.Branches
	sorted := slices.Sorted(maps.Keys(paths))
	if len(branches) == 1 {
		_, err := send(o.paths(branches[0], sorted), func(document stream.Document) error {
			if _, isWanted := paths[document.Path]; !isWanted {
				return nil
			}
			return writer.add(document, branchNames(branches))
		})
		return err
	}
	versions := versions{}
	for i, branch := range branches {
		if _, err := stream.List(o.paths(branch, sorted), func(file stream.File) {
			// A path that is a directory in this branch brings the files below it, which have not changed.
			if _, isWanted := paths[file.Path]; isWanted {
				versions.note(file, i)
			}
		}); err != nil {
			return err
		}
	}
	return o.sendVersions(writer, versions, func(branch int) stream.Request {
		return o.paths(branches[branch], versions.pathsOf(branch))
	})
}

// sendAll writes all documents. The first branch is read in full, the others as differences to it, so that a file that
// branches share is sent only once. It returns the filters.
func (o *Options) sendAll(writer *writer) (string, error) {
	branches := o.Build.RepositoryDescription.Branches
	versions := versions{}
	changed := make([]map[string]bool, len(branches))
	difference := func(branch int) stream.Request { return o.delta(branches[0].Version, branches[branch].Version) }
	for i := range branches[1:] {
		changed[i+1] = map[string]bool{}
		if _, err := stream.List(difference(i+1), func(file stream.File) {
			changed[i+1][file.Path] = true
			versions.note(file, i+1)
		}); err != nil {
			return "", err
		}
	}
	filters, err := send(o.full(branches[0].Version), func(document stream.Document) error {
		return writer.add(document, withoutChange(branches, changed, document.Path))
	})
	if err != nil {
		return "", err
	}
	return filters, o.sendVersions(writer, versions, difference)
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

// versions says in which branches each version of a file is. Files of several branches with the same path and content are
// one document.
type versions map[version][]int

type version struct{ path, blob, reason string }

func (v versions) note(file stream.File, branch int) {
	if file.Status != "D" {
		key := version{file.Path, file.Blob, file.Reason}
		v[key] = append(v[key], branch)
	}
}

// pathsOf returns the paths of the versions that are sent from this branch: the first one that has them.
func (v versions) pathsOf(branch int) []string {
	var paths []string
	for key, branches := range v {
		if branches[0] == branch {
			paths = append(paths, key.path)
		}
	}
	slices.Sort(paths)
	return paths
}

// sendVersions writes each version, from the first branch that has it. So no content is held for later.
func (o *Options) sendVersions(writer *writer, versions versions, request func(branch int) stream.Request) error {
	all := o.Build.RepositoryDescription.Branches
	for i := range all {
		if len(versions.pathsOf(i)) == 0 {
			continue
		}
		_, err := send(request(i), func(document stream.Document) error {
			holders := versions[version{document.Path, document.Blob, strings.TrimSuffix(document.Reason, "binary")}]
			if len(holders) == 0 || holders[0] != i {
				return nil
			}
			names := make([]string, len(holders))
			for place, holder := range holders {
				names[place] = all[holder].Name
			}
			return writer.add(document, names)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// send passes all documents of an answer to visit, and returns the filters. There is no error only if the answer is complete.
func send(request stream.Request, visit func(stream.Document) error) (filters string, err error) {
	answer, err := stream.Open(request)
	if err != nil {
		return "", err
	}
	for answer.Next() {
		if err := visit(answer.Document); err != nil {
			answer.Close()
			return "", err
		}
	}
	return answer.Header.Filters, answer.Close()
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
