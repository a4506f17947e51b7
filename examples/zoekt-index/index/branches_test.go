package index_test

import (
	"testing"

	"github.com/git-sluice/git-sluice/examples/zoekt-index/index"
)

// on commits a change to a branch.
func on(branch string, change func(*project)) func(*project) {
	return func(p *project) {
		p.git("checkout", "-q", branch)
		change(p)
		p.commit()
	}
}

// both makes one change after the other.
func both(first, second func(*project)) func(*project) {
	return func(p *project) {
		first(p)
		second(p)
	}
}

func writing(name, content string) func(*project) {
	return func(p *project) { p.write(name, content) }
}

func removing(names ...string) func(*project) {
	return func(p *project) { p.remove(names...) }
}

var branchSteps = []step{
	{name: "three branches", kind: index.Whole, change: func(p *project) {
		edges[0].change(p)
		p.commit()
		p.git("branch", "dev")
		p.git("branch", "release")
		on("dev", writing("dev.txt", "only dev common\n"))(p)
		on("release", writing("alpha.txt", "alpha of the release\n"))(p)
	}},
	{name: "a change in one branch", change: on("dev", writing("src/main.go", "package main // dev\n"))},
	{name: "a file that branches share changes in one", change: on("main", writing("dir/a.txt", "alpha of main\n"))},
	{name: "one branch ignores a directory", change: on("release", writing(ignoreFile, "secret/\n"))},
	{name: "a file that one branch ignores changes in another",
		change: on("main", writing("secret/key.txt", "secret of main\n"))},
	{name: "a new file that another branch has as well",
		change: on("main", writing("dev.txt", "only dev common\n"))},
	{name: "a file is deleted in one branch", change: on("release", removing("dir/b.txt"))},
	{name: "all branches change the same file", change: both(on("main", writing("README.md", "main common\n")),
		both(on("dev", writing("README.md", "dev common\n")), on("release", writing("README.md", "dev common\n"))))},
	{name: "a directory in one branch is a file in the others", change: on("dev", func(p *project) {
		p.remove("big.txt")
		p.write("big.txt/part.txt", "common part\n")
	})},
	{name: "that file changes in another branch", change: on("main", writing("big.txt", "large again\n"))},
	{name: "too large in one branch", change: on("release", writing("big.txt", lines(300, "large release")))},
	{name: "binary in one branch", change: on("dev", writing("dir/a.txt", "binary\x00dev"))},
	{name: "one branch becomes another", change: func(p *project) {
		p.git("checkout", "-q", "dev")
		p.git("reset", "-q", "--hard", "main")
	}},
	{name: "a branch goes back", change: func(p *project) {
		p.git("checkout", "-q", "release")
		p.git("reset", "-q", "--hard", "release~2")
	}},
	{name: "nothing is left in one branch", change: on("release", func(p *project) { p.git("rm", "-rq", ".") })},
}

func TestBranches(t *testing.T) {
	p := newProject(t)
	p.options.Branches = []string{"main", "dev", "release"}
	for _, step := range branchSteps {
		p.takeCommitted(step)
	}
}
