package index_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sourcegraph/zoekt"
	"github.com/sourcegraph/zoekt/gitindex"
	zoektindex "github.com/sourcegraph/zoekt/index"
	"github.com/sourcegraph/zoekt/query"

	"github.com/git-sluice/git-sluice/examples/zoekt-index/index"
	"github.com/git-sluice/git-sluice/examples/zoekt-index/internal/environment"
)

// asUpdater is the variable that turns this test into a process that runs one update, with these options.
const asUpdater = "ZOEKT_INDEX_TEST_UPDATE"

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard)
	if text := os.Getenv(asUpdater); text != "" {
		var options index.Options
		err := json.Unmarshal([]byte(text), &options)
		if err == nil {
			_, err = index.Update(options)
		}
		if err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	environment.Run(m)
}

// project is a repository with a work tree, and an index that follows it.
type project struct {
	*testing.T
	root, repository, shards string
	options                  index.Options
}

const sizeLimit = 2000

func newProject(t *testing.T) *project {
	t.Helper()
	root := t.TempDir()
	p := &project{T: t, root: root, repository: filepath.Join(root, "repo"), shards: filepath.Join(root, "index")}
	p.options = index.Options{
		Repository: p.repository, Branches: []string{"HEAD"}, BranchPrefix: "refs/heads/", Incremental: true, Delta: true,
		Build: zoektindex.Options{IndexDir: p.shards, SizeMax: sizeLimit, DisableCTags: true, Parallelism: 1, TrigramMax: 20000},
	}
	p.options.Build.RepositoryDescription.Name = "repo"
	p.run(root, "git", "init", "-q", "-b", "main", p.repository)
	p.git("config", "zoekt.name", "repo")
	return p
}

// newFollowed returns a project whose index has followed this many pushes.
func newFollowed(t *testing.T, pushes int) *project {
	t.Helper()
	p := newProject(t)
	for range pushes {
		pushing(edges[0].change)(p)
		p.update()
	}
	return p
}

func (p *project) run(directory, program string, words ...string) string {
	p.Helper()
	command := exec.Command(program, words...)
	command.Dir = directory
	output, err := command.CombinedOutput()
	if err != nil {
		p.Fatalf("%s %q: %v\n%s", program, words, err, output)
	}
	return strings.TrimSpace(string(output))
}

func (p *project) git(words ...string) string {
	p.Helper()
	return p.run(p.repository, "git", words...)
}

func (p *project) path(name string) string { return filepath.Join(p.repository, name) }

func (p *project) write(name, content string) {
	p.Helper()
	p.must(os.MkdirAll(filepath.Dir(p.path(name)), 0o755))
	p.must(os.WriteFile(p.path(name), []byte(content), 0o644))
}

func (p *project) link(target, name string) {
	p.Helper()
	p.remove(name)
	p.must(os.MkdirAll(filepath.Dir(p.path(name)), 0o755))
	p.must(os.Symlink(target, p.path(name)))
}

func (p *project) remove(names ...string) {
	p.Helper()
	for _, name := range names {
		p.must(os.RemoveAll(p.path(name)))
	}
}

func (p *project) rename(from, to string) {
	p.Helper()
	p.must(os.MkdirAll(filepath.Dir(p.path(to)), 0o755))
	p.must(os.Rename(p.path(from), p.path(to)))
}

func (p *project) commit() {
	p.Helper()
	p.git("add", "-A", ".")
	p.git("commit", "-q", "--allow-empty", "-m", "step")
}

func (p *project) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// update updates the index, and returns what was done.
func (p *project) update() index.Outcome {
	p.Helper()
	outcome, err := index.Update(p.options)
	p.must(err)
	return outcome
}

