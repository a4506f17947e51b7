package index

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/sourcegraph/zoekt"
	zoektindex "github.com/sourcegraph/zoekt/index"
)

// zoekt may merge the shards of small repositories into compound shards. No delta can be added to such a shard, and a
// repository that gets shards of its own has to be hidden there, or searches would find it twice.

func isCompound(path string) bool { return strings.HasPrefix(filepath.Base(path), "compound-") }

// findCompound returns the compound shard that has the repository, or nothing if none does.
func findCompound(options *zoektindex.Options) ([]shard, error) {
	paths, err := filepath.Glob(filepath.Join(options.IndexDir, "compound-*.zoekt"))
	for _, path := range paths {
		repositories, metadata, err := zoektindex.ReadMetadataPathAlive(path)
		if err != nil {
			continue // Searches cannot read it, either.
		}
		for _, repository := range repositories {
			if isSame(repository, options) {
				return []shard{{path: path, repository: repository, metadata: metadata}}, nil
			}
		}
	}
	return nil, err
}

// isSame compares names as well, because all repositories without zoekt.repoid have the same ID.
func isSame(repository *zoekt.Repository, options *zoektindex.Options) bool {
	wanted := &options.RepositoryDescription
	return repository.Name == wanted.Name && repository.ID == wanted.ID
}

// leaveCompounds hides the repository in shards that it shares with others, because it has shards of its own now.
func leaveCompounds(options *zoektindex.Options) error {
	paths, err := filepath.Glob(filepath.Join(options.IndexDir, "compound-*.zoekt"))
	for _, path := range paths {
		if err := leave(path, options); err != nil {
			return err
		}
	}
	return err
}

// leave locks the shard, because updates of other repositories may leave it at the same time.
func leave(path string, options *zoektindex.Options) error {
	shard, err := os.Open(path)
	if err != nil {
		return err
	}
	defer shard.Close()
	if err := syscall.Flock(int(shard.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	repositories, _, err := zoektindex.ReadMetadataPath(path)
	if err != nil {
		return nil // zoekt finds nothing in it.
	}
	isHidden := false
	for _, repository := range repositories {
		if isSame(repository, options) && !repository.Tombstone {
			repository.Tombstone, isHidden = true, true
		}
	}
	if !isHidden {
		return nil
	}
	text, err := json.Marshal(repositories)
	if err != nil {
		return err
	}
	next := path + ".meta.git-sluice.tmp"
	if err := os.WriteFile(next, text, 0o666); err != nil {
		return err
	}
	if err := syncFile(next); err != nil {
		return err
	}
	return os.Rename(next, path+".meta")
}
