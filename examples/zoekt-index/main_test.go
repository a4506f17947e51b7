package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sourcegraph/zoekt"
	zoektindex "github.com/sourcegraph/zoekt/index"

	"github.com/git-sluice/git-sluice/examples/zoekt-index/index"
	"github.com/git-sluice/git-sluice/examples/zoekt-index/internal/environment"
)

// asProgram is the variable that turns this test into the program itself.
const asProgram = "ZOEKT_INDEX_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	environment.Run(m)
}

// run runs the program, and returns its exit status and its output.
func run(t *testing.T, words ...string) (int, string) {
	t.Helper()
	process := exec.Command(os.Args[0], words...)
	process.Env = append(os.Environ(), asProgram+"=1")
	output, err := process.CombinedOutput()
	if process.ProcessState == nil {
		t.Fatal(err)
	}
	return process.ProcessState.ExitCode(), string(output)
}

// succeed runs the program, and checks what it says about the repository.
func succeed(t *testing.T, expected string, words ...string) {
	t.Helper()
	if status, output := run(t, words...); status != 0 || !strings.Contains(output, ": "+expected) {
		t.Fatalf("%q: exit status %d, expected %s\n%s", words, status, expected, output)
	}
}

// shell runs a script in a directory.
func shell(t *testing.T, directory, script string) string {
	t.Helper()
	command := exec.Command("sh", "-ec", script)
	command.Dir = directory
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, output)
	}
	return strings.TrimSpace(string(output))
}

const demo = `
	git init -q -b main . && git config uploadpack.allowAnySHA1InWant true && git config uploadpack.allowFilter true
	echo common >file.go && seq 1000 >large.txt && mkdir dir && echo dir >dir/file
	git add . && git commit -q -m one && git branch dev
`

// TestFlags gives each flag of zoekt-git-index, and those that need it show their effect.
func TestFlags(t *testing.T) {
	top := t.TempDir()
	repository, shards := filepath.Join(top, "cache/host/repo.git"), filepath.Join(top, "index")
	shell(t, top, "mkdir -p "+repository)
	shell(t, repository, demo)
	flags := []string{
		"-index", shards, "-branches", "main,d*,missing", "-prefix", "refs/heads/", "-allow_missing_branches", "-submodules=false",
		"-repo_cache", filepath.Join(top, "cache"), "-delta", "-delta_threshold", "150", "-language_map", "go:universal,c:scip",
		"-cpu_profile", filepath.Join(top, "profile"), "-file_limit", "2000", "-large_file", "*.md", "-max_trigram_count", "20000",
		"-shard_limit", "104857600", "-parallelism", "2", "-disable_ctags", "-require_ctags=false", "-shard_merging=false",
	}
	succeed(t, "whole (there is no index), 3 documents, ", append(flags, repository)...)
	succeed(t, "nothing, 0 documents, 0 bytes, 1 shards, 0.", append(flags, repository)...)
	succeed(t, "whole", append(flags, "-incremental=false", repository)...)
	shell(t, repository, "echo more >>file.go && git commit -q -a -m two")
	succeed(t, "delta", append(flags, repository)...)
	found := read(t, filepath.Join(shards, "host%2Frepo_v16.00001.zoekt"))
	if branches := fmt.Sprint(found.Branches); !strings.HasPrefix(branches, "[main@") || !strings.Contains(branches, " dev@") {
		t.Errorf("the branches are %s", branches)
	}
	succeed(t, "whole", append(flags, "-shard_prefix_override", "prefix", repository)...)
	read(t, filepath.Join(shards, "prefix_v16.00000.zoekt"))
	if profile, err := os.Stat(filepath.Join(top, "profile")); err != nil || profile.Size() == 0 {
		t.Errorf("there is no profile: %v", err)
	}
	_, help := run(t, "-h")
	for _, name := range append(flags, "-version", "-incremental", "-shard_prefix_override") {
		name, _, _ = strings.Cut(name, "=")
		if strings.HasPrefix(name, "-") && !strings.Contains(help, "  "+name) {
			t.Errorf("there is no flag %s", name)
		}
	}
}

// read returns what a shard says about its repository.
func read(t *testing.T, shard string) *zoekt.Repository {
	t.Helper()
	repositories, _, err := zoektindex.ReadMetadataPathAlive(shard)
	if err != nil || len(repositories) != 1 {
		t.Fatalf("%v: %v", repositories, err)
	}
	return repositories[0]
}

