//! The place of a submodule, and what is wrong there.

use std::{os::unix::ffi::OsStrExt, path::Path};

use bstr::{BStr, ByteSlice};
use gix_hash::ObjectId;

use crate::plan::submodules::Gitlink;
use sluice_base::error::{Error, format_bytes};
use sluice_git::{objects::wanted::Role, repository::Repository, tree::Mount};

/// The place of a submodule.
pub(super) struct Place<'a> {
    /// The name in `.gitmodules`, if the file has one.
    pub(super) name: Option<&'a BStr>,
    /// The URL in `.gitmodules`, if the file has one.
    pub(super) url: Option<&'a BStr>,
    /// The commits that are wanted from there.
    pub(super) commits: &'a [ObjectId],
    /// The path from the top of the superproject's work tree.
    pub(super) path: &'a [u8],
    pub(super) mount: Mount,
}

impl Place<'_> {
    /// The path in the archived tree.
    pub(super) fn shown(&self) -> &[u8] {
        self.mount.prefix().trim_end_with(|c| c == '/')
    }

    /// The role of the commit of `link`, which is at this place.
    pub(super) fn role(&self, link: &Gitlink) -> Role {
        Role::Submodule {
            path: link.path.clone(),
            name: self.name.map(ToOwned::to_owned),
        }
    }

    pub(super) fn without_repository(&self) -> Error {
        let path = self.shown();
        let Some(name) = self.name else {
            let refused = "no submodule mapping found in .gitmodules for path '{}'";
            return Error::fatal(format_bytes(refused, &[path]))
                .hinted("--submodules=dir archives submodules as empty directories");
        };
        let failed = "could not find a repository for submodule path '{}' (name '{}')";
        Error::fatal(format_bytes(failed, &[path, name])).hinted(format_bytes(
            "in a work tree, 'git submodule update --init --recursive' gets it; \
             --submodule-git-dir={}=<git dir> names another repository",
            &[path],
        ))
    }

    pub(super) fn without_commit(&self, directory: &Path, link: &Gitlink) -> Error {
        let commit = link.commit.to_string();
        let values = [
            self.shown(),
            commit.as_bytes(),
            directory.as_os_str().as_bytes(),
        ];
        let failed = format_bytes("submodule path '{}': commit {} is not in '{}'", &values);
        Error::fatal(failed).hinted_command(
            "to get it, perhaps: git --git-dir={} fetch --all",
            &values[2..],
        )
    }

    pub(super) fn other_hash(&self, repository: &Repository, link: &Gitlink) -> Error {
        let (own, outer) = (repository.hash(), link.commit.kind());
        let (own, outer) = (own.to_string(), outer.to_string());
        let values = [self.shown(), own.as_bytes(), outer.as_bytes()];
        let refused = "submodule path '{}' uses object format {}, its superproject {}";
        Error::fatal(format_bytes(refused, &values))
    }
}
