//! What zoekt makes of the lines of an ignore file: the verified examples, one by one, as a matcher and
//! as the archive of a tree that holds such paths.

use sluice_core::filter::ignore::Ignore;

use super::{GRAMMAR, ignore::with_rules};

/// A text, the paths that it ignores, and paths that it does not.
type Vector = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

const VERIFIED: [Vector; 51] = [
    (
        "foo",
        &["foo", "foobar", "foobar/x", "foo/bar", "foo.txt"],
        &["a/foo", "Foo"],
    ),
    ("foo/", &["foo/a", "foo/b/c"], &["foo", "a/foo/b"]),
    ("/foo", &["foo", "foo/a"], &["a/foo"]),
    ("//foo", &["/foo"], &["foo", "foo/a"]),
    ("./foo", &[], &["foo", "foo/a"]),
    (".github", &[".github"], &[".github/workflows/ci.yml"]),
    (".github/", &[], &[".github/workflows/ci.yml"]),
    (".github/**", &[".github/workflows/ci.yml"], &[".github"]),
    ("foo.go", &["foo.go"], &["a/foo.go", "foo.go/x"]),
    ("*.go", &["foo.go", ".go"], &["a/foo.go"]),
    ("**.go", &["foo.go", "a/b/c.go"], &["a/b/c.gox"]),
    ("**/*.go", &["a/foo.go", "a/b/c.go"], &["foo.go"]),
    ("**/foo", &["a/foo", "a/b/foo"], &["foo", "a/foo/x"]),
    ("**/data/", &[], &["data/x", "a/data/x"]),
    ("**/data/**", &["a/data/x", "a/b/data/c/d"], &["data/x"]),
    (
        "data/**.json",
        &["data/a.json", "data/b/c.json", "data/.json"],
        &["data.json"],
    ),
    ("a/*/c", &["a/b/c", "a//c"], &["a/b/b/c", "a/b/c/d"]),
    ("a/**/c", &["a/b/c", "a/b/b/c", "a/c"], &[]),
    ("a/**/b/**/c", &["a/x/b/y/c"], &["a/b/c", "a/x/b/c"]),
    ("[0-9]*.*", &["1a.txt"], &["d/1a.txt", "1atxt", "1.x/y"]),
    ("[!a-c]x", &["dx", "/x"], &["ax"]),
    ("[^a]x", &["ax", "^x"], &["bx"]),
    ("{a,b}", &["a", "b/c", "ab"], &["c"]),
    ("{src,lib}/", &["src/a", "lib/b/c"], &[]),
    ("**/*.{js,css}", &["d/a.js", "d/b.css"], &["a.js"]),
    (
        "node_modules/",
        &["node_modules/a"],
        &["web/node_modules/a"],
    ),
    (
        "**/node_modules/**",
        &["x/node_modules/a/b"],
        &["node_modules/a"],
    ),
    ("!foo", &["!foo", "!foo/a"], &["foo"]),
    ("\\#foo", &["#foo", "#foo/a"], &[]),
    ("/#foo", &["#foo", "#foo/a"], &[]),
    ("#foo", &[], &["#foo"]),
    ("  #foo", &[], &["#foo"]),
    ("foo # bar", &["foo # bar", "foo # barx"], &["foo"]),
    ("foo bar", &["foo bar/x"], &["foo"]),
    ("/", &["a", "a/b", ".sourcegraph/ignore"], &[]),
    ("*", &["a"], &["a/b", ".sourcegraph/ignore"]),
    ("**", &["a", "a/b", ".sourcegraph/ignore"], &[]),
    ("*/", &[], &["a/b"]),
    ("*/*", &["a/b"], &["a", "a/b/c"]),
    ("foo\r", &["foo/a"], &[]),
    ("foo\r\nbar", &["foo/a", "bar"], &[]),
    ("\u{a0}foo\u{a0}", &["foo/a"], &[]),
    ("\t\u{b}\u{3000}foo\u{3000}", &["foo/a"], &[]),
    ("\u{feff}foo", &["\u{feff}foo"], &["foo"]),
    ("foo\\", &["foo*"], &["foo"]),
    ("foo\\*", &["foo*"], &["foox"]),
    ("caf*", &["café"], &["caf/x"]),
    ("src/**", &["src/a"], &["src"]),
    ("*.*", &["a.b"], &["a", "d/a.b"]),
    ("[!.]*", &["a"], &[".a", "a/b"]),
    ("Makefile", &["Makefile", "Makefile.am"], &["sub/Makefile"]),
];

