//! Names of refs.

use bstr::BStr;

/// The answer is only git's to give: a caller asks the installed git.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AskGit;

/// Whether a ref may have this `name` (git-check-ref-format(1), with `--allow-onelevel`).
pub fn is_sound(name: &BStr) -> bool {
    gix_validate::reference::name_partial(name).is_ok()
}
