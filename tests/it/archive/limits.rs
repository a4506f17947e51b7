//! The limits that a host sets on every archive: `sluice.maxTime`, `sluice.maxSize` and `sluice.maxEntries`.

use crate::support::{Repo, noise, process::Output};

/// The status of an archive that is over a limit.
const OVER_LIMIT: i32 = 13;

/// The archive that `words` ask for, with a value for a `key` of the configuration.
fn limited(repo: &Repo, (key, value): (&str, u64), words: &[&str]) -> Output {
    let setting = format!("sluice.{key}={value}");
    repo.clone().with(["-c", &setting]).sluice(words)
}

/// What the plan tells is refused before the first byte, in every format. An archive that has just as much is sent.
#[test]
fn a_large_archive_is_refused_before_its_first_byte() {
    let repo = Repo::from("basic");
    let info = repo.json(["info", "HEAD"]);
    let amount = |field: &str| info[field].as_u64().expect("a number");
    for (key, amount, why) in [
        ("maxSize", amount("content_length"), "is larger"),
        ("maxEntries", amount("entries"), "has more entries"),
    ] {
        for format in ["tar", "tar.gz", "tar.zst", "zip"] {
            let words = [&format!("--format={format}")[..], "HEAD"];
            let expected = repo.sluice(words).success();
            assert!(limited(&repo, (key, amount), &words).success() == expected);
            let message = format!("fatal: the archive {why} than sluice.{key} allows\n");
            limited(&repo, (key, amount - 1), &words).assert_failure(OVER_LIMIT, &message);
        }
        let range = ["--byte-range=0-9", "HEAD"];
        assert_eq!(limited(&repo, (key, amount - 1), &range).code(), OVER_LIMIT);
    }
    let message = "fatal: the archive takes longer than sluice.maxTime allows\n";
    limited(&repo, ("maxTime", 0), &["HEAD"]).assert_failure(OVER_LIMIT, message);
    let _ = limited(&repo, ("maxTime", 600), &["HEAD"]).success();
}

/// The limits are those of the request, even if the archive was made for another one that had none.
#[test]
fn archives_of_the_cache_have_limits() {
    let repo = Repo::from("basic");
    let place = Repo::scratch();
    let cache = format!("--cache={}", place.path().join("cache").display());
    for format in ["tar", "tar.gz", "zip"] {
        let words = [&cache, &format!("--format={format}")[..], "HEAD"];
        let _ = repo
            .sluice([&words[..], &["--cache-always"]].concat())
            .success();
        for key in ["maxEntries", "maxSize", "maxTime"] {
            for range in [&["--byte-range=0-9"][..], &[]] {
                let refused = limited(&repo, (key, 0), &[&words[..], range].concat());
                assert_eq!(refused.code(), OVER_LIMIT, "{format} {key}: {refused}");
                assert!(refused.stdout.is_empty() && refused.messages().contains(key));
            }
        }
        let (told, _) = repo
            .clone()
            .with(["-c", "sluice.maxEntries=100"])
            .summary(words);
        assert_eq!(told["cache"]["role"], "hit", "{told}");
    }
}

/// An archive whose plan does not tell its length ends inside an entry.
#[test]
fn a_limit_that_is_met_later_cuts_the_archive() {
    let repo = Repo::init();
    for number in 0..24 {
        // Text that does not compress well.
        let mut text = noise(number, 1 << 20);
        text.iter_mut().for_each(|byte| *byte = b' ' + *byte % 94);
        repo.write(format!("{number}"), text);
    }
    repo.git(["add", "."]);
    repo.git(["commit", "-qm", "text"]);
    for (format, list) in [
        ("tar", "tar -tf ../cut"),
        ("tar.gz", "tar -tzf ../cut"),
        ("zip", "python3 -m zipfile -l ../cut"),
    ] {
        let words = ["--binary=omit", &format!("--format={format}"), "HEAD"];
        let cut = limited(&repo, ("maxSize", 16 << 20), &words);
        assert_eq!(cut.code(), OVER_LIMIT, "{cut}");
        assert!(!cut.stdout.is_empty(), "{format}");
        repo.write("../cut", cut.stdout);
        let read = repo.shell(list);
        assert_ne!(read.code(), 0, "{format}");
    }
}

/// Clients of a server have the limits of the host. A bad one ends no archive of theirs, but one of a user.
#[test]
fn clients_of_a_server_have_limits() {
    let repo = Repo::copy("basic");
    let set = |value: &str| repo.git(["config", "sluice.maxEntries", value]);
    set("0");
    let served = repo.served(["--remote=.", "HEAD"]);
    assert!(served.messages().contains("sluice.maxEntries"), "{served}");
    assert!(served.stdout.is_empty());
    set("none");
    let _ = repo.served(["--remote=.", "HEAD"]).success();
    let refused = repo.sluice(["HEAD"]);
    assert_eq!(refused.code(), 128, "{refused}");
}
