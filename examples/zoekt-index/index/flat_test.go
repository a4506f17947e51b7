package index_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/git-sluice/git-sluice/examples/zoekt-index/index"
)

// TestManyPushes follows a long chain of pushes of three files each. The deltas stay few, and each answers like a whole
// build.
func TestManyPushes(t *testing.T) {
	const pushes, maxShards = 60, 8
	for _, branches := range [][]string{{"main"}, {"main", "dev"}} {
		t.Run(strings.Join(branches, "+"), func(t *testing.T) {
			t.Parallel()
			p := newProject(t)
			p.options.Branches = branches
			random := rand.New(rand.NewPCG(1, 2))
			for number := range 40 {
				p.write(fmt.Sprintf("file%d.txt", number), text)
			}
			p.commit()
			p.git("branch", "dev")
			p.update()
			most := 0
			for push := range rounds(pushes) {
				p.git("checkout", "-q", branches[random.IntN(len(branches))])
				for range 3 {
					p.changeAny(random, push)
				}
				p.commit()
				if outcome := p.update(); outcome.Kind != index.Delta {
					t.Fatalf("push %d: %v", push, outcome)
				}
				most = max(most, len(p.options.Build.FindAllShards()))
				if push%4 == 3 {
					p.compare(true)
				}
			}
			if most > maxShards {
				t.Errorf("the index had %d shards", most)
			}
		})
	}
}

// changeAny changes, restores, adds, deletes, renames or hides a file.
func (p *project) changeAny(random *rand.Rand, push int) {
	p.Helper()
	name := fmt.Sprintf("file%d.txt", random.IntN(50))
	p.remove(name)
	switch random.IntN(8) {
	case 0:
	case 1, 2:
		p.write(name, text)
	case 3:
		p.write(name+"/inner", lines(push, "alpha below"))
	case 4:
		p.write(ignoreFile, fmt.Sprintf("file%d.txt\n", random.IntN(50)))
	default:
		p.write(name, lines(push+1, "alpha push"))
	}
}

// TestNamesOfDeltas checks that a delta with a name that zoekt cannot hide stays when others are replaced.
func TestNamesOfDeltas(t *testing.T) {
	p := newProject(t)
	p.take(edges[0])
	for number := range 12 {
		p.take(step{name: "a push", change: func(p *project) {
			p.write("alpha.txt", lines(number+1, "alpha"))
			if number == 3 || number == 6 {
				p.write(fmt.Sprintf("latin-\xfc%d.txt", number), "umlaut common\n")
			}
		}})
	}
}

// TestOvergrown checks that an index is built again when most of it is hidden or replaced, and not before.
func TestOvergrown(t *testing.T) {
	p := newProject(t)
	p.options.Sluice = []string{"--max-changed-ratio=1"}
	random, words := rand.NewChaCha8([32]byte{}), make([]byte, 600)
	for number := range 2000 {
		_, _ = random.Read(words)
		p.write(fmt.Sprintf("dir%d/file%d.txt", number%20, number), fmt.Sprintf("common % x\n", words))
	}
	p.commit()
	p.update()
	var kinds []index.Kind
	for directory := range 19 {
		p.remove(fmt.Sprintf("dir%d", directory))
		p.commit()
		kinds = append(kinds, p.update().Kind)
	}
	if first := slices.Index(kinds, index.Whole); first < 5 || first > 16 {
		t.Errorf("the index was built again after %d of 20 directories were deleted: %v", first, kinds)
	}
	p.compare(true)
}
