package index_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	zoektindex "github.com/sourcegraph/zoekt/index"

	"github.com/git-sluice/git-sluice/examples/zoekt-index/index"
)

// followed returns a project whose index has a whole build and three deltas of decreasing size.
func followed(t *testing.T) *project {
	t.Helper()
	p := newFollowed(t, 1)
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

// damages are accidents that happen to a shard. Each must be noticed without a push.
var damages = map[string]string{
	"a shard is deleted":                   `rm "$1"`,
	"a shard and its metadata are deleted": `rm "$1" "$1.meta"`,
	"a link leads nowhere":                 `ln -sf nowhere "$1"`,
	"a shard is another one":               `cp "$(ls *.zoekt | grep -v "${1##*/}" | tail -n 1)" "$1"`,
	"metadata is deleted":                  `rm "$1.meta"`,
	"a directory has the name of a shard":  `rm "$1" && mkdir -p "$1/inner"`,
	"a directory has the name of metadata": `rm "$1.meta" && mkdir -p "$1.meta/inner"`,
}

// TestDamage damages each shard of an index with deltas, with -short every third.
func TestDamage(t *testing.T) {
	p := followed(t)
	good := filepath.Join(p.root, "good")
	p.copyShards(p.shards, good)
	for number, shard := range p.options.Build.FindAllShards() {
		if testing.Short() && number%3 != 0 {
			continue
		}
		for name, damage := range damages {
			p.copyShards(good, p.shards)
			p.run(p.shards, "sh", "-ec", damage, "-", shard)
			p.decide(decision{name + ": " + filepath.Base(shard), only, index.Whole})
			p.expectNoRemains()
		}
	}
}

// TestLaterShard checks that a shard after a gap is noticed and removed, because searches read it.
func TestLaterShard(t *testing.T) {
	p := followed(t)
	p.run(p.shards, "cp", p.shard(1), "repo_v16.00042.zoekt")
	p.decide(decision{"a shard after a gap", only, index.Whole})
	if slices.Contains(p.files(p.shards), "repo_v16.00042.zoekt") {
		t.Error("it is still there")
	}
}

// TestDocumentOptions changes each option that changes documents, and checks that one that does not is ignored.
func TestDocumentOptions(t *testing.T) {
	p := newFollowed(t, 1)
	for _, change := range []decision{
		{"fewer trigrams", func(p *project) { p.options.Build.TrigramMax = 5 }, index.Whole},
		{"a parser", func(p *project) { setParser(&p.options.Build.LanguageMap, "go", 3) }, index.Whole},
		{"another parser", func(p *project) { setParser(&p.options.Build.LanguageMap, "go", 2) }, index.Whole},
		{"scip-ctags", func(p *project) { p.options.Build.ScipCTagsPath = "/nowhere/scip-ctags" }, index.Whole},
		{"links that are followed", func(p *project) { p.options.Sluice = []string{"--symlinks=copy"} }, index.Whole},
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
	for _, remains := range []string{
		"mkdir ready", "mkdir -p ready/inner && echo half >ready/repo_v16.00000.zoekt", "mkdir -p ready/stale", "mkdir -p anything/else",
	} {
		p.run(p.shards, "sh", "-ec", "mkdir .repo.update && cd .repo.update && "+remains)
		p.decide(decision{remains, pushing(only), index.Delta})
		p.expectNoRemains()
	}
}

// TestAbandoned checks that an update cleans up after those of repositories that have none any more.
func TestAbandoned(t *testing.T) {
	p := newFollowed(t, 1)
	p.run(p.shards, "sh", "-ec", `
		mkdir -p .old.update/ready .young.update/ready && echo half >.old.update/ready/old_v16.00000.zoekt
		touch -d '25 hours ago' .old.update`)
	pushing(only)(p)
	p.update()
	if files := p.files(p.shards); slices.Contains(files, ".old.update") || !slices.Contains(files, ".young.update") {
		t.Errorf("the index has %q", files)
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
		defer opened.Close()
		files = append(files, opened)
	}
	temporary, final, err := zoektindex.Merge(p.shards, files...)
	p.must(err)
	p.run(p.shards, "sh", "-ec", `rm -f -- repo* other* && mv "$1" "$2"`, "-", temporary, final)
}

// TestCompound follows one of two repositories that zoekt has merged, with and without the flag for that, and with and
// without IDs.
func TestCompound(t *testing.T) {
	for _, withFlag := range []bool{false, true} {
		for _, id := range []string{"", "7"} {
			p, other := newProject(t), newProject(t)
			other.shards, other.options.Build.IndexDir = p.shards, p.shards
			other.git("config", "zoekt.name", "other")
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
				if outcome := each.update(); outcome.Kind != index.Nothing {
					t.Errorf("without a push: %v", outcome)
				}
			}
			p.expectSame("before", p.answers(p.shards), merged)
			for _, expected := range []index.Kind{index.Whole, index.Delta} {
				pushing(only)(p)
				if outcome := p.update(); outcome.Kind != expected {
					t.Errorf("after a push: %v", outcome)
				}
				p.expectBoth(other)
			}
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
