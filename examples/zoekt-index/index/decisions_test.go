package index_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/git-sluice/git-sluice/examples/zoekt-index/index"
)

// decision is a step that changes what an update depends on.
type decision struct {
	name   string
	change func(*project)
	kind   index.Kind
}

func (p *project) decide(decision decision) {
	p.Helper()
	p.takeCommitted(step{name: decision.name, change: decision.change, kind: decision.kind})
}

var pushes int

// pushing commits a change to a file, and does something else.
func pushing(other func(*project)) func(*project) {
	return func(p *project) {
		pushes++
		p.write("alpha.txt", lines(pushes, "alpha push"))
		p.commit()
		other(p)
	}
}

func only(*project) {}

func (p *project) writeRules(rules string) {
	p.must(os.WriteFile(filepath.Join(p.root, "rules"), []byte(rules), 0o644))
}

var decisions = []decision{
	{"no index", pushing(edges[0].change), index.Whole},
	{"no push", only, index.Nothing},
	{"a push", pushing(only), index.Delta},
	{"an incremental update is not allowed", func(p *project) { p.options.Incremental = false }, index.Whole},
	{"a delta is not allowed", pushing(func(p *project) {
		p.options.Incremental, p.options.Delta = true, false
	}), index.Whole},
	{"another limit", pushing(func(p *project) {
		p.options.Delta = true
		p.options.Build.SizeMax = 100
	}), index.Whole},
	{"exempt files", pushing(func(p *project) { p.options.Build.LargeFiles = []string{"big*"} }), index.Whole},
	{"a push with exempt files", func(p *project) {
		p.write("big.txt", lines(500, "large exempt"))
		p.commit()
	}, index.Delta},
	{"access rules", func(p *project) {
		p.writeRules("/**\n-/secret/*\n")
		p.options.Sluice = []string{"--access-rules=" + filepath.Join(p.root, "rules")}
	}, index.Whole},
	{"a push with access rules", func(p *project) {
		p.write("secret/key.txt", "secret push\n")
		p.write("dir/a.txt", "alpha push with rules\n")
		p.commit()
	}, index.Delta},
	{"other access rules", func(p *project) { p.writeRules("/**\n-/dir/*\n") }, index.Whole},
	{"no access rules", pushing(func(p *project) { p.options.Sluice = nil }), index.Whole},
	{"another branch", func(p *project) {
		p.git("branch", "dev")
		p.options.Branches = []string{"main", "dev"}
	}, index.Whole},
	{"another order of branches", func(p *project) { p.options.Branches = []string{"dev", "main"} }, index.Whole},
	{"a pattern of branches", func(p *project) { p.options.Branches = []string{"d*", "ma*"} }, index.Nothing},
	{"one branch", func(p *project) { p.options.Branches = []string{"HEAD"} }, index.Whole},
	{"the base is missing", func(p *project) {
		p.git("checkout", "-q", "--orphan", "other")
		p.git("commit", "-q", "-m", "other")
		p.git("branch", "-q", "-D", "main")
		p.git("branch", "-q", "-D", "dev")
		p.git("reflog", "expire", "--expire=now", "--all")
		p.git("gc", "-q", "--prune=now")
	}, index.Whole},
	{"a limit of changes", func(p *project) { p.options.Sluice = []string{"--max-changed-paths=2"} }, index.Nothing},
	{"too many changes", func(p *project) {
		p.write("x", "common x")
		p.write("y", "common y")
		p.write("z", "common z")
		p.commit()
	}, index.Whole},
	{"a setting of zoekt", func(p *project) {
		p.options.Sluice = nil
		p.git("config", "zoekt.web-url", "https://example.com/repo")
		p.git("config", "zoekt.web-url-type", "gitlab")
	}, index.Metadata},
	{"a push with other settings", pushing(func(p *project) {
		for key, value := range map[string]string{"github-stars": "500", "priority": "7", "archived": "1", "public": "0"} {
			p.git("config", "zoekt."+key, value)
		}
		p.git("config", "zoekt.web-url-type", "github")
	}), index.Delta},
	{"a second delta", pushing(func(p *project) { p.options.MaxDeltas = 2 }), index.Delta},
	{"a delta too many", pushing(only), index.Whole},
	{"another program made the index", pushing(func(p *project) {
		p.must(os.RemoveAll(p.shards))
		theirs, err := p.indexWithZoekt()
		p.must(err)
		p.must(os.Rename(theirs, p.shards))
	}), index.Whole},
	{"a push after that", pushing(only), index.Delta},
	{"a shard is damaged", pushing(func(p *project) { p.must(os.Truncate(p.shard(0), 100)) }), index.Whole},
	{"a delta for the next", pushing(only), index.Delta},
	{"zoekt was killed between two files", pushing(func(p *project) { p.must(os.Remove(p.shard(0) + ".meta")) }), index.Whole},
	{"again a push", pushing(only), index.Delta},
	{"the first shard is missing", pushing(func(p *project) { p.must(os.Remove(p.shard(0))) }), index.Whole},
}

func TestDecisions(t *testing.T) {
	p := newProject(t)
	for _, decision := range decisions {
		p.decide(decision)
	}
}

func (p *project) shard(number int) string { return p.options.Build.FindAllShards()[number] }

func TestSubmodules(t *testing.T) {
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "protocol.file.allow")
	t.Setenv("GIT_CONFIG_VALUE_0", "always")
	inner := newProject(t)
	inner.write("inner.txt", "alpha of a submodule\n")
	inner.write("dir/deep.txt", "common of a submodule\n")
	inner.commit()
	p := newProject(t)
	p.options.Sluice = []string{"--submodules=recurse"}
	for _, decision := range []decision{
		{"a submodule", pushing(func(p *project) {
			p.git("submodule", "--quiet", "add", inner.repository, "module")
			p.commit()
		}), index.Whole},
		{"its commit changes", func(p *project) {
			inner.write("inner.txt", "beta of a submodule\n")
			inner.remove("dir")
			inner.commit()
			p.run(p.path("module"), "git", "pull", "-q", "origin", "main")
			p.commit()
		}, index.Delta},
		{"another file changes", pushing(only), index.Delta},
		{"the submodule moves", func(p *project) {
			p.git("mv", "module", "moved")
			p.commit()
		}, index.Delta},
		{"a file replaces it", func(p *project) {
			p.git("rm", "-q", "moved")
			p.write("moved", "alpha\n")
			p.commit()
		}, index.Delta},
	} {
		p.decide(decision)
	}
}
