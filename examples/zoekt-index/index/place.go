package index

import (
	"crypto/sha1"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	zoektindex "github.com/sourcegraph/zoekt/index"
)

// place is where the shards of one repository are, and where their successors are prepared.
//
// zoekt's builder renames its files one by one, so an index is half old and half new if the builder is killed meanwhile.
// Therefore the builder works in a directory of its own. The finished directory is renamed to `ready`: from then on, the new
// index is the valid one. Then a process that is not killed together with this one moves the files into place. If even that
// process is killed, for example together with its container, the next update moves the rest before it does anything else.
type place struct {
	options *zoektindex.Options
	// work is the directory for all of this. It is locked, so that updates of one repository wait for each other.
	work *os.File
}

// openPlace locks the place, and finishes or removes what an earlier update has left there.
func openPlace(options *zoektindex.Options) (*place, error) {
	work, err := lockDirectory(filepath.Join(options.IndexDir, workName(options)))
	if err != nil {
		return nil, err
	}
	p := &place{options: options, work: work}
	if err := p.recover(); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// lockDirectory creates a directory and locks it. While it waits for the lock, the last owner may remove the directory. Then
// it starts again.
func lockDirectory(path string) (*os.File, error) {
	for {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return nil, err
		}
		directory, err := os.Open(path)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := syscall.Flock(int(directory.Fd()), syscall.LOCK_EX); err != nil {
			directory.Close()
			return nil, fmt.Errorf("cannot lock %s: %w", path, err)
		}
		locked, _ := directory.Stat()
		if current, err := os.Stat(path); err == nil && os.SameFile(locked, current) {
			return directory, nil
		}
		directory.Close()
	}
}

// recover finishes an update that was complete, and removes one that was not.
func (p *place) recover() error {
	if list, err := os.ReadFile(filepath.Join(p.ready(), staleList)); err == nil {
		if err := p.move(strings.FieldsFunc(string(list), func(r rune) bool { return r == '\n' }), true); err != nil {
			return err
		}
	}
	return p.clean()
}

// clean removes what updates have left.
func (p *place) clean() error {
	entries, err := os.ReadDir(p.work.Name())
	for _, entry := range entries {
		if err := os.RemoveAll(filepath.Join(p.work.Name(), entry.Name())); err != nil {
			return err
		}
	}
	return err
}

// close unlocks the place. Its directory stays if an update is left to finish.
func (p *place) close() {
	if _, err := os.Stat(p.ready()); err != nil {
		_ = p.clean()
	}
	_ = os.Remove(p.work.Name())
	p.work.Close()
}

func (p *place) ready() string { return filepath.Join(p.work.Name(), "ready") }

// stage returns a new directory for the files of an update. Each builder gets its own, because the writers of one that was
// given up may still run.
func (p *place) stage() (string, error) { return os.MkdirTemp(p.work.Name(), "staged-") }

// publish makes the staged files part of the index, and removes the stale ones.
func (p *place) publish(staged string, stale []string, isNew bool) error {
	if err := os.WriteFile(filepath.Join(staged, staleList), []byte(strings.Join(stale, "\n")), 0o600); err != nil {
		return err
	}
	if err := syncFiles(staged); err != nil {
		return err
	}
	if err := os.Rename(staged, p.ready()); err != nil {
		return err
	}
	if err := p.work.Sync(); err != nil {
		return err
	}
	p.sweep()
	return p.move(stale, isNew)
}

// abandonment is the time after which nobody is expected to finish an update that was killed.
const abandonment = 24 * time.Hour

// sweep removes what killed updates of other repositories have left, since a repository that was deleted meanwhile has no
// next update. If it has one after all, that builds what is missing.
func (p *place) sweep() {
	names, _ := listDirectory(p.options.IndexDir)
	for _, name := range names {
		path := filepath.Join(p.options.IndexDir, name)
		if !strings.HasPrefix(name, ".") || !strings.HasSuffix(name, workEnding) || path == p.work.Name() {
			continue
		}
		info, err := os.Stat(path)
		if err != nil || time.Since(info.ModTime()) < abandonment {
			continue
		}
		if work, err := os.Open(path); err == nil {
			if syscall.Flock(int(work.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
				_ = os.RemoveAll(path)
			}
			work.Close()
		}
	}
}

// syncFiles waits until the files in a directory, and their names, are on the disk.
func syncFiles(directory string) error {
	entries, err := os.ReadDir(directory)
	if err != nil {
		return err
	}
	results := make(chan error)
	for _, entry := range entries {
		go func() { results <- syncFile(filepath.Join(directory, entry.Name())) }()
	}
	for range entries {
		err = errors.Join(err, <-results)
	}
	return errors.Join(err, syncFile(directory))
}

func syncFile(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return file.Sync()
}

// staleList is the file in the ready directory that lists files to remove, one a line.
const staleList = "stale"

// mover moves the files of the first directory to the second one, and removes the files that follow. A directory with the
// name of a shard is no part of an index, and would swallow the file.
const mover = `
	cd "$1" && to=$2 && shift 2 || exit
	for file in *.zoekt*; do
		[ ! -d "$to/$file" ] || rm -rf -- "$to/$file" || exit
	done
	[ ! -e "$file" ] || mv -f -- *.zoekt* "$to" || exit
	[ $# = 0 ] || rm -rf -- "$@"
`

// move brings the ready files into place. Its process has a session of its own, so that no signal to this process or to
// its group ends it, and holds the lock until it ends. An index that was built again leaves compound shards.
func (p *place) move(stale []string, isNew bool) error {
	words := append([]string{"-c", mover, "mover", p.ready(), p.options.IndexDir}, stale...)
	command := exec.Command("sh", words...)
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	command.ExtraFiles = []*os.File{p.work}
	command.Stderr = os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("cannot move the index into place: %w", err)
	}
	if isNew {
		if err := leaveCompounds(p.options); err != nil {
			return err
		}
	}
	if err := syncFile(p.options.IndexDir); err != nil {
		return err
	}
	// Without its list, a directory of this name could not be finished, so it loses the name first.
	moved := filepath.Join(p.work.Name(), "staged-moved")
	if err := os.Rename(p.ready(), moved); err != nil {
		return err
	}
	return os.RemoveAll(moved)
}

// filesFrom returns the files of the index from this shard on, with everything that has such a name. Searches read all of
// them, but zoekt's builder does not see those after a gap, which a killed zoekt-git-index may have left.
func filesFrom(shard string, number int) ([]string, error) {
	entries, err := listDirectory(filepath.Dir(shard))
	var files []string
	for _, name := range entries {
		tail, isOwn := strings.CutPrefix(name, filepath.Base(prefix(shard)))
		digits := strings.TrimSuffix(strings.TrimSuffix(tail, ".meta"), ".zoekt")
		if found, err := strconv.Atoi(digits); isOwn && err == nil && len(digits) < len(tail) && found >= number {
			files = append(files, filepath.Join(filepath.Dir(shard), name))
		}
	}
	return files, err
}

// listDirectory returns the names in a directory, in any order.
func listDirectory(path string) ([]string, error) {
	directory, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer directory.Close()
	return directory.Readdirnames(-1)
}

const workEnding = ".update"

// workName returns the name of the directory in which updates of this repository work.
func workName(options *zoektindex.Options) string {
	name := options.RepositoryDescription.Name
	if options.ShardPrefixOverride != "" {
		name = options.ShardPrefixOverride
	}
	name = url.QueryEscape(name)
	if len(name) > 200 {
		name = fmt.Sprintf("%s%x", name[:180], sha1.Sum([]byte(name)))
	}
	return "." + name + workEnding
}
