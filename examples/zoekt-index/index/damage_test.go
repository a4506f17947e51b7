package index_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	zoektindex "github.com/sourcegraph/zoekt/index"

	"github.com/git-sluice/git-sluice/examples/zoekt-index/index"
)

// followed returns a project whose index has a whole build and three deltas of decreasing size.
func followed(t *testing.T) *project {
	t.Helper()
	p := newProject(t)
	pushing(edges[0].change)(p)
	p.update()
	for _, count := range []int{60, 20, 5} {
		p.write("many.txt", "common\n"+strings.Repeat("needle 7 alpha\n", count))
		for number := range count {
			p.write(filepath.Join("many", strings.Repeat("x", number+1)), text)
		}
		pushing(only)(p)
		p.update()
	}
	if count := len(p.files(p.shards)); count < 6 {
		t.Fatalf("the index has only %v", p.files(p.shards))
	}
	return p
}

// damages are accidents that happen to the shards of an index. Each must be noticed without a push.
var damages = []struct {
	name   string
	damage func(p *project, shard string)
}{
	{"a shard is deleted", func(p *project, shard string) { p.must(os.Remove(shard)) }},
	{"a shard and its metadata are deleted", func(p *project, shard string) {
		p.must(os.Remove(shard))
		p.must(os.Remove(shard + ".meta"))
	}},
	{"a link leads nowhere", func(p *project, shard string) {
		p.must(os.Remove(shard))
		p.must(os.Symlink("nowhere", shard))
	}},
	{"a shard is the older one", func(p *project, shard string) {
		content, err := os.ReadFile(shard)
		p.must(err)
		p.must(os.WriteFile(shard, append(content, 0), 0o644))
	}},
	{"metadata is deleted", func(p *project, shard string) { p.must(os.Remove(shard + ".meta")) }},
	{"a directory has the name of a shard", func(p *project, shard string) {
		p.must(os.Remove(shard))
		p.must(os.MkdirAll(filepath.Join(shard, "inner"), 0o755))
	}},
	{"a directory has the name of metadata", func(p *project, shard string) {
		p.must(os.Remove(shard + ".meta"))
		p.must(os.MkdirAll(filepath.Join(shard+".meta", "inner"), 0o755))
	}},
}

// TestDamage damages each shard of an index with deltas.
func TestDamage(t *testing.T) {
	p := followed(t)
	good := filepath.Join(p.root, "good")
	p.copyShards(p.shards, good)
	options := p.options.Build
	shards := options.FindAllShards()
	for _, damage := range damages {
		for _, shard := range shards {
			p.copyShards(good, p.shards)
			damage.damage(p, shard)
			p.decide(decision{damage.name + ": " + filepath.Base(shard), only, index.Whole})
			p.expectNoRemains()
		}
	}
}

// TestLaterShard checks that a shard after the last one is noticed and removed, because searches read it.
func TestLaterShard(t *testing.T) {
	p := followed(t)
	content, err := os.ReadFile(p.shard(1))
	p.must(err)
	p.must(os.WriteFile(filepath.Join(p.shards, "repo_v16.00042.zoekt"), content, 0o644))
	p.decide(decision{"a shard after a gap", only, index.Whole})
	if _, err := os.Stat(filepath.Join(p.shards, "repo_v16.00042.zoekt")); err == nil {
		t.Error("it is still there")
	}
}

// TestDocumentOptions changes each option that changes documents, and checks that one that does not is ignored.
func TestDocumentOptions(t *testing.T) {
	p := newProject(t)
	pushing(edges[0].change)(p)
	p.update()
	for _, change := range []decision{
		{"fewer trigrams", func(p *project) { p.options.Build.TrigramMax = 5 }, index.Whole},
		{"a parser", func(p *project) { setParser(&p.options.Build.LanguageMap, "go", 3) }, index.Whole},
		{"another parser", func(p *project) { setParser(&p.options.Build.LanguageMap, "go", 2) }, index.Whole},
		{"scip-ctags", func(p *project) { p.options.Build.ScipCTagsPath = "/nowhere/scip-ctags" }, index.Whole},
		{"links that are not followed", func(p *project) { p.options.Sluice = []string{"--threads=1"} }, index.Whole},
		{"more shards", func(p *project) { p.options.Build.ShardMax = 1000 }, index.Nothing},
		{"more threads", func(p *project) { p.options.Build.Parallelism = 2 }, index.Nothing},
	} {
		p.decide(change)
		p.decide(decision{"again", only, index.Nothing})
		p.decide(decision{"a push", pushing(only), index.Delta})
	}
}

