//! Git LFS: pointers are replaced by what the local store has, without git-lfs; with it, the bytes are the same.
//!
//! The tests write pointers and objects themselves. git's side is a filter of the shell that reads the same store.

mod content;
mod damage;
mod list;
mod real;

use std::{fs, path::PathBuf};

use gix_hash::{Kind, hasher};

use crate::support::{Repo, noise, tar_listing::records};

pub(crate) const CONTENT: &str = "--lfs=content";

/// A repository in which `*.bin` are files of Git LFS.
pub(crate) struct Lfs {
    pub(crate) repo: Repo,
}

impl Lfs {
    pub(crate) fn new() -> Self {
        Self::of(Repo::init())
    }

    /// In this `repo`, which is empty.
    pub(crate) fn of(repo: Repo) -> Self {
        repo.write(".gitattributes", "*.bin filter=lfs -text\n");
        Self { repo }
    }

    /// Some files, large and small, one of them twice.
    fn with_files() -> Self {
        let lfs = Self::new();
        lfs.add("a.bin", b"small\n");
        lfs.add("d/large.bin", &noise(1, 3_000_000));
        lfs.add("d/same.bin", b"small\n");
        lfs.add("z.bin", &noise(1, 300_000));
        lfs.repo.write("plain.txt", "plain\n");
        lfs.commit();
        lfs
    }

    /// Add a file with this `content`, whose object is in the local store.
    pub(crate) fn add(&self, name: &str, content: &[u8]) -> String {
        let hash = sha256(content);
        self.store("lfs/objects", content);
        self.point(name, &pointer(&hash, content.len()));
        hash
    }

    /// Put an object into the `store` below the git directory.
    fn store(&self, store: &str, content: &[u8]) {
        let hash = sha256(content);
        let path = self.git_dir().join(store).join(place(&hash));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Add a file with this text in the repository.
    pub(crate) fn point(&self, name: &str, text: &str) {
        let path = self.repo.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        self.repo.write(name, text);
    }

    pub(crate) fn commit(&self) {
        self.repo.git(["add", "."]);
        self.repo.git(["commit", "-qm", "files"]);
    }

    fn git_dir(&self) -> PathBuf {
        self.repo.path().join(".git")
    }

    /// The file of an object in the local store.
    fn object(&self, hash: &str) -> PathBuf {
        self.git_dir().join("lfs/objects").join(place(hash))
    }

    /// The same repository with a filter that reads the local store.
    fn filtered(&self) -> Repo {
        let script = "h=$(sed -n 's/^oid sha256://p'); \
            cat .git/lfs/objects/$(echo $h | cut -c1-2)/$(echo $h | cut -c3-4)/$h";
        let smudge = format!("filter.lfs.smudge={script}");
        self.repo
            .clone()
            .with(["-c", &smudge, "-c", "filter.lfs.required=true"])
    }

    /// The bytes of the file `name` in the archive that `args` ask for.
    #[track_caller]
    fn sent(&self, args: &[&str], name: &str) -> Vec<u8> {
        let args = [&[CONTENT][..], args, &["HEAD"]].concat();
        let archive = self.repo.sluice(args).success();
        let records = records(&archive);
        let record = records.iter().find(|record| record.name() == name);
        record.expect(name).data.to_vec()
    }
}

/// Where a store has an object.
fn place(hash: &str) -> String {
    format!("{}/{}/{hash}", &hash[..2], &hash[2..4])
}

pub(crate) fn pointer(hash: &str, size: usize) -> String {
    format!("version https://git-lfs.github.com/spec/v1\noid sha256:{hash}\nsize {size}\n")
}

pub(crate) fn sha256(content: &[u8]) -> String {
    let mut hasher = hasher(Kind::Sha256);
    hasher.update(content);
    hasher.try_finalize().unwrap().to_string()
}
