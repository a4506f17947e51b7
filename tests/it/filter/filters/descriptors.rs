//! Rules that come from descriptors, and reports that go there.

use crate::support::tar_listing;
use crate::support::{Repo, cases};

#[test]
fn rules_may_come_from_a_descriptor() {
    let repo = Repo::copy("filters");
    repo.write("../rules", "/kept/file\n");
    for script in [
        "git-sluice --access-rules=fd:7 HEAD 7<../rules",
        "git-sluice --access-rules=fd:0 HEAD <../rules",
        "cat ../rules | git-sluice --access-rules=fd:9 HEAD 9<&0",
    ] {
        let archive = repo.shell(script).success();
        assert_eq!(
            tar_listing::names(&archive),
            ["kept/", "kept/file"],
            "{script}"
        );
    }
    let closed = repo.shell("git-sluice --access-rules=fd:0 HEAD <&-");
    closed.assert_refused(128, &[]);
    let wrong = repo.shell("git-sluice --access-rules=fd:7 HEAD 7>../written");
    wrong.assert_refused(128, &["Bad file descriptor"]);
}

#[test]
fn reports_may_go_to_descriptors() {
    let repo = Repo::copy("filters");
    let plain = repo.sluice(["HEAD"]).success();
    let script =
        "git-sluice --manifest=fd:9 --summary=fd:8 HEAD 9>../m 8>../s && cat ../m ../s >&2";
    let output = repo.shell(script);
    let told = output.messages();
    assert!(output.success() == plain);
    assert!(told.starts_with("{\"manifest\":1,"), "{told}");
    assert!(
        told.lines()
            .last()
            .is_some_and(|line| line.starts_with("{\"summary\":1,"))
    );
    // Both in one place, each in whole lines.
    let output = repo.shell("git-sluice --manifest=fd:9 --summary=fd:9 -o ../a.tar HEAD 9>&1");
    let lines = String::from_utf8(output.success()).expect("it is text");
    assert!(
        lines
            .lines()
            .all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok())
    );
    // The archive is elsewhere, so standard output is free.
    let output = repo.shell("git-sluice --manifest=fd:1 -o ../a.tar HEAD");
    assert!(output.success().starts_with(b"{\"manifest\":1,"));
}

#[test]
fn descriptors_that_are_not_open_are_refused() {
    let repo = Repo::copy("filters");
    for option in ["manifest", "summary"] {
        let report = |place: &str| format!("git-sluice --{option}={place}");
        repo.shell(&format!("{} HEAD", report("fd:1")))
            .assert_refused(128, &["fd:1 is where the archive goes"]);
        for closed in ["fd:9", "fd:2147483647"] {
            let output = repo.shell(&format!("{} -o archive.tar HEAD 9>&-", report(closed)));
            output.assert_refused(128, &[closed, "Bad file descriptor"]);
        }
        for closed in ["fd:1", "fd:2"] {
            let run = format!("{} -o archive.tar HEAD >&- 2>&-", report(closed));
            let output = repo.shell(&format!("{run}; echo $?"));
            assert_eq!(output.success(), b"128\n", "{run}");
        }
        let reading = repo.shell(&format!("{} HEAD 9<../repo/run.sh", report("fd:9")));
        reading.assert_refused(128, &["Bad file descriptor"]);
        let other = repo.shell(&format!("{} HEAD", report("fd:x")));
        other.assert_refused(129, &["invalid value 'fd:x'", "use a number after 'fd:'"]);
        let nowhere = repo.shell(&format!("{} HEAD", report("no/such/directory/file")));
        nowhere.assert_refused(128, &["No such file or directory"]);
    }
    assert!(!repo.path().join("archive.tar").exists());
}

