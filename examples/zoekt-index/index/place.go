package index

import (
	"crypto/sha1"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	zoektindex "github.com/sourcegraph/zoekt/index"
)

// place is where the shards of one repository are, and where their successors are prepared.
//
// zoekt's builder renames its files one by one, so an index is half old and half new if the builder is killed meanwhile.
// Therefore the builder works in a directory of its own, in which symbolic links stand for the shards of the index. The
// finished directory is renamed to `ready`: from then on, the new index is the valid one. Then a process that is not
// killed together with this one moves the files into place. If even that process is killed, for example together with its
// container, the next update moves the rest before it does anything else.
type place struct {
	options *zoektindex.Options
	// work is the directory for all of this. It is locked, so that updates of one repository wait for each other.
	work   *os.File
	staged string
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
		locked, err := directory.Stat()
		if err == nil {
			if current, err := os.Stat(path); err == nil && os.SameFile(locked, current) {
				return directory, nil
			}
		}
		directory.Close()
	}
}

// recover finishes an update that was complete, and removes one that was not.
func (p *place) recover() error {
	if _, err := os.Stat(p.ready()); err == nil {
		if err := p.move(); err != nil {
			return err
		}
	}
	return p.clean()
}

// clean removes what builders have left.
func (p *place) clean() error {
	staged, err := filepath.Glob(filepath.Join(p.work.Name(), "staged-*"))
	for _, directory := range staged {
		if err := os.RemoveAll(directory); err != nil {
			return err
		}
	}
	return err
}

// close unlocks the place. Its directory stays if an update is left to finish.
func (p *place) close() {
	_ = p.clean()
	_ = os.Remove(p.work.Name())
	p.work.Close()
}

func (p *place) ready() string { return filepath.Join(p.work.Name(), "ready") }

// stage returns a new directory for a builder, with links to the shards of the index. Each builder gets its own, because
// the writers of one that was given up may still run.
func (p *place) stage() (string, error) {
	staged, err := os.MkdirTemp(p.work.Name(), "staged-")
	if err != nil {
		return "", err
	}
	p.staged = staged
	files, err := p.shardFiles()
	if err != nil {
		return "", err
	}
	for _, file := range files {
		if err := os.Symlink(file, filepath.Join(staged, filepath.Base(file))); err != nil {
			return "", err
		}
	}
	return staged, nil
}

// publish makes the files that the builder finished the index.
func (p *place) publish() error {
	if err := p.prepare(); err != nil {
		return err
	}
	if err := os.Rename(p.staged, p.ready()); err != nil {
		return err
	}
	return p.move()
}

// prepare removes the links to files that stay, and lists the files of the index that have no successor.
func (p *place) prepare() error {
	files, err := p.shardFiles()
	if err != nil {
		return err
	}
	hidden, err := p.hiddenFiles()
	if err != nil {
		return err
	}
	files = append(files, hidden...)
	var stale []string
	for _, file := range files {
		successor := filepath.Join(p.staged, filepath.Base(file))
		info, err := os.Lstat(successor)
		switch {
		case os.IsNotExist(err):
			stale = append(stale, file)
		case err != nil:
			return err
		case info.Mode()&os.ModeSymlink != 0:
			if err := os.Remove(successor); err != nil {
				return err
			}
		}
	}
	return os.WriteFile(filepath.Join(p.staged, staleList), []byte(strings.Join(stale, "\n")), 0o600)
}

// staleList is the file in the ready directory that lists files to remove, one a line.
const staleList = "stale"

// mover moves the files of the first directory to the second one, and removes the files that follow.
const mover = `
	cd "$1" && to=$2 && shift 2 || exit
	for file in *.zoekt*; do
		[ ! -e "$file" ] || mv -f -- *.zoekt* "$to" || exit
		break
	done
	rm -f -- "$@"
`

// move brings the ready files into place. Its process has a session of its own, so that no signal to this process or to
// its group ends it, and holds the lock until it ends.
func (p *place) move() error {
	list, err := os.ReadFile(filepath.Join(p.ready(), staleList))
	if err != nil {
		return err
	}
	stale := strings.Split(string(list), "\n")
	words := append([]string{"-c", mover, "mover", p.ready(), p.options.IndexDir}, stale...)
	command := exec.Command("sh", words...)
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	command.ExtraFiles = []*os.File{p.work}
	command.Stderr = os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("cannot move the index into place: %w", err)
	}
	if err := p.leaveCompound(); err != nil {
		return err
	}
	// Without its list, a directory of this name could not be finished, so it loses the name first.
	moved := filepath.Join(p.work.Name(), "staged-moved")
	if err := os.Rename(p.ready(), moved); err != nil {
		return err
	}
	return os.RemoveAll(moved)
}

// shardFiles returns the files of the index: shards, and zoekt's files with metadata.
func (p *place) shardFiles() ([]string, error) {
	var files []string
	for _, shard := range ownShards(p.options) {
		paths, err := zoektindex.IndexFilePaths(shard)
		if err != nil {
			return nil, err
		}
		files = append(files, paths...)
	}
	return files, nil
}

// hiddenFiles returns the files with the same name as a new first shard, except for the number. Searches read all of them,
// but zoekt's builder does not see those after a gap, which a killed zoekt-git-index may have left.
func (p *place) hiddenFiles() ([]string, error) {
	first, err := filepath.Glob(filepath.Join(p.staged, "*.00000.zoekt"))
	if err != nil || len(first) != 1 {
		return nil, err
	}
	if info, err := os.Lstat(first[0]); err != nil || !info.Mode().IsRegular() {
		return nil, err
	}
	entries, err := os.ReadDir(p.options.IndexDir)
	if err != nil {
		return nil, err
	}
	var files []string
	prefix := strings.TrimSuffix(filepath.Base(first[0]), "00000.zoekt")
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasPrefix(name, prefix) && (strings.HasSuffix(name, ".zoekt") || strings.HasSuffix(name, ".zoekt.meta")) {
			files = append(files, filepath.Join(p.options.IndexDir, name))
		}
	}
	return files, nil
}

// leaveCompound hides the repository in a shard that it shares with others, because it has shards of its own now.
func (p *place) leaveCompound() error {
	if !p.options.ShardMerging {
		return nil
	}
	shards, err := filepath.Glob(filepath.Join(p.options.IndexDir, "compound-*.zoekt"))
	if err != nil {
		return err
	}
	for _, shard := range shards {
		if err := p.leave(shard); err != nil {
			return err
		}
	}
	return nil
}

func (p *place) leave(shard string) error {
	repositories, _, err := zoektindex.ReadMetadataPathAlive(shard)
	if err != nil {
		return err
	}
	id := p.options.RepositoryDescription.ID
	for _, repository := range repositories {
		if repository.ID == id && repository.Name == p.options.RepositoryDescription.Name {
			return zoektindex.SetTombstone(shard, id)
		}
	}
	return nil
}

// ownShards returns the shards of the repository, without those that it shares with others.
func ownShards(options *zoektindex.Options) []string {
	return slices.DeleteFunc(options.FindAllShards(), func(path string) bool {
		return strings.HasPrefix(filepath.Base(path), "compound-")
	})
}

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
	return "." + name + ".update"
}
