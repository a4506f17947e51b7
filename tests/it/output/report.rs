//! Manifest and summary against the schemas that are published with them: what is written is as they
//! say, and they say all that is written.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use sluice_base::buffer::Buffer;
use sluice_base::error::Error;
use sluice_base::working_directory::WorkingDirectory;
use sluice_core::cache::{Account, Role};
use sluice_core::filter::{Disposition, OmissionReason, PlaceholderContent};
use sluice_core::output::report::{
    ChangeCounts, Channel, Counts, EntryPosition, Lines, Manifest, ManifestChange, ManifestHeader,
    Positions, Record, ReportWriter, RunOrigin, Seconds, SentRange, Status, Subject, Summary,
    Unportable, write_deletion,
};
use sluice_git::repository::promisor::FetchSums;
use sluice_git::{lfs::Hash, tree::KeptLink};

use crate::leftovers::temporary_directory;
use crate::support::schema::Schema;

/// What `write` writes to its outlet.
fn written(write: impl FnOnce(ReportWriter)) -> String {
    let directory = temporary_directory();
    let path: PathBuf = directory.path().join("report");
    write(
        Channel::File(WorkingDirectory::Current.file(&path))
            .open(&|_| unreachable!("a file"))
            .expect("opened"),
    );
    fs::read_to_string(path).expect("written just now")
}

fn value(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

fn line(record: &Record) -> String {
    let mut out = Buffer::default();
    record.write(&mut out);
    String::from_utf8(out.to_vec()).expect("JSON is UTF-8")
}

fn file(path: &[u8]) -> Record<'_> {
    Record {
        submodule: b"",
        lfs: None,
        path,
        mode: 0o100644,
        id: &[0xab; 20],
        size: Some(123),
        disposition: Disposition::Content,
        decoded: true,
        change: None,
        undecided: false,
        unportable: &[],
        link: None,
    }
}

fn commit() -> Subject {
    Subject {
        commit: Some("12".repeat(20)),
        tree: "ab".repeat(20),
        base: Some("cd".repeat(20)),
    }
}

fn tree() -> Subject {
    Subject {
        commit: None,
        tree: "ab".repeat(32),
        base: None,
    }
}

/// An entry of every disposition, reason, mode and kind of path.
fn records() -> Vec<Record<'static>> {
    let reasons = OmissionReason::ALL.into_iter();
    let dispositions = reasons
        .flat_map(|reason| {
            [
                Disposition::Placeholder(reason, PlaceholderContent::Empty),
                Disposition::Omitted(reason),
            ]
        })
        .map(|disposition| Record {
            disposition,
            ..file(b"a/b")
        });
    let modes = [0o100644, 0o100755, 0o120000, 0o040000, 0o160000].map(|mode| Record {
        mode,
        size: None,
        ..file(b"a/b")
    });
    let added = Record {
        id: &[],
        ..file(b"VERSION")
    };
    let changed = Record {
        change: Some(ManifestChange {
            status: Status::TypeChanged,
            old: Some((0o120000, &[7; 20])),
        }),
        ..file(b"a/b")
    };
    let [below, below_unreadable] = [&b"lib"[..], b"li\xff"].map(|submodule| Record {
        submodule,
        ..file(b"lib/a")
    });
    let large = Record {
        lfs: Some(Hash([7; 32])),
        ..file(b"large")
    };
    let undecided = Record {
        undecided: true,
        unportable: &[Unportable::Case, Unportable::Reserved],
        link: Some(KeptLink::Circle),
        ..file(b"a/b")
    };
    let mut records = vec![
        file(b"a\xff"),
        undecided,
        added,
        changed,
        below,
        below_unreadable,
        large,
    ];
    records.extend(dispositions);
    records.extend(modes);
    records
}

fn manifest(subject: &Subject) -> String {
    written(|outlet| {
        let mut lines = Lines::default();
        let place = EntryPosition {
            header: 512,
            content: Some((1024, 5)),
        };
        for record in records() {
            lines.add(&record, Some(place));
        }
        let header = ManifestHeader {
            subject: subject.clone(),
            commit_time: subject.commit.as_ref().map(|_| 1),
            filters: subject.commit.as_ref().map(|_| "ab".repeat(32)),
        };
        let mut manifest = Manifest::begin(outlet, &header, Some(10240)).expect("written");
        manifest.tell(Positions::InFrames(4096));
        manifest.write_lines(&lines, 8192).expect("written");
        manifest.write(b"").expect("written");
        manifest.end().expect("written");
    })
}

