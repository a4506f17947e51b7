//! The exit statuses. Help, manual and documentation show this table.

/// The exit statuses, and their meanings.
pub const STATUSES: [(u8, &str); 15] = [
    (0, "done"),
    (
        1,
        "verify, compare: something differs; stand-in --check: not used",
    ),
    (3, "--base: the base cannot be read, or has other filters"),
    (4, "--fail-if-empty: there is no regular file to send"),
    (
        5,
        "--max-changed-paths, --max-changed-ratio: too much changed",
    ),
    (6, "--cache-wait: too many archives are being written"),
    (7, "--if-none-match: the caller has the archive"),
    (8, "--byte-range: the archive ends before the range"),
    (
        9,
        "missing, compare: an object is missing; apply: no such channel or commit",
    ),
    (10, "apply, publish, prune: the bucket cannot be reached"),
    (
        11,
        "apply, compare, publish, prune: a channel or an archive is damaged",
    ),
    (
        12,
        "--fail-if-varies, --stable: a file shows more than the commit",
    ),
    (128, "the run cannot continue (fatal: ...)"),
    (
        129,
        "usage: an unknown option, a bad value, options that clash",
    ),
    (
        255,
        "an object is missing, or damaged and streamed (error: ...)",
    ),
];