// compare compares the answers of the index with those of a whole build, and with those of zoekt-git-index unless that
// is known to be wrong.
func (p *project) compare(withZoekt bool) {
	p.Helper()
	whole := p.options
	whole.Build.IndexDir = p.TempDir()
	outcome, err := index.Update(whole)
	p.must(err)
	if outcome.Kind != index.Whole {
		p.Fatalf("a new index was made by %v", outcome)
	}
	found := p.answers(p.shards)
	p.expectSame("a whole build", found, p.answers(whole.Build.IndexDir))
	if withZoekt {
		theirs, err := p.indexWithZoekt()
		p.must(err)
		p.expectSame("zoekt-git-index", found, p.answers(theirs))
	}
}

func (p *project) indexWithZoekt() (string, error) {
	p.Helper()
	build := p.options.Build
	build.IndexDir = p.TempDir()
	_, err := gitindex.IndexGitRepo(gitindex.Options{
		RepoDir: p.repository, BranchPrefix: p.options.BranchPrefix, Branches: p.options.Branches, BuildOptions: build,
	})
	return build.IndexDir, err
}

func (p *project) expectSame(other string, found, expected answers) {
	p.Helper()
	for _, text := range queries {
		missing, extra := subtract(expected[text], found[text]), subtract(found[text], expected[text])
		if len(missing)+len(extra) > 0 || len(found[text]) != len(expected[text]) {
			p.Fatalf("query %q: only %s answers\n%s\nonly this index answers\n%s", text, other,
				strings.Join(missing, "\n"), strings.Join(extra, "\n"))
		}
	}
}

// subtract returns the lines that are not among the others.
func subtract(lines, others []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return slices.Contains(others, line) })
}

// answers are the lines of the answers to each query, sorted.
type answers map[string][]string

func (a answers) equal(b answers) bool { return maps.EqualFunc(a, b, slices.Equal) }

// answers asks all queries of the shards in a directory.
func (p *project) answers(directory string) answers {
	p.Helper()
	found := answers{}
	paths, err := filepath.Glob(filepath.Join(directory, "*.zoekt"))
	p.must(err)
	for _, path := range paths {
		file, err := os.Open(path)
		p.must(err)
		shard, err := zoektindex.NewIndexFile(file)
		p.must(err)
		searcher, err := zoektindex.NewSearcher(shard)
		p.must(err)
		for _, text := range queries {
			found[text] = append(found[text], p.ask(searcher, text)...)
		}
		searcher.Close()
	}
	for text, lines := range found {
		slices.Sort(lines)
		if text == list {
			lines = slices.Compact(lines)
		}
		found[text] = lines
	}
	return found
}

func (p *project) ask(searcher zoekt.Searcher, text string) []string {
	p.Helper()
	if text == list {
		return p.list(searcher)
	}
	parsed, err := query.Parse(text)
	p.must(err)
	result, err := searcher.Search(context.Background(), parsed, &zoekt.SearchOptions{
		ShardMaxMatchCount: 1 << 20, TotalMaxMatchCount: 1 << 20,
	})
	p.must(err)
	var lines []string
	for _, file := range result.Files {
		lines = append(lines, fmt.Sprintf("%q %v %s %x %s", file.FileName, file.Branches, file.Language, file.Checksum, file.Version))
		for _, match := range file.LineMatches {
			line := fmt.Sprintf("%q:%d %v %q", file.FileName, match.LineNumber, match.FileName, match.Line)
			for _, fragment := range match.LineFragments {
				line += fmt.Sprintf(" %d+%d", fragment.LineOffset, fragment.MatchLength)
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// list returns what a shard says about the repository.
func (p *project) list(searcher zoekt.Searcher) []string {
	p.Helper()
	result, err := searcher.List(context.Background(), &query.Const{Value: true}, nil)
	p.must(err)
	var lines []string
	for _, entry := range result.Repos {
		r := entry.Repository
		lines = append(lines, fmt.Sprintf("%s %v %d %v %s %s %d %d %v", r.Name, r.Branches, r.ID, r.LatestCommitDate.UTC(), r.URL,
			r.FileURLTemplate, r.Rank, r.TenantID, r.RawConfig))
	}
	return lines
}

// rounds returns how many rounds a test makes that leaves something to chance: all, with -short a quarter.
func rounds(all int) int {
	if testing.Short() {
		return all / 4
	}
	return all
}
