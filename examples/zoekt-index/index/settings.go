package index

import (
	"fmt"
	"log"
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/sourcegraph/zoekt"
)

// applySettings fills the description from the configuration, as zoekt-git-index does.
func applySettings(description *zoekt.Repository, settings map[string]string) {
	origin := settings["remote.origin.url"]
	delete(settings, "remote.origin.url")
	if err := setURLs(description, settings, origin); err != nil {
		log.Printf("%s: %v", description.Source, err)
	}
	if name := settings["name"]; name != "" {
		description.Name = name
	}
	id, _ := strconv.ParseUint(settings["repoid"], 10, 32)
	description.ID = uint32(id)
	description.TenantID, _ = strconv.Atoi(settings["tenantID"])
	description.RawConfig = settings
	description.Rank = rank(description.Name, settings)
}

// rank is zoekt's measure of how popular a repository is.
func rank(name string, settings map[string]string) uint16 {
	traction := 0
	for _, key := range []string{"github-stars", "github-forks", "github-watchers", "github-subscribers"} {
		count, _ := strconv.Atoi(settings[key])
		traction += count
	}
	if traction == 0 && strings.Contains(name, "googlesource.com/") {
		traction = 1000
	}
	if traction <= 0 {
		return 0
	}
	return uint16((1 - 1/math.Pow(1+math.Log(float64(traction)), 0.6)) * 10000)
}

// setURLs sets the templates of links to the web page of the repository. It takes the page from the configuration, or
// else from the remote origin if that is a host that zoekt knows.
func setURLs(description *zoekt.Repository, settings map[string]string, origin string) error {
	page, kind := settings["web-url"], settings["web-url-type"]
	if page != "" && kind == "" {
		description.URL = page
		return nil
	}
	if page == "" {
		if page, kind = hostOf(origin); kind == "" {
			return nil
		}
	}
	address, err := url.Parse(page)
	if err != nil {
		return err
	}
	if address.Scheme == "ssh+git" {
		address.Scheme, address.User = "https", nil
	}
	description.URL = address.String()
	templates, isKnown := hosts[kind]
	if !isKnown {
		return fmt.Errorf("zoekt.web-url-type=%s is unknown", kind)
	}
	page = description.URL
	fill := strings.NewReplacer("$page", strconv.Quote(page), "$url", page)
	description.CommitURLTemplate = fill.Replace(templates.commit)
	description.FileURLTemplate = fill.Replace(templates.file)
	description.LineFragmentTemplate = templates.line
	return nil
}

var scpLike = regexp.MustCompile(`^([^@]+)@([^:]+):(.*)$`)

// hostOf returns the page of a remote repository and the kind of its host, or nothing if zoekt does not know the host.
func hostOf(remote string) (page, kind string) {
	remote = scpLike.ReplaceAllString(remote, "ssh+git://$1@$2/$3")
	address, err := url.Parse(remote)
	switch {
	case err != nil:
		return "", ""
	case strings.HasSuffix(address.Host, ".googlesource.com"):
		return remote, "gitiles"
	case address.Host == "github.com":
		address.Path = strings.TrimSuffix(address.Path, ".git")
		return address.String(), "github"
	default:
		return "", ""
	}
}

// links are templates of links to a commit, to a file and to a line of the file. In them, $page stands for the page of
// the repository as a string in quotes, and $url for the page as it is.
type links struct{ commit, file, line string }

// hosts are the kinds of hosts that zoekt knows, with the templates of zoekt-git-index.
var hosts = map[string]links{
	"gitiles": {`{{URLJoinPath $page "+" .Version}}`, `{{URLJoinPath $page "+" .Version .Path}}`, "#{{.LineNumber}}"},
	"github":  {`{{URLJoinPath $page "commit" .Version}}`, `{{URLJoinPath $page "blob" .Version .Path}}`, "#L{{.LineNumber}}"},
	"cgit": {`{{URLJoinPath $page "commit"}}/?id={{.Version}}`, `{{URLJoinPath $page "tree" .Path}}/?id={{.Version}}`,
		"#n{{.LineNumber}}"},
	"gitweb":             {"$url;a=commit;h={{.Version}}", "$url;a=blob;f={{.Path}};hb={{.Version}}", "#l{{.LineNumber}}"},
	"source.bazel.build": {"$url/%2B/{{.Version}}", "$url/%2B/{{.Version}}:{{.Path}}", ";l={{.LineNumber}}"},
	"bitbucket-server": {`{{URLJoinPath $page "commits" .Version}}`, `{{URLJoinPath $page .Path}}?at={{.Version}}`,
		"#{{.LineNumber}}"},
	"bitbucket-cloud": {`{{URLJoinPath $page "commits" .Version}}`, `{{URLJoinPath $page "src" .Version .Path}}`,
		"#{{.LineNumber}}"},
	"azuredevops": {`{{URLJoinPath $page "commit" .Version}}`,
		"{{URLJoinPath $page}}?path=/{{.Path}}&version=GC{{.Version}}&_a=contents",
		"&line={{.LineNumber}}&lineEnd={{.LineNumber}}&lineStartColumn=1&lineEndColumn=200"},
	"gitlab": {`{{URLJoinPath $page "-/commit" .Version}}`, `{{URLJoinPath $page "-/blob" .Version .Path}}`, "#L{{.LineNumber}}"},
	"gitea": {`{{URLJoinPath $page "commit" .Version}}`, `{{URLJoinPath $page "src/commit" .Version .Path}}?display=source`,
		"#L{{.LineNumber}}"},
}