/// A log on standard error keeps what is in it, and messages and reports do not overwrite each other.
#[test]
fn a_report_on_a_standard_stream_keeps_what_is_there() {
    let repo = Repo::copy("basic");
    for option in ["--manifest", "--summary"] {
        for (name, log) in [
            ("/dev/stderr", "2>>log"),
            ("/dev/fd/2", "2>>log"),
            ("/proc/self/fd/2", "2>>log"),
            ("/dev/fd/7", "7>>log"),
            ("fd:2", "2>>log"),
        ] {
            repo.write("log", "before\n");
            let _ = repo
                .shell(&format!(
                    "git-sluice {option}={name} -v HEAD {log} >/dev/null"
                ))
                .success();
            let log = std::fs::read_to_string(repo.path().join("log")).expect("text");
            assert!(
                log.starts_with("before\n") && log.contains('{'),
                "{option}={name}: {log}"
            );
        }
        // One position for both.
        let _ = repo
            .shell(&format!(
                "git-sluice {option}=/dev/stderr -v HEAD 2>log >/dev/null"
            ))
            .success();
        let log = std::fs::read_to_string(repo.path().join("log")).expect("text");
        let expected = repo.shell("git-sluice -v HEAD 2>&1 >/dev/null").success();
        for line in String::from_utf8_lossy(&expected).lines() {
            assert!(
                log.lines().any(|other| other == line),
                "{option} {line}: {log}"
            );
        }
    }
    repo.write("log", "before\n");
    let _ = repo
        .shell("git-sluice --manifest=/dev/stdout -o archive.tar HEAD >>log")
        .success();
    let log = std::fs::read_to_string(repo.path().join("log")).expect("text");
    assert!(log.starts_with("before\n{"), "{log}");
}

/// Whatever name it has.
#[test]
fn a_report_does_not_go_where_the_archive_goes() {
    let repo = Repo::copy("filters");
    let script = "ln -s archive.tar link && mkfifo fifo";
    let _ = repo.shell(script).success();
    let refused = "is where the archive goes";
    for option in ["--manifest", "--summary"] {
        for run in cases(
            "=fd:1 HEAD | =fd:7 HEAD 7>&1 | =fd:2 HEAD 2>&1 | =/dev/stdout HEAD | =/dev/fd/1 HEAD | \
             =archive.tar -o archive.tar HEAD | =./archive.tar -o archive.tar HEAD | \
             =link -o archive.tar HEAD | =archive.tar -o link HEAD | \
             =size/../archive.tar -o archive.tar HEAD | =fd:7 -o archive.tar HEAD 7>>archive.tar | \
             =archive.tar HEAD >>archive.tar | =new.tar -o new.tar HEAD | \
             =./new.tar -o \"$PWD/new.tar\" HEAD | =fifo -o fifo HEAD & cat fifo; wait $!",
        ) {
            repo.write("archive.tar", "before");
            // What is said may go there as well.
            let output = repo.shell(&format!("git-sluice {option}{run}"));
            let told = String::from_utf8_lossy(&output.stdout).into_owned() + &output.messages();
            assert!(told.contains(refused), "{option}{run}\n{output}");
            assert_eq!(output.code(), 128, "{option}{run}");
            let archive = std::fs::read(repo.path().join("archive.tar"));
            assert_eq!(archive.ok().as_deref(), Some(&b"before"[..]), "{run}");
            assert!(!repo.path().join("new.tar").exists(), "{run}");
        }
        // Nobody reads either.
        let output = repo.shell(&format!("git-sluice {option}=/dev/null HEAD >/dev/null"));
        let _ = output.success();
    }
}

/// As they may share a descriptor.
#[test]
fn both_reports_may_be_one_file() {
    let repo = Repo::copy("filters");
    repo.write("../both", "what was there before is gone".repeat(999));
    let output = repo.sluice(["--manifest=../both", "--summary=../both", "HEAD"]);
    let _ = output.success();
    let lines = std::fs::read_to_string(repo.path().join("../both")).expect("it is text");
    let lines: Vec<serde_json::Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).expect("each is JSON"))
        .collect();
    assert_eq!(lines[0]["manifest"], 1);
    assert_eq!(lines[lines.len() - 2]["end"], true);
    assert_eq!(lines[lines.len() - 1]["summary"], 1);
}

/// Numbers that nobody left open soon are those of our own files.
#[test]
fn our_own_files_cannot_be_named() {
    let repo = Repo::copy("filters");
    let closed: String = (3..10).map(|number| format!(" {number}>&-")).collect();
    for number in 3..10 {
        for option in ["manifest", "summary", "access-rules"] {
            let run = format!("git-sluice -o archive.tar --{option}=fd:{number} HEAD {closed}");
            repo.shell(&run)
                .assert_refused(128, &["Bad file descriptor"]);
        }
    }
    assert!(!repo.path().join("archive.tar").exists());
}
