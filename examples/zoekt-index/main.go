// Command zoekt-index keeps zoekt's index of git repositories up to date with git sluice.
//
// It has the flags of zoekt-git-index, and can take its place under that name. -delta is on unless you turn it off, and
// -submodules is off unless you turn it on.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"

	zoektindex "github.com/sourcegraph/zoekt/index"

	"github.com/git-sluice/git-sluice/examples/zoekt-index/index"
)

func main() {
	var options index.Options
	options.Build.Flags(flag.CommandLine)
	branches := flag.String("branches", "HEAD", "git branches to index.")
	flag.StringVar(&options.BranchPrefix, "prefix", "refs/heads/", "prefix for branch names")
	flag.BoolVar(&options.AllowMissing, "allow_missing_branches", false, "allow missing branches.")
	flag.BoolVar(&options.Incremental, "incremental", true, "only index changed repositories")
	flag.BoolVar(&options.Delta, "delta", true, "add only what changed if that is possible")
	flag.Uint64Var(&options.MaxDeltas, "delta_threshold", 150, "build the whole index after this many deltas (0: never)")
	flag.Func("sluice", "option of git sluice, such as --access-rules=<file>. You can repeat it.", func(option string) error {
		options.Sluice = append(options.Sluice, option)
		return nil
	})
	submodules := flag.Bool("submodules", false, "index the files of submodules, under the name of this repository")
	cache := flag.String("repo_cache", "", "directory of repositories that are named by their path in it")
	languages := flag.String("language_map", "", "a mapping between a language and its ctags processor (a:0,b:3).")
	profile := flag.String("cpu_profile", "", "write cpu profile to `file`")
	asJSON := flag.Bool("json", false, "print a line of JSON about each update")
	version := flag.Bool("version", false, "Print version number")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "usage: %s [<flag>...] <repository>...\n", filepath.Base(os.Args[0]))
		flag.PrintDefaults()
	}
	flag.Parse()

	if *version {
		fmt.Printf("%s version %q\n", filepath.Base(os.Args[0]), zoektindex.Version)
		return
	}
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	if *submodules {
		options.Sluice = append(options.Sluice, "--submodules=recurse")
	}
	if *branches != "" {
		options.Branches = strings.Split(*branches, ",")
	}
	setLanguages(&options.Build.LanguageMap, *languages)
	stop := startProfile(*profile)
	ok := update(options, *cache, flag.Args(), *asJSON)
	stop()
	if !ok {
		os.Exit(1)
	}
}

// update updates the indexes of these repositories, and returns whether all of that succeeded.
func update(options index.Options, cache string, repositories []string, asJSON bool) bool {
	ok := true
	for _, path := range repositories {
		repository, err := filepath.Abs(path)
		if err != nil {
			log.Fatal(err)
		}
		options.Repository = repository
		options.Build.RepositoryDescription.Name = nameOf(repository, cache)
		outcome, err := index.Update(options)
		if err != nil {
			log.Printf("cannot index %s: %v", repository, err)
			ok = false
		}
		if asJSON {
			err = json.NewEncoder(os.Stdout).Encode(outcome)
		} else if err == nil {
			log.Printf("%s: %s", repository, outcome)
		}
		ok = ok && err == nil
	}
	return ok
}

// nameOf returns the name of a repository without a configured one: its path in the cache, or the last part of its path.
func nameOf(repository, cache string) string {
	name := strings.TrimSuffix(repository, "/.git")
	if cache != "" {
		cache, _ = filepath.Abs(cache)
		if path, isBelow := strings.CutPrefix(name, cache+"/"); isBelow {
			return strings.TrimSuffix(path, ".git")
		}
	}
	return strings.TrimSuffix(filepath.Base(name), ".git")
}

// setLanguages fills zoekt's map from languages to parsers. Its types are internal to zoekt, so they are inferred.
func setLanguages[M ~map[string]P, P ~uint8](parsers *M, text string) {
	const no, universal, scip = 1, 2, 3
	numbers := map[string]P{"no": no, "scip": scip}
	*parsers = M{}
	for _, item := range strings.Split(text, ",") {
		language, parser, isPair := strings.Cut(item, ":")
		if !isPair {
			continue
		}
		(*parsers)[language] = universal
		if number, isKnown := numbers[parser]; isKnown {
			(*parsers)[language] = number
		}
	}
}

// startProfile writes a profile of the CPU time until the returned function is called.
func startProfile(path string) (stop func()) {
	if path == "" {
		return func() {}
	}
	file, err := os.Create(path)
	if err != nil {
		log.Fatal(err)
	}
	_ = pprof.StartCPUProfile(file)
	return func() {
		pprof.StopCPUProfile()
		file.Close()
	}
}