fn summary(subject: Option<Subject>, failure: Option<&Error>) -> Value {
    let mut counts = Counts::default();
    for record in records() {
        counts.add(&record);
    }
    let summary = Summary {
        subject,
        counts,
        changes: Some(ChangeCounts {
            type_changed: 1,
            ..ChangeCounts::default()
        }),
        content_length: Some(10240),
        bytes_out: 10240,
        range: Some(SentRange { first: 5, last: 9 }),
        seconds: Seconds {
            wall: Duration::from_nanos(1_234_567_890),
            ..Seconds::default()
        },
        varies: true,
        is_filtered: false,
        fetch: FetchSums {
            fetches: 2,
            objects: 503,
            time: Duration::from_millis(123),
        },
        peak_memory: failure.is_none().then_some(1 << 24),
        cache: Some(Account {
            donor: Some("used"),
            role: Role::Bypass,
            reason: Some("the directory has no room".to_owned()),
            is_unusable: false,
            key: Some("ab".repeat(32)),
            produced: 10240,
            served: 10240,
        }),
        run: Some(RunOrigin {
            time: jiff::Timestamp::UNIX_EPOCH,
            pid: 7,
            repository: Some("/srv/project.git".to_owned()),
            is_served: true,
        }),
    };
    let text = written(|outlet| summary.write(outlet, failure).expect("written"));
    assert_eq!(text.lines().count(), 1);
    value(&text)
}

#[test]
fn a_manifest_reads_like_this() {
    assert_eq!(
        line(&file(b"a/b")),
        format!(
            "{{\"path\":\"a/b\",\"mode\":\"100644\",\"id\":\"{}\",\"size\":123,\"disposition\":\"content\"}}\n",
            "ab".repeat(20)
        )
    );
    let pruned = Record {
        mode: 0o040000,
        id: &[0xab; 32],
        size: None,
        disposition: Disposition::Omitted(OmissionReason::Excluded),
        decoded: false,
        ..file(b"vendor/")
    };
    assert_eq!(
        line(&pruned),
        format!(
            "{{\"path\":\"vendor/\",\"mode\":\"040000\",\"id\":\"{}\",\"disposition\":\"omitted\",\"reason\":\"excluded\"}}\n",
            "ab".repeat(32)
        )
    );
    let manifest = manifest(&tree());
    let lines: Vec<&str> = manifest.lines().collect();
    let mut out = Buffer::default();
    let past = ManifestChange {
        status: Status::Deleted,
        old: Some((0o100644, &[0xab; 20])),
    };
    write_deletion(b"a/b", past, &mut out);
    let text = String::from_utf8(out.to_vec()).expect("JSON is UTF-8");
    assert_eq!(
        text,
        format!(
            "{{\"path\":\"a/b\",\"status\":\"D\",\"old_mode\":\"100644\",\"old_id\":\"{}\"}}\n",
            "ab".repeat(20)
        )
    );
    Schema::read("manifest").accept(&value(&text));
    assert_eq!(
        lines[0],
        format!(
            "{{\"manifest\":1,\"tree\":\"{}\",\"content_length\":10240}}",
            "ab".repeat(32)
        )
    );
    let position = ",\"offset\":8704,\"data_offset\":9216,\"data_length\":5,\"frame\":2}";
    assert!(lines[1].ends_with(position), "{}", lines[1]);
    let entries = lines.len() - 2;
    assert_eq!(
        lines[entries + 1],
        format!("{{\"end\":true,\"entries\":{entries}}}")
    );
}

#[test]
fn manifests_are_as_their_schema_says() {
    let schema = Schema::read("manifest");
    for subject in [commit(), tree()] {
        for line in manifest(&subject).lines() {
            schema.accept(&value(line));
        }
    }
    let id = "ab".repeat(20);
    for wrong in [
        json!({}),
        json!({"manifest": 2, "tree": id}),
        json!({"manifest": 1, "tree": "ab"}),
        json!({"end": true}),
        json!({"path": "a", "path_base64": "YQ==", "mode": "100644", "disposition": "content"}),
        json!({"mode": "100644", "disposition": "content"}),
        json!({"path": "a", "mode": "100664", "disposition": "content"}),
        json!({"path": "a", "mode": "100644", "disposition": "omitted"}),
        json!({"path": "a", "mode": "100644", "disposition": "content", "reason": "binary"}),
        json!({"path_base64": "YQ", "mode": "100644", "disposition": "content"}),
        json!({"path": "a", "mode": "100644", "disposition": "content", "size": -1}),
    ] {
        assert!(!schema.accepts(&wrong), "{wrong}");
    }
}

