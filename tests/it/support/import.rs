//! Commits of any trees, for git's own importer: thousands of files take milliseconds.

use std::collections::BTreeMap;
use std::io::Write as _;

/// What stands at a path of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    File(Vec<u8>),
    Executable(Vec<u8>),
    Link(Vec<u8>),
    /// A commit whose id is made of this digit.
    Submodule(char),
    /// The commit with this id.
    Commit(String),
}

pub(crate) fn file(content: impl AsRef<[u8]>) -> Node {
    Node::File(content.as_ref().to_vec())
}

pub(crate) fn executable(content: impl AsRef<[u8]>) -> Node {
    Node::Executable(content.as_ref().to_vec())
}

pub(crate) fn link(target: impl AsRef<[u8]>) -> Node {
    Node::Link(target.as_ref().to_vec())
}

/// All that is in a tree, by path.
pub(crate) type Files = BTreeMap<Vec<u8>, Node>;

pub(crate) fn files<P: AsRef<[u8]>>(nodes: impl IntoIterator<Item = (P, Node)>) -> Files {
    let owned = |(path, node): (P, Node)| (path.as_ref().to_vec(), node);
    nodes.into_iter().map(owned).collect()
}

/// Appends a commit with these files to `branch`, upon the last one of it or upon `parent`.
pub(crate) fn write_commit(
    stream: &mut Vec<u8>,
    branch: &str,
    parent: Option<&str>,
    files: &Files,
) {
    let time = 1_117_231_200 + stream.len();
    let from = parent.map_or(String::new(), |parent| {
        format!("from refs/heads/{parent}\n")
    });
    writeln!(stream, "commit refs/heads/{branch}").expect("memory takes it");
    write!(
        stream,
        "committer C <c@example.com> {time} +0000\ndata 0\n{from}"
    )
    .expect("as above");
    write_files(stream, files);
}

/// A commit with these files and this message, by those who commit in tests, upon the branch `parent` as it is.
pub(crate) fn commit(branch: &str, parent: Option<&str>, message: &str, files: &Files) -> Vec<u8> {
    let from = parent.map_or(String::new(), |parent| {
        format!("from refs/heads/{parent}^0\n")
    });
    let date = "1117231200 +0000";
    let len = message.len();
    let mut stream = format!(
        "commit refs/heads/{branch}\nauthor A <a@example.com> {date}\ncommitter C <c@example.com> {date}\n\
         data {len}\n{message}{from}"
    )
    .into_bytes();
    write_files(&mut stream, files);
    stream
}

/// All files of a commit, in place of those of its parent.
fn write_files(stream: &mut Vec<u8>, files: &Files) {
    stream.extend_from_slice(b"deleteall\n");
    for (path, node) in files {
        let (mode, content) = match node {
            Node::File(content) => ("100644", content),
            Node::Executable(content) => ("100755", content),
            Node::Link(target) => ("120000", target),
            Node::Submodule(digit) => {
                write_gitlink(stream, path, &digit.to_string().repeat(40));
                continue;
            }
            Node::Commit(id) => {
                write_gitlink(stream, path, id);
                continue;
            }
        };
        let (path, len) = (quoted(path), content.len());
        write!(stream, "M {mode} inline {path}\ndata {len}\n").expect("memory takes it");
        stream.extend_from_slice(content);
        stream.push(b'\n');
    }
}

fn write_gitlink(stream: &mut Vec<u8>, path: &[u8], id: &str) {
    let line = format!("M 160000 {id} {}\n", quoted(path));
    stream.extend_from_slice(line.as_bytes());
}

/// As an importer wants it, whatever the bytes are.
fn quoted(path: &[u8]) -> String {
    let octal = path.iter().map(|byte| format!("\\{byte:03o}"));
    format!("\"{}\"", octal.collect::<String>())
}
