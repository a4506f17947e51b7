package index_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/git-sluice/git-sluice/examples/zoekt-index/index"
)

// step changes a repository. After it, the index must answer like a whole build.
type step struct {
	name   string
	change func(*project)
	// kind is what the update must do: a delta unless the step names something else.
	kind index.Kind
	// isOurs is set where zoekt-git-index is wrong.
	isOurs bool
}

const ignoreFile = ".sourcegraph/ignore"

var text = strings.Repeat("common needle 1 alpha beta gamma\n", 20)

func lines(count int, words string) string { return strings.Repeat(words+"\n", count) }

var edges = []step{
	{name: "first commit", kind: index.Whole, change: func(p *project) {
		p.write("alpha.txt", "alpha common\n"+text)
		p.write("src/main.go", "package main\n\nfunc main() { print(\"hello needle\") }\n")
		p.write("src/lib/util.py", "def common():\n    print('beta')\n")
		p.write("dir/a.txt", "alpha in dir\n")
		p.write("dir/b.txt", "beta in dir\n")
		p.write("README.md", "# Hello\n\ncommon words\n")
		p.write("exec.sh", "#!/bin/sh\necho common\n")
		p.write("big.txt", lines(10, "large needle 2"))
		p.write("bin.dat", "binary\x00content")
		p.write("Case.txt", "case common\n")
		p.write("secret/key.txt", "secret needle 3\n")
		p.write("secret/other.txt", "hidden needle 4\n")
		p.link("src/main.go", "link")
	}},
	{name: "a change", change: func(p *project) { p.write("alpha.txt", "alpha version 2\n") }},
	{name: "a new file", change: func(p *project) { p.write("src/new.go", "package new // delta\n") }},
	{name: "an exclude file", change: func(p *project) { p.write(ignoreFile, "secret/key.txt\n") }},
	{name: "an ignored file changes", change: func(p *project) {
		p.write("secret/key.txt", "secret changed needle 5\n")
	}},
	{name: "another exclude rule", change: func(p *project) { p.write(ignoreFile, "secret/other.txt\n") }},
	{name: "an exclude file with the files that it frees and hides", change: func(p *project) {
		p.write(ignoreFile, "dir/\nsecret/key.txt\n")
		p.write("secret/other.txt", "freed needle 6\n")
		p.write("secret/key.txt", "hidden needle 7\n")
		p.write("dir/a.txt", "alpha changed while it is hidden\n")
	}},
	{name: "a linked exclude file", change: func(p *project) {
		p.write("rules", "src/\n")
		p.link("../rules", ignoreFile)
	}},
	{name: "linked rules change", change: func(p *project) { p.write("rules", "dir/\n") }},
	{name: "everything is ignored", change: func(p *project) {
		p.remove(ignoreFile)
		p.write(ignoreFile, "**\n")
	}},
	{name: "and back", change: func(p *project) { p.remove(ignoreFile, "rules") }},
	{name: "a NUL in a rule", change: func(p *project) { p.write(ignoreFile, "README\x00.md\nsrc/l\x00ib/*\nalpha.txt\n") }},
	{name: "a rule without it", change: func(p *project) { p.remove(ignoreFile) }},
	{name: "a file grows over the limit", change: func(p *project) { p.write("big.txt", lines(300, "large needle 8")) }},
	{name: "it changes there", change: func(p *project) { p.write("big.txt", lines(400, "large needle 9")) }},
	{name: "it shrinks", change: func(p *project) { p.write("big.txt", lines(5, "large needle 10")) }},
	{name: "a file becomes a directory", change: func(p *project) {
		p.remove("alpha.txt")
		p.write("alpha.txt/inner.txt", "alpha below\n")
		p.write("alpha.txt/more.txt", "common below\n")
	}},
	{name: "a directory becomes a file", change: func(p *project) {
		p.remove("alpha.txt")
		p.write("alpha.txt", "alpha again\n")
	}},
	{name: "a file is renamed", change: func(p *project) { p.rename("README.md", "README.txt") }},
	{name: "a directory is renamed", change: func(p *project) { p.rename("dir", "sub") }},
	{name: "a link becomes a file", change: func(p *project) {
		p.remove("link")
		p.write("link", "package link // target\n")
	}},
	{name: "a file becomes a link", change: func(p *project) { p.link("sub/target", "exec.sh") }},
	{name: "the target of a link changes", change: func(p *project) { p.link("alpha/beta", "exec.sh") }},
	{name: "a file may be executed", change: func(p *project) { p.must(os.Chmod(p.path("src/lib/util.py"), 0o755)) }},
	{name: "the case of a name changes", change: func(p *project) { p.rename("Case.txt", "case.txt") }},
	{name: "both cases", change: func(p *project) { p.write("Case.txt", "case omega\n") }},
	{name: "one case less", change: func(p *project) { p.remove("case.txt") }},
	{name: "text becomes binary", change: func(p *project) { p.write("src/new.go", "package\x00new") }},
	{name: "binary becomes text", change: func(p *project) { p.write("bin.dat", "binary no more, omega\n") }},
	{name: "a binary file changes", change: func(p *project) { p.write("src/new.go", "package\x00other") }},
	{name: "a file is deleted", change: func(p *project) { p.remove("secret/key.txt") }},
	{name: "it comes back", change: func(p *project) { p.write("secret/key.txt", "hidden needle 7\n") }},
	{name: "only deletions", change: func(p *project) { p.remove("secret", "sub/a.txt") }},
	{name: "names that need quotes", change: func(p *project) {
		for _, name := range []string{`quote".txt`, "star*.txt", ":(top)x.txt", "[a].txt", "quote'd name.txt"} {
			p.write(name, fmt.Sprintf("quoted common %s\n", name))
		}
	}},
	{name: "they change", change: func(p *project) {
		for _, name := range []string{`quote".txt`, "star*.txt", ":(top)x.txt"} {
			p.write(name, "quoted alpha\n")
		}
		p.remove("[a].txt")
	}},
	{name: "a name in Latin-1", change: func(p *project) { p.write("latin-\xfcmlaut.txt", "umlaut common\n") }},
	{name: "it changes", kind: index.Whole, change: func(p *project) { p.write("latin-\xfcmlaut.txt", "umlaut alpha\n") }},
	{name: "it is deleted", kind: index.Whole, change: func(p *project) { p.remove("latin-\xfcmlaut.txt") }},
	{name: "a submodule", change: func(p *project) {
		p.git("init", "-q", "module")
		p.git("-C", "module", "commit", "-q", "--allow-empty", "-m", "inner")
	}},
	{name: "a file where it was", change: func(p *project) {
		p.remove("module")
		p.write("module", "alpha where a submodule was\n")
	}},
	{name: "an empty file", change: func(p *project) { p.write("src/main.go", "") }},
	{name: "it is filled", change: func(p *project) { p.write("src/main.go", "package main // beta\n") }},
	{name: "attributes", change: func(p *project) {
		p.write(".gitattributes", "*.py export-ignore\n*.txt export-subst\n")
		p.write("sub/b.txt", "common $Format:%H$\n")
	}},
	{name: "an empty commit", change: func(p *project) {}},
	{name: "names that zoekt-git-index forgets", isOurs: true, change: func(p *project) {
		p.write(`back\slash.txt`, "common\n")
		p.write("tab\tname.txt", "common\n")
	}},
	{name: "they are deleted", change: func(p *project) { p.remove(`back\slash.txt`, "tab\tname.txt") }},
}

