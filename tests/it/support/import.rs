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
    let head = format!(
        "commit refs/heads/{branch}\ncommitter C <c@example.com> {time} +0000\ndata 0\n{from}deleteall\n"
    );
    stream.extend_from_slice(head.as_bytes());
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
