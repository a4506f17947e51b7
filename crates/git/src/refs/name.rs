//! Names of refs.

use bstr::BStr;

/// A ref that only git can judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unclear;

/// Whether a ref may have this `name` (git-check-ref-format(1), with `--allow-onelevel`).
pub fn is_sound(name: &BStr) -> bool {
    gix_validate::reference::name_partial(name).is_ok()
}
