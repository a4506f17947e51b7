//! What the script says to the git-sluice that it starts.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// The variable of the script. It has two fields about the script, then the command that git-sluice replaces, then
/// the `PATH` of the caller. Other programs that the script starts find the first two fields.
pub const CALLER: &str = "GIT_SLUICE_STAND_IN";
/// Users who write `git sluice` want git-sluice, whichever program starts it.
const OWN: &[u8] = b"sluice";

/// The caller of the script that started git-sluice.
#[derive(Debug, PartialEq, Eq)]
pub struct Caller {
    /// Whether the caller wants an archive of git, and may not know git-sluice.
    pub wants_git: bool,
    /// The `PATH` of the caller. The script and git put directories first in git-sluice's `PATH`.
    pub paths: OsString,
}

impl Caller {
    /// The caller in `variable`, the value of [`CALLER`]. `None` if no script started git-sluice.
    pub fn of(variable: &OsStr) -> Option<Self> {
        let mut fields = variable.as_bytes().splitn(4, |&byte| byte == b':').skip(2);
        let (command, paths) = (fields.next()?, fields.next()?);
        Some(Self {
            wants_git: command != OWN,
            paths: OsString::from_vec(paths.to_vec()),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::Caller;

    #[test]
    fn a_caller_has_a_command_and_a_path() {
        let caller = |variable: &str| Caller::of(OsStr::new(variable));
        for (command, wants_git) in [
            ("archive", true),
            ("upload-archive", true),
            ("sluice", false),
        ] {
            let expected = Caller {
                wants_git,
                paths: "/opt/sluice:/usr/bin".into(),
            };
            let variable = format!("1:42:{command}:/opt/sluice:/usr/bin");
            assert_eq!(caller(&variable), Some(expected));
        }
        assert_eq!(caller("1:42"), None);
        assert_eq!(caller(""), None);
    }
}
