package index_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/git-sluice/git-sluice/examples/zoekt-index/index"
)

// kills is how often each kind of update is killed, with -short a quarter as often.
const kills = 100

// TestKilled kills updates of an index with deltas: those that add one, and those that build all of it.
func TestKilled(t *testing.T) {
	for name, change := range map[string]func(*project){
		"delta": pushing(func(p *project) {
			p.remove("dir")
			p.write("new.txt", "common new\n")
			p.commit()
		}),
		"whole": func(p *project) {
			p.remove("dir")
			p.options.Build.SizeMax = 100
			p.commit()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newFollowed(t, 3).testKills(change)
		})
	}
}

// testKills makes a change, and kills updates for it at random moments. Each time, the index must answer as before the
// change or as after it, and the next update must succeed.
func (p *project) testKills(change func(*project)) {
	p.Helper()
	p.copyShards(p.shards, filepath.Join(p.root, "old"))
	before := p.answers(p.shards)
	change(p)
	start := time.Now()
	p.must(p.updater().Run())
	duration := time.Since(start)
	after := p.answers(p.shards)
	if before.equal(after) {
		p.Fatal("the change cannot be seen")
	}
	killed, finished := 0, 0
	for range rounds(kills) {
		p.copyShards(filepath.Join(p.root, "old"), p.shards)
		// Later moments are more likely, because then the files are moved.
		if p.killUpdate(max(rand.N(duration), rand.N(duration)) * 11 / 10) {
			killed++
		}
		p.waitForMover()
		switch found := p.answers(p.shards); {
		case found.equal(after):
			finished++
		case !found.equal(before):
			p.Fatal("the index is half old and half new")
		}
		p.update()
		p.expectSame("a whole update", p.answers(p.shards), after)
		p.expectNoRemains()
	}
	p.Logf("%d updates of %v were killed, the index was new after %d of %d", killed, duration, finished, rounds(kills))
}

// killUpdate starts an update and kills it after this time. It reports whether the update was still running.
func (p *project) killUpdate(delay time.Duration) bool {
	p.Helper()
	updater := p.updater()
	p.must(updater.Start())
	time.Sleep(delay)
	p.must(updater.Process.Kill())
	_ = updater.Wait()
	return updater.ProcessState.Sys().(syscall.WaitStatus).Signaled()
}

// updater returns a process that runs an update.
func (p *project) updater() *exec.Cmd {
	p.Helper()
	text, err := json.Marshal(p.options)
	p.must(err)
	process := exec.Command(os.Args[0])
	process.Env = append(os.Environ(), asUpdater+"="+string(text))
	return process
}

// waitForMover waits until no process holds the lock of an update.
func (p *project) waitForMover() {
	p.Helper()
	work, err := os.Open(filepath.Join(p.shards, ".repo.update"))
	if os.IsNotExist(err) {
		return
	}
	p.must(err)
	defer work.Close()
	p.must(syscall.Flock(int(work.Fd()), syscall.LOCK_EX))
}

// expectNoRemains checks that an index has only shards and their metadata.
func (p *project) expectNoRemains() {
	p.Helper()
	for _, name := range p.files(p.shards) {
		if extension := filepath.Ext(name); extension != ".zoekt" && extension != ".meta" {
			p.Fatalf("an update left %s", name)
		}
	}
}

func (p *project) files(directory string) []string {
	p.Helper()
	entries, err := os.ReadDir(directory)
	p.must(err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// copyShards replaces a directory of shards by another one.
func (p *project) copyShards(from, to string) {
	p.Helper()
	p.must(os.RemoveAll(to))
	p.must(os.CopyFS(to, os.DirFS(from)))
}

// TestParallel starts updates of one index at the same time.
func TestParallel(t *testing.T) {
	p := newProject(t)
	for range 3 {
		pushing(edges[0].change)(p)
		var updaters []*exec.Cmd
		for range 4 {
			updater := p.updater()
			p.must(updater.Start())
			updaters = append(updaters, updater)
		}
		for _, updater := range updaters {
			p.must(updater.Wait())
		}
		p.compare(false)
		p.expectNoRemains()
	}
}

// TestKilledMover checks that the next update finishes what a killed process left half moved.
func TestKilledMover(t *testing.T) {
	p := newFollowed(t, 3)
	pushing(only)(p)
	fake := t.TempDir()
	script := "#!/bin/sh\nshift 2\nfor last; do :; done\n/bin/mv -f -- \"$1\" \"$last\"\nkill -9 $$\n"
	p.must(os.WriteFile(filepath.Join(fake, "mv"), []byte(script), 0o755))
	path := os.Getenv("PATH")
	t.Setenv("PATH", fake+":"+path)
	if outcome, err := index.Update(p.options); err == nil {
		t.Fatalf("the files were moved: %v", outcome)
	}
	t.Setenv("PATH", path)
	if outcome := p.update(); outcome.Kind != index.Nothing {
		t.Fatalf("%v: the update was not finished", outcome)
	}
	p.compare(true)
	p.expectNoRemains()
}

// TestCutStreams checks that an answer that is cut changes nothing in the index.
func TestCutStreams(t *testing.T) {
	p := newFollowed(t, 1)
	before := p.hashes()
	real, err := exec.LookPath("git-sluice")
	if err != nil {
		t.Skip("git-sluice is not on PATH by itself")
	}
	pushing(func(p *project) {
		for number := range 100 {
			p.write(fmt.Sprintf("many/%d.txt", number), text)
		}
		p.commit()
	})(p)
	fake := t.TempDir()
	t.Setenv("PATH", fake+":"+os.Getenv("PATH"))
	for _, delta := range []bool{true, false} {
		p.options.Delta = delta
		for _, end := range []string{"head -c 100; exit 0", "head -c 100; exit 1", "head -c 5000; exit 0", "head -c 5000; exit 1",
			"head -c 100000; exit 0", "head -c 100000; exit 1", "(head -c 20000; kill -9 $$)", "cat; exit 1"} {
			script := fmt.Sprintf("#!/bin/sh\n%s \"$@\" | %s\n", real, end)
			p.must(os.WriteFile(filepath.Join(fake, "git-sluice"), []byte(script), 0o755))
			if outcome, err := index.Update(p.options); err == nil {
				t.Errorf("an answer that was cut by %q was accepted: %v", end, outcome)
			}
			if p.hashes() != before {
				t.Fatalf("an answer that was cut by %q changed the index", end)
			}
		}
	}
}

func (p *project) hashes() string { return p.run(p.shards, "sh", "-c", "sha256sum *") }
