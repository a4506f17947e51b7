//! The summary as events of git's Trace2, for programs that collect those of git with `GIT_TRACE2_EVENT` (api-trace2 in git's
//! documentation).
//!
//! A run writes all its events at its end, in one piece. The summary is the value of a `data_json` event.

use std::{
    ffi::{OsStr, OsString},
    io::Write,
    os::unix::ffi::OsStrExt,
    path::PathBuf,
};

use jiff::Timestamp;
use serde::Serialize;

use super::run_origin::{RunOrigin, open_log, rfc3339};

/// The version of git's events.
const EVENT_VERSION: &str = "3";

/// The place that gets events, and the words of the run.
#[derive(Debug)]
pub struct Trace2 {
    path: PathBuf,
    /// The session of the git that started this program, if there is one.
    parent: Option<String>,
    words: Vec<String>,
}

impl Trace2 {
    /// The place that `target`, the value of `GIT_TRACE2_EVENT`, names: a descriptor, a file or a directory. Sockets are not
    /// supported. `parent` is the value of `GIT_TRACE2_PARENT_SID`.
    pub fn new(target: &OsStr, parent: Option<OsString>, words: &[OsString]) -> Option<Self> {
        let path = match target.as_bytes() {
            b"1" | b"true" => "/dev/fd/2".into(),
            [digit @ b'2'..=b'9'] => format!("/dev/fd/{}", char::from(*digit)).into(),
            _ => PathBuf::from(target),
        };
        let text = |word: &OsString| word.to_string_lossy().into_owned();
        path.is_absolute().then(|| Self {
            path,
            parent: parent.as_ref().map(text),
            words: words.iter().map(text).collect(),
        })
    }

    /// Writes the events of a run with this `summary` that ended with `status`. As in git, events that cannot be written are
    /// lost.
    pub(super) fn write(&self, summary: &impl Serialize, origin: &RunOrigin, status: u8) {
        let time = origin.time.strftime("%Y%m%dT%H%M%S%.6fZ");
        let session = format!("{time}-Localhost-P{:08x}", origin.pid);
        let path = if self.path.is_dir() {
            self.path.join(&session)
        } else {
            self.path.clone()
        };
        let mut events = Events {
            session: match &self.parent {
                Some(parent) => format!("{parent}/{session}"),
                None => session,
            },
            origin,
            text: Vec::new(),
        };
        let written = self.add(&mut events, summary, status);
        if written.is_ok() {
            let _ = open_log(&path).and_then(|mut file| file.write(&events.text));
        }
    }

    fn add(
        &self,
        events: &mut Events<'_>,
        summary: &impl Serialize,
        status: u8,
    ) -> serde_json::Result<()> {
        let (start, end) = (events.origin.time, Timestamp::now());
        let t_abs = end.duration_since(start).as_secs_f64();
        events.add(
            "version",
            start,
            Version {
                evt: EVENT_VERSION,
                exe: env!("CARGO_PKG_VERSION"),
            },
        )?;
        events.add(
            "start",
            start,
            Start {
                t_abs: 0.0,
                argv: &self.words,
            },
        )?;
        events.add(
            "cmd_name",
            start,
            CommandName {
                name: "sluice",
                hierarchy: "sluice",
            },
        )?;
        events.add(
            "data_json",
            end,
            Data {
                repo: 1,
                t_abs,
                t_rel: t_abs,
                nesting: 1,
                category: "sluice",
                key: "summary",
                value: summary,
            },
        )?;
        for event in ["exit", "atexit"] {
            events.add(
                event,
                end,
                Exit {
                    t_abs,
                    code: status,
                },
            )?;
        }
        Ok(())
    }
}

/// Events of one session, a line for each.
struct Events<'a> {
    session: String,
    origin: &'a RunOrigin,
    text: Vec<u8>,
}

impl Events<'_> {
    fn add(
        &mut self,
        event: &str,
        time: Timestamp,
        fields: impl Serialize,
    ) -> serde_json::Result<()> {
        let event = Event {
            event,
            sid: &self.session,
            thread: "main",
            time,
            file: file!(),
            line: line!(),
            fields,
        };
        serde_json::to_writer(&mut self.text, &event)?;
        self.text.push(b'\n');
        Ok(())
    }
}

/// The fields of all events, and those of one kind.
#[derive(Serialize)]
struct Event<'a, T: Serialize> {
    event: &'a str,
    sid: &'a str,
    thread: &'static str,
    #[serde(serialize_with = "rfc3339")]
    time: Timestamp,
    file: &'static str,
    line: u32,
    #[serde(flatten)]
    fields: T,
}

#[derive(Serialize)]
struct Version {
    evt: &'static str,
    exe: &'static str,
}

#[derive(Serialize)]
struct Start<'a> {
    t_abs: f64,
    argv: &'a [String],
}

#[derive(Serialize)]
struct CommandName {
    name: &'static str,
    hierarchy: &'static str,
}

#[derive(Serialize)]
struct Data<'a, T: Serialize> {
    repo: u32,
    t_abs: f64,
    t_rel: f64,
    nesting: u32,
    category: &'static str,
    key: &'static str,
    value: &'a T,
}

#[derive(Serialize)]
struct Exit {
    t_abs: f64,
    code: u8,
}