// TestJSON reads what the program prints for metrics.
func TestJSON(t *testing.T) {
	top := t.TempDir()
	shell(t, top, demo)
	for i, branch := range []string{"main", "main", "no"} {
		expected := []index.Outcome{{Kind: index.Whole, Reason: "there is no index", Documents: 3, Shards: 1},
			{Kind: index.Nothing, Shards: 1}, {Error: `branch "no" does not exist`}}[i]
		_, output := run(t, "-json", "-index", filepath.Join(top, "index"), "-disable_ctags", "-branches", branch, top)
		var found index.Outcome
		err := json.Unmarshal([]byte(output[strings.LastIndex(output, "{"):]), &found)
		expected.Repository, expected.Seconds, expected.Bytes = top, found.Seconds, found.Bytes
		if err != nil || found != expected || found.Seconds <= 0 || (found.Bytes > 1000) != (found.Documents > 0) {
			t.Errorf("%v: %s\nexpected: %v", err, output, expected)
		}
	}
}

func TestFailures(t *testing.T) {
	top := t.TempDir()
	shell(t, top, demo)
	for _, words := range [][]string{{"-branches", "missing", top}, {t.TempDir()}, {"-sluice=--no-such-option", top}, {"-no-such-flag"}} {
		if status, output := run(t, append([]string{"-index", t.TempDir(), "-disable_ctags"}, words...)...); status == 0 {
			t.Errorf("%q succeeded:\n%s", words, output)
		}
	}
	if status, output := run(t); status != 2 || !strings.Contains(output, "[<flag>...] <repository>...") {
		t.Errorf("without a repository: exit status %d: %s", status, output)
	}
	if status, output := run(t, "-version"); status != 0 || !strings.Contains(output, "version") {
		t.Errorf("-version: exit status %d: %s", status, output)
	}
}

// TestIndexserver does what zoekt-sourcegraph-indexserver does for each push: it fetches the commits, without their history
// and without large files, into a new repository, configures that, and runs zoekt-git-index in it.
func TestIndexserver(t *testing.T) {
	top := t.TempDir()
	source := filepath.Join(top, "source")
	shell(t, top, "mkdir source")
	shell(t, source, demo)
	options := zoektindex.Options{
		IndexDir: filepath.Join(top, "index"), SizeMax: 1000, DisableCTags: true, Parallelism: 1,
		RepositoryDescription: zoekt.Repository{ID: 7, Name: "test/repo", TenantID: 1, RawConfig: map[string]string{
			"repoid": "7", "priority": "3", "public": "1", "fork": "0", "archived": "0", "latestCommitDate": "1", "tenantID": "1",
		}},
	}
	pushes := []struct{ script, expected string }{
		{"true", "whole (there is no index)"},
		{"true", "nothing"},
		{"mkdir .sourcegraph && echo dir/ >.sourcegraph/ignore && git add . && git commit -q -m ignore", "delta"},
		{"git checkout -q dev && git rm -q file.go && seq 2000 >large.txt && git commit -q -a -m dev", "delta"},
		{"git checkout -q main && seq 10 >large.txt && seq 3000 >dir/file && git commit -q -a -m main", "delta"},
		{"git checkout -q -B dev main", "delta"},
	}
	for _, push := range pushes {
		shell(t, source, push.script)
		serve(t, top, &options, push.expected)
		if state, _ := options.IndexState(); state != zoektindex.IndexStateEqual {
			t.Errorf("after %q, the index is %s", push.script, state)
		}
	}
}

// serve updates the index as the server does.
func serve(t *testing.T, top string, options *zoektindex.Options, expected string) {
	t.Helper()
	source, repository := filepath.Join(top, "source"), filepath.Join(top, "test%2Frepo.git")
	wanted := ""
	for _, branch := range options.RepositoryDescription.Branches {
		wanted += " " + branch.Version
	}
	options.RepositoryDescription.Branches = nil
	for _, name := range []string{"main", "dev"} {
		commit := shell(t, source, "git rev-parse "+name)
		options.RepositoryDescription.Branches = append(options.RepositoryDescription.Branches,
			zoekt.RepositoryBranch{Name: name, Version: commit})
		wanted += " " + commit
	}
	shell(t, top, "rm -rf test%2Frepo.git && git -c init.defaultBranch=none init -q --bare test%2Frepo.git")
	shell(t, repository, "git fetch -q --depth=1 --no-tags --filter=blob:limit="+strconv.Itoa(options.SizeMax+1)+" file://"+source+wanted)
	for _, branch := range options.RepositoryDescription.Branches {
		shell(t, repository, "git update-ref refs/heads/"+branch.Name+" "+branch.Version)
	}
	shell(t, repository, "git config zoekt.name "+options.RepositoryDescription.Name)
	for key, value := range options.RepositoryDescription.RawConfig {
		shell(t, repository, "git config zoekt."+key+" "+value)
	}
	words := []string{"-submodules=false", "-incremental=true", "-branches", "main,dev", "-delta", "-delta_threshold", "150"}
	succeed(t, expected, append(append(words, options.Args()...), repository)...)
}