func setParser[M ~map[string]P, P ~uint8](parsers *M, language string, number P) {
	*parsers = M{language: number}
}

// TestRemains puts into an index what must not stop its next update.
func TestRemains(t *testing.T) {
	p := followed(t)
	work := filepath.Join(p.shards, ".repo.update")
	for name, leave := range map[string]func(){
		"an empty directory that is ready": func() { p.must(os.MkdirAll(filepath.Join(work, "ready"), 0o755)) },
		"a directory that is ready and not complete": func() {
			p.must(os.MkdirAll(filepath.Join(work, "ready", "inner"), 0o755))
			p.must(os.WriteFile(filepath.Join(work, "ready", "repo_v16.00000.zoekt"), []byte("half"), 0o644))
		},
		"a list that is a directory": func() { p.must(os.MkdirAll(filepath.Join(work, "ready", "stale"), 0o755)) },
		"other files":                func() { p.must(os.MkdirAll(filepath.Join(work, "anything", "else"), 0o755)) },
	} {
		leave()
		p.decide(decision{name, pushing(only), index.Delta})
		p.expectNoRemains()
	}
}

// TestAbandoned checks that an update cleans up after those of repositories that have none any more.
func TestAbandoned(t *testing.T) {
	p := newProject(t)
	pushing(edges[0].change)(p)
	old, young := filepath.Join(p.shards, ".old.update"), filepath.Join(p.shards, ".young.update")
	for _, work := range []string{old, young} {
		p.must(os.MkdirAll(filepath.Join(work, "ready"), 0o755))
		p.must(os.WriteFile(filepath.Join(work, "ready", "old_v16.00000.zoekt"), []byte("half"), 0o644))
	}
	yesterday := time.Now().Add(-25 * time.Hour)
	p.must(os.Chtimes(old, yesterday, yesterday))
	p.update()
	if _, err := os.Stat(old); !os.IsNotExist(err) {
		t.Errorf("the update of a deleted repository stays: %v", err)
	}
	if _, err := os.Stat(young); err != nil {
		t.Errorf("an update that may go on was removed: %v", err)
	}
}

// merge merges the shards of all repositories, as zoekt-merge-index does.
func (p *project) merge() {
	p.Helper()
	shards, err := filepath.Glob(filepath.Join(p.shards, "*.zoekt"))
	p.must(err)
	var files []zoektindex.IndexFile
	for _, shard := range shards {
		file, err := os.Open(shard)
		p.must(err)
		opened, err := zoektindex.NewIndexFile(file)
		p.must(err)
		files = append(files, opened)
	}
	temporary, final, err := zoektindex.Merge(p.shards, files...)
	p.must(err)
	for i, shard := range shards {
		files[i].Close()
		p.must(os.Remove(shard))
		p.must(os.RemoveAll(shard + ".meta"))
	}
	p.must(os.Rename(temporary, final))
}

// TestCompound follows one of two repositories that zoekt has merged, with and without the flag for that, and with and
// without IDs.
func TestCompound(t *testing.T) {
	for _, withFlag := range []bool{false, true} {
		for _, id := range []string{"", "7"} {
			p, other := newProject(t), newProject(t)
			other.shards, other.options.Build.IndexDir = p.shards, p.shards
			other.options.Build.RepositoryDescription.Name = "other"
			for i, each := range []*project{p, other} {
				each.options.Build.ShardMerging = withFlag
				pushing(edges[0].change)(each)
				if id != "" {
					each.git("config", "zoekt.repoid", id+string(rune('0'+i)))
				}
				each.update()
			}
			p.merge()
			merged := p.answers(p.shards)
			for _, each := range []*project{p, other} {
				if outcome := each.update(); outcome.Action != index.Nothing {
					t.Errorf("without a push: %v", outcome)
				}
			}
			p.expectSame("before", p.answers(p.shards), merged)
			pushing(only)(p)
			if outcome := p.update(); outcome.Action != index.Whole {
				t.Errorf("after a push: %v", outcome)
			}
			p.expectBoth(other)
			pushing(only)(p)
			if outcome := p.update(); outcome.Action != index.Delta {
				t.Errorf("after a second push: %v", outcome)
			}
			p.expectBoth(other)
		}
	}
}

// expectBoth compares an index of two repositories with whole builds of both.
func (p *project) expectBoth(other *project) {
	p.Helper()
	whole := p.TempDir()
	for _, each := range []*project{p, other} {
		options := each.options
		options.Build.IndexDir = whole
		_, err := index.Update(options)
		p.must(err)
	}
	p.expectSame("whole builds", p.answers(p.shards), p.answers(whole))
}
