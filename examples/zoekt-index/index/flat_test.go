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
			for push := range pushes {
				p.git("checkout", "-q", branches[random.IntN(len(branches))])
				for range 3 {
					p.changeAny(random, push)
				}
				p.commit()
				if outcome := p.update(); outcome.Action != index.Delta {
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
	switch random.IntN(8) {
	case 0:
		p.remove(name)
	case 1, 2:
		p.remove(name)
		p.write(name, text)
	case 3:
		p.remove(name)
		p.write(name+"/inner", lines(push, "alpha below"))
	case 4:
		p.write(ignoreFile, fmt.Sprintf("file%d.txt\n", random.IntN(50)))
	default:
		p.remove(name)
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
	words := func(seed int) string {
		random := rand.New(rand.NewPCG(uint64(seed), 1))
		var text strings.Builder
		for range 75 {
			fmt.Fprintf(&text, "common %x\n", random.Uint64())
		}
		return text.String()
	}
	for number := range 2000 {
		p.write(fmt.Sprintf("dir%d/file%d.txt", number%20, number), words(number))
	}
	p.commit()
	p.update()
	var actions []index.Action
	for directory := range 19 {
		p.remove(fmt.Sprintf("dir%d", directory))
		p.commit()
		actions = append(actions, p.update().Action)
	}
	if first := slices.Index(actions, index.Whole); first < 5 || first > 16 {
		t.Errorf("the index was built again after %d of 20 directories were deleted: %v", first, actions)
	}
	p.compare(true)
}
