package index_test

// list stands for the question which repositories there are.
const list = "list"

// queries are asked of each index. They ask for names, content, languages, branches, symbols and regular expressions, and
// for the texts by which zoekt says why it has no content.
var queries = []string{
	"alpha", "beta", "gamma", "delta", "omega", "common", "needle", "version", "func main", "package", "print", "hello",
	"target", "secret", "hidden", "freed", "large", "binary", "content", "empty", "line", "quoted", "umlaut", "Alpha", "BETA",
	"NOT-INDEXED", "exceeds the maximum size limit", "contains binary content", "contains too few trigrams",
	"case:yes alpha", "case:yes Alpha", "case:yes BETA", "case:no needle",
	"file:alpha", "file:\\.go$", "file:\\.py$", "file:\\.txt$", "file:^dir/", "file:^src/", "file:sub/", "file:README",
	"file:Case", "case:yes file:Case", "case:yes file:case", "file:link", "file:ignore", "file:latin", "file:quote", "file:tab",
	"file:star", "file:top", "file:back", "file:attributes", "file:exec", "file:big", "file:bin", "file:.*", "-file:go .",
	"lang:go", "lang:python", "lang:markdown", "lang:c", "lang:go common", "lang:python print", "-lang:go common",
	"branch:HEAD", "branch:main", "branch:dev", "branch:release", "branch:main common", "branch:dev common",
	"branch:release common", "branch:dev -branch:main", "branch:main -branch:dev", "branch:release -branch:main .",
	"regex:a.*a", "alp?ha", "^common", "common$", "(alpha|beta)", "[0-9]+", "needle [0-9]", "common -alpha", "alpha or beta",
	"(alpha or beta) file:txt", "type:file common", "type:filename alpha", "archived:no alpha", "repo:repo common", "repo:other common",
	"content:alpha", "content:needle", "file:a content:common", "sym:main", ".", "\\n", "zzz", list,
}