#[test]
fn summaries_are_as_their_schema_says() {
    let schema = Schema::read("summary");
    let failure = Error::entry("cannot read '12'").after("error: invalid object");
    let complete = summary(Some(commit()), None);
    let failed = summary(None, Some(&failure));
    schema.accept(&complete);
    schema.accept(&summary(Some(tree()), None));
    schema.accept(&failed);
    assert_eq!(complete["complete"], json!(true));
    assert_eq!(complete["seconds"]["wall"], json!(1.234567));
    assert_eq!(
        complete["run"]["time"],
        json!("1970-01-01T00:00:00.000000Z")
    );
    assert_eq!(failed["complete"], json!(false));
    assert_eq!(
        failed["error"],
        json!("error: invalid object\nerror: cannot read '12'")
    );
    for (field, wrong) in [
        ("summary", json!(2)),
        ("complete", json!(false)),
        ("error", json!("fatal: but complete")),
        ("entries", json!(-1)),
        ("omitted", json!({})),
    ] {
        let mut changed = complete.clone();
        changed[field] = wrong;
        assert!(!schema.accepts(&changed), "{changed}");
    }
}

/// The lines of a manifest are the entries of the archive and what is omitted from it.
#[test]
fn manifest_and_summary_agree() {
    let summary = summary(Some(commit()), None);
    let omitted = summary["omitted"].as_object().expect("an object");
    let omitted: u64 = omitted.values().filter_map(Value::as_u64).sum();
    let entries = summary["entries"].as_u64().expect("a number");
    let last = manifest(&commit());
    let last = value(last.lines().last().expect("the end"));
    assert_eq!(last["entries"], json!(entries + omitted));
}

#[test]
fn no_field_is_undescribed_and_none_is_made_up() {
    let mut found = BTreeSet::new();
    for line in manifest(&commit()).lines() {
        collect(&value(line), "", &mut found);
    }
    assert_eq!(found, Schema::read("manifest").properties());

    let mut found = BTreeSet::new();
    collect(&summary(Some(commit()), None), "", &mut found);
    let failure = Error::fatal("a failure");
    collect(&summary(None, Some(&failure)), "", &mut found);
    assert_eq!(found, Schema::read("summary").properties());
}

fn collect(value: &Value, above: &str, found: &mut BTreeSet<String>) {
    for (name, value) in value.as_object().into_iter().flatten() {
        let name = format!("{above}{name}");
        collect(value, &format!("{name}."), found);
        found.insert(name);
    }
}

/// All that the schema offers is what the types have.
#[test]
fn every_disposition_and_reason_is_described() {
    let schema = Schema::read("manifest");
    for name in ["disposition", "reason", "mode"] {
        let choices = schema.choices("entry", name);
        let manifest = manifest(&commit());
        let found = manifest
            .lines()
            .filter_map(|line| Some(value(line)[name].as_str()?.to_owned()));
        assert_eq!(found.collect::<BTreeSet<_>>(), choices, "{name}");
    }
}

/// The path that a reader gets from a line.
pub(crate) fn path_of(line: &Value) -> Vec<u8> {
    match (line["path"].as_str(), line["path_base64"].as_str()) {
        (Some(path), None) => path.as_bytes().to_vec(),
        (None, Some(text)) => from_base64(text),
        _ => panic!("one path and not two: {line}"),
    }
}

fn from_base64(text: &str) -> Vec<u8> {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text
        .bytes()
        .filter_map(|byte| alphabet.iter().position(|c| *c == byte));
    let bits: String = digits.map(|digit| format!("{digit:06b}")).collect();
    let bytes = bits.as_bytes().chunks_exact(8);
    let byte = |bits: &[u8]| bits.iter().fold(0, |byte, bit| byte << 1 | (bit - b'0'));
    bytes.map(byte).collect()
}

#[track_caller]
fn assert_survives(path: &[u8]) {
    let line = line(&file(path));
    let text = line.strip_suffix('\n').expect("a line ends");
    let splits = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    assert!(!text.contains(splits), "{text:?}");
    let value = value(text);
    Schema::read("manifest").accept(&value);
    assert_eq!(path_of(&value), path, "{text}");
}

#[test]
fn odd_paths_survive() {
    for path in [
        "\"quoted\" \\ and 'not'",
        "new\nline\r\ttab\u{0}\u{1b}[2J",
        "del\u{7f} nel\u{85} c1\u{9b} separators\u{2028}\u{2029}",
        "é😀\u{feff}\u{fffd}\u{ffff}",
        "trailing space ",
        "/",
    ] {
        assert_survives(path.as_bytes());
    }
    for path in [
        &b"\xff"[..],
        b"a\xc3",
        b"a\xed\xa0\x80",
        b"\xc0\xaf\n",
        b"\x80\"\\",
    ] {
        assert_survives(path);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_path_survives(path in prop::collection::vec(any::<u8>(), 1..40)) {
        assert_survives(&path);
    }

    #[test]
    fn any_text_survives(path in "\\PC{1,20}|[\\x00-\\u{ff}]{1,20}") {
        assert_survives(path.as_bytes());
    }
}
