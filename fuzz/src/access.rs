//! Access rules: what is decided of a directory holds for every path below it.
//!
//! The input is rules, and behind a NUL a path.

use sluice_core::filter::access::AccessRules;

/// Tries `input`.
pub fn run(input: &[u8]) {
    let mut parts = input.splitn(2, |&byte| byte == 0);
    let [rules, path] = [(); 2].map(|()| parts.next().unwrap_or_default());
    let Ok(access) = AccessRules::parse(rules) else {
        return;
    };
    let allowed = access.allows(path);
    assert!(
        !(allowed && access.is_empty()),
        "without rules nothing is seen"
    );
    for end in (1..path.len()).filter(|&end| path[end] == b'/') {
        let directory = &path[..end];
        assert!(!(allowed && access.prunes(directory)), "hidden");
        assert!(allowed || !access.admits_all(directory), "shown");
    }
}