/// Where zoekt's library is at odds with itself, and we are not: everybody is told.
const OTHERWISE: [Vector; 4] = [
    ("a?c", &["abc", "aéc"], &["a/c", "ac"]),
    ("x/{*.js,y}", &["x/a.js", "x/y"], &["x/a.jsx", "x/z/a.js"]),
    (
        "{**/,}node_modules/**",
        &["node_modules/a", "x/node_modules/a/b"],
        &["x/node_modules"],
    ),
    ("a***b", &["axb", "a/b", "ab"], &["a"]),
];

/// Lines that make a whole file void, and why.
const BAD: [(&[u8], &str); 12] = [
    (b"[a-zA-Z]", "a class contains more than one range"),
    (b"*\xff*", "not UTF-8"),
    (b"[", "missing ']'"),
    (b"a[", "missing ']'"),
    (b"[]", "a class is empty"),
    (b"[]a]", "a class is empty"),
    (b"[a-]", "missing ']'"),
    (b"[z-a]", "a range ends before it starts"),
    (b"[a-z0-9]x", "a class contains more than one range"),
    (b"// [x-y]+", ""),
    (b"good\n[\nother", "line 2: '[': missing ']'"),
    (b"#[\r\n\r\n  [ ", "line 3: '[': missing ']'"),
];

fn all() -> impl Iterator<Item = &'static Vector> {
    VERIFIED.iter().chain(&OTHERWISE)
}

#[test]
fn the_matcher_says_what_is_ignored() {
    for (text, ignored, kept) in all() {
        let mut rules = Ignore::new();
        let added = rules.add("test", text.as_bytes());
        assert_eq!(added, Ok(()), "{text}");
        for path in *ignored {
            assert!(rules.ignores(path.as_bytes()), "{text} ignores {path}");
        }
        for path in *kept {
            assert!(!rules.ignores(path.as_bytes()), "{text} keeps {path}");
        }
        for path in ignored.iter().chain(*kept) {
            let rule = rules.rule(path.as_bytes());
            let is_ignored = rules.ignores(path.as_bytes());
            assert_eq!(rule.is_some(), is_ignored, "{text} {path}");
        }
    }
    let mut rules = Ignore::new();
    let added = rules.add("test", b"caf*");
    assert!(added.is_ok() && rules.ignores(b"caf\xe9"));
}

#[test]
fn whoever_expects_what_zoekt_does_is_told() {
    let lines: String = OTHERWISE.map(|(text, ..)| format!("{text}\n")).concat();
    let told = with_rules(lines).sluice([GRAMMAR, "HEAD"]).messages();
    for (number, (text, ..)) in (1..).zip(OTHERWISE) {
        let warning = format!("warning: .sourcegraph/ignore:{number}: '{text}' zoekt may ");
        assert!(told.contains(&warning), "{told}");
    }
}

#[test]
fn bad_lines_make_all_void() {
    for (text, reason) in BAD {
        let added = Ignore::new().add("test", text);
        let told = added.map_err(|error| error.words().to_string()).err();
        // What looks like a comment to whoever read the documentation may be a sound class.
        let expected = (!reason.is_empty()).then_some(reason);
        let is_told = told
            .as_ref()
            .zip(expected)
            .is_some_and(|(told, why)| told.contains(why));
        assert!(
            is_told || (told.is_none() && expected.is_none()),
            "{told:?}"
        );
    }
}