func TestEdges(t *testing.T) {
	p := newProject(t)
	for _, step := range edges {
		p.take(step)
	}
}

// take commits the change of a step, and checks the index after it.
func (p *project) take(step step) {
	p.Helper()
	step.change = both(step.change, (*project).commit)
	p.takeCommitted(step)
}

// takeCommitted takes a step that commits its changes itself, and checks the index after it.
func (p *project) takeCommitted(step step) {
	p.Helper()
	step.change(p)
	outcome := p.update()
	expected := step.kind
	if expected == "" {
		expected = index.Delta
	}
	if outcome.Kind != expected {
		p.Fatalf("%s: %v, expected %s", step.name, outcome, expected)
	}
	p.compare(!step.isOurs && len(p.options.Sluice) == 0)
	if p.Failed() {
		p.Fatalf("after the step: %s", step.name)
	}
}

func TestBrokenIgnoreFile(t *testing.T) {
	p := newProject(t)
	p.take(edges[0])
	before := p.answers(p.shards)
	p.write("alpha.txt", "alpha omega\n")
	for _, rules := range []string{"[\n", "# " + strings.Repeat("x", 100_000) + "\n"} {
		p.write(ignoreFile, rules)
		p.commit()
		if outcome, err := index.Update(p.options); err == nil {
			t.Fatalf("a broken exclude file was accepted: %v", outcome)
		}
		if _, err := p.indexWithZoekt(); err == nil {
			t.Fatal("zoekt accepts that exclude file")
		}
	}
	p.expectSame("the index before", p.answers(p.shards), before)
	p.take(step{name: "repair", change: func(p *project) { p.write(ignoreFile, "dir/\n") }})
}
