//! Errors in git's words.
//!
//! One type for the whole crate: a kind (which determines the exit status), a sentence in git's grammar,
//! the cause, and a hint where one helps. Errors of gix are wrapped by their text, since their types still
//! change. Nothing here prints.

#[cfg(any(test, target_env = "musl"))]
mod glibc;

use std::fmt;

use bstr::{BStr, BString, ByteSlice};

/// The longest line that git writes, without its end.
const MAX_LINE: usize = 4095;

/// The hint of an error that only a delta has.
pub const FULL_ARCHIVE: &str = "leave out --base to get a full archive";

/// The result of an operation that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// How a run ends. As in git, `fatal:` is 128, a usage error 129, an error of the archive writer 255; other
/// statuses are git-sluice's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitKind {
    /// The run cannot continue; exit status 128, printed as `fatal: …`.
    Fatal,
    /// The tree-ish is not the name of an object; exit status 128, printed as `fatal: …`.
    UnknownName,
    /// A pathspec matches nothing; exit status 128, printed as `fatal: …`.
    Unmatched,
    /// The arguments make no sense; exit status 129, printed as `error: …`.
    Usage,
    /// An entry could not be written; exit status 255, printed as `error: …`.
    Entry,
    /// The base of a delta cannot be read; exit status 3.
    NoBase,
    /// A delta has more changes than the caller allows; exit status 5.
    TooManyChanges,
    /// There is no file to send, and the caller asked for this status; exit status 4.
    Empty,
    /// No turn to make the archive came in time; exit status 6.
    Busy,
    /// The caller has the archive already; exit status 7, nothing is printed.
    NotModified,
    /// The archive ends before the range that is asked for; exit status 8.
    NotSatisfiable,
    /// The repository lacks something that the archive needs, and the caller asked what; exit status 9, nothing is
    /// printed.
    Missing,
    /// There is no such channel, or its archives do not lead to the commit that is asked for; exit status 9.
    NotThere,
    /// The place of published archives cannot be reached; exit status 10.
    Unreachable,
    /// A published archive, or the channel that lists it, is not as it was published; exit status 11.
    Damaged,
    /// The archive depends on more than the commit, and the caller asked for this status; exit status 12.
    Varies,
    /// The archive is over a limit of the configuration; exit status 13.
    OverLimit,
    /// A directory differs from the archives that were applied to it; exit status 1.
    DirectoryDiffers,
    /// An archive differs from a commit; exit status 1, nothing is printed.
    ArchiveDiffers,
    /// A stand-in for git is not used, and the caller asked; exit status 1, nothing is printed.
    NotUsed,
    /// The reader closed the pipe; the process ends by SIGPIPE and prints nothing.
    BrokenPipe,
}

/// A failure with its cause and a hint.
#[derive(Debug)]
pub struct Error {
    kind: ExitKind,
    message: BString,
    /// Lines that git prints before the last one, each with its label `error: ` or `hint: `.
    context: Vec<BString>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
    hint: Option<BString>,
}

impl Error {
    /// A failure that ends the run with status 128.
    pub fn fatal(message: impl Into<BString>) -> Self {
        Self::new(ExitKind::Fatal, message)
    }

    /// The tree-ish `name` is not the name of an object; status 128.
    pub fn unknown_name(name: &BStr) -> Self {
        let message = format_bytes("not a valid object name: {}", &[name]);
        Self::new(ExitKind::UnknownName, message)
    }

    /// An error of a pathspec that matches nothing.
    pub fn unmatched(pathspec: &[u8]) -> Self {
        let message = format_bytes("pathspec '{}' did not match any files", &[pathspec]);
        Self::new(ExitKind::Unmatched, message)
    }

    /// Arguments that make no sense, status 129.
    pub fn usage(message: impl Into<BString>) -> Self {
        Self::new(ExitKind::Usage, message)
    }

    /// A failure of the archive writer, status 255.
    pub fn entry(message: impl Into<BString>) -> Self {
        Self::new(ExitKind::Entry, message)
    }

    /// Makes this the failure of the base of a delta: status 3.
    pub fn without_base(self) -> Self {
        Self {
            kind: ExitKind::NoBase,
            ..self
        }
    }

    /// More than `limit` paths changed; status 5.
    pub fn too_many_changes(limit: u64) -> Self {
        let message = format!(
            "more than {} changed since the base",
            counted(limit, "path")
        );
        Self::new(ExitKind::TooManyChanges, message).hinted(FULL_ARCHIVE)
    }

    /// There is no file to send, and the caller asked for this status; status 4.
    pub fn empty() -> Self {
        Self::new(ExitKind::Empty, "there is no file to send")
    }

    /// No turn to make the archive came in time; status 6.
    pub fn busy() -> Self {
        Self::new(ExitKind::Busy, "too many archives are being made")
            .hinted("try again later: --cache-wait says how long to wait for a turn")
    }

    /// The caller has the archive already; status 7.
    pub fn not_modified() -> Self {
        Self::new(ExitKind::NotModified, "the archive is known")
    }

    /// No byte of an archive of `len` bytes is in the range that is asked for; status 8.
    pub fn not_satisfiable(len: u64) -> Self {
        let message = format!("the range starts after the end of the archive ({len} bytes)");
        Self::new(ExitKind::NotSatisfiable, message)
    }

    /// The list of what is missing is not empty; status 9.
    pub fn missing() -> Self {
        Self::new(ExitKind::Missing, "the repository lacks objects")
    }

    /// Nothing is published under the name that is asked for; status 9.
    pub fn not_there(message: impl Into<BString>) -> Self {
        Self::new(ExitKind::NotThere, message)
    }

    /// The place of published archives cannot be reached; status 10.
    pub fn unreachable(message: impl Into<BString>) -> Self {
        Self::new(ExitKind::Unreachable, message)
    }

    /// Something is not as it was published; status 11.
    pub fn damaged(message: impl Into<BString>) -> Self {
        Self::new(ExitKind::Damaged, message)
    }

    /// The archive would not be the same if the commit were archived again; status 12.
    pub fn varies(message: impl Into<BString>) -> Self {
        Self::new(ExitKind::Varies, message)
    }

    /// The archive is over a limit of the configuration; status 13.
    pub fn over_limit(message: impl Into<BString>) -> Self {
        Self::new(ExitKind::OverLimit, message)
    }

    /// `number` paths of the directory called `name` are not as in `commit`; status 1.
    pub fn directory_differs(number: usize, commit: &str, name: &[u8]) -> Self {
        let (differ, them) = match number {
            1 => ("path differs", "it"),
            _ => ("paths differ", "them"),
        };
        let message = format!("{number} {differ} from commit {commit}");
        let hint = format!("to restore {them}: git sluice apply --repair {{}} <full archive>");
        Self::new(ExitKind::DirectoryDiffers, message).hinted_command(&hint, &[name])
    }

    /// An archive differs from the commit that it is compared with; status 1.
    pub fn archive_differs() -> Self {
        Self::new(ExitKind::ArchiveDiffers, "the archive differs")
    }

    /// A stand-in for git is not used; status 1.
    pub fn not_used() -> Self {
        Self::new(ExitKind::NotUsed, "git-sluice is not used")
    }

    /// A failed write to the destination.
    pub fn write(source: &std::io::Error) -> Self {
        match source.kind() {
            std::io::ErrorKind::BrokenPipe => Self::new(ExitKind::BrokenPipe, "write error"),
            _ => Self::fatal(format!("write error: {}", strerror(source))),
        }
    }

    fn new(kind: ExitKind, message: impl Into<BString>) -> Self {
        Self {
            kind,
            message: message.into(),
            context: Vec::new(),
            source: None,
            hint: None,
        }
    }

    /// Add the cause.
    pub fn caused_by(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Add a hint for the user.
    pub fn hinted(mut self, hint: impl Into<BString>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Add a command as a hint, with `words` in place of each `{}` of it.
    pub fn hinted_command(self, command: &str, words: &[&[u8]]) -> Self {
        let words: Vec<_> = words.iter().map(|word| shell_word(word)).collect();
        let words: Vec<&[u8]> = words.iter().map(|word| &word[..]).collect();
        self.hinted(format_bytes(command, &words))
    }

    /// The hint for the user.
    pub fn hint(&self) -> Option<&BStr> {
        self.hint.as_ref().map(AsRef::as_ref)
    }

    /// Add a line that git prints before the failure, with its label.
    pub fn after(mut self, line: impl Into<BString>) -> Self {
        self.context.push(line.into());
        self
    }

    /// The failure as a cause of another one: its message and its causes.
    pub fn without_label(self) -> Box<dyn std::error::Error + Send + Sync> {
        let mut text = self.message.clone();
        let mut cause = std::error::Error::source(&self);
        while let Some(error) = cause {
            text.extend_from_slice(b": ");
            text.extend_from_slice(&ByteMessage::of(error).0);
            cause = error.source();
        }
        Box::new(ByteMessage(text))
    }

    /// What failed, without label, causes and hint.
    pub fn message(&self) -> &BStr {
        self.message.as_ref()
    }

    /// The lines for a terminal, as git writes them.
    pub fn lines(&self) -> Vec<u8> {
        let mut lines = Vec::new();
        for line in &self.context {
            push_line(&mut lines, "", line);
        }
        push_line(&mut lines, self.label(), &self.message);
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            push_line(&mut lines, "caused by: ", &ByteMessage::of(error).0);
            cause = error.source();
        }
        if let Some(hint) = &self.hint {
            push_line(&mut lines, "hint: ", hint);
        }
        lines
    }

    fn label(&self) -> &'static str {
        match self.kind {
            ExitKind::Usage | ExitKind::Entry => "error: ",
            _ => "fatal: ",
        }
    }

    /// Whether the archive is missing or incomplete.
    pub fn is_cut(&self) -> bool {
        !matches!(self.kind, ExitKind::Empty | ExitKind::NotModified)
    }

    /// Whether the exit status says all.
    pub fn is_silent(&self) -> bool {
        matches!(
            self.kind,
            ExitKind::NotModified
                | ExitKind::Missing
                | ExitKind::ArchiveDiffers
                | ExitKind::NotUsed
        )
    }

    /// The kind, which determines the exit status.
    pub fn kind(&self) -> ExitKind {
        self.kind
    }

    /// The exit status of the process, after git.
    pub fn exit_status(&self) -> u8 {
        match self.kind {
            ExitKind::Fatal
            | ExitKind::UnknownName
            | ExitKind::Unmatched
            | ExitKind::BrokenPipe => 128,
            ExitKind::Usage => 129,
            ExitKind::Entry => 255,
            ExitKind::NoBase => 3,
            ExitKind::Empty => 4,
            ExitKind::TooManyChanges => 5,
            ExitKind::Busy => 6,
            ExitKind::NotModified => 7,
            ExitKind::NotSatisfiable => 8,
            ExitKind::Missing | ExitKind::NotThere => 9,
            ExitKind::Unreachable => 10,
            ExitKind::Damaged => 11,
            ExitKind::Varies => 12,
            ExitKind::OverLimit => 13,
            ExitKind::DirectoryDiffers | ExitKind::ArchiveDiffers | ExitKind::NotUsed => 1,
        }
    }
}

impl fmt::Display for Error {
    /// Write several lines: git's own preface, the failure, its causes, the hint.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.context {
            writeln!(f, "{line}")?;
        }
        write!(f, "{}{}", self.label(), self.message)?;
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            write!(f, "\ncaused by: {error}")?;
            cause = error.source();
        }
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

/// A cause in words, which may contain a name of any bytes.
#[derive(Debug)]
pub struct ByteMessage(pub BString);

impl ByteMessage {
    fn of(cause: &(dyn std::error::Error + 'static)) -> Self {
        match cause.downcast_ref::<Self>() {
            Some(Self(text)) => Self(text.clone()),
            None => Self(cause.to_string().into()),
        }
    }
}

impl fmt::Display for ByteMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for ByteMessage {}

/// The text of an operating system error as in C's `strerror`, without Rust's error number.
pub fn strerror(error: &std::io::Error) -> String {
    #[cfg(target_env = "musl")]
    if let Some(text) = error.raw_os_error().and_then(glibc::text) {
        return text.to_owned();
    }
    let text = error.to_string();
    match text.split_once(" (os error ") {
        Some((text, _)) => text.to_owned(),
        None => text,
    }
}

/// `number` and its noun, which takes an `s` unless the number is 1.
pub fn counted(number: u64, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{ending}")
}

/// `template` with `values` in place of each `{}`. Values may be any bytes, so that a name is unchanged in
/// a message.
pub fn format_bytes(template: &str, values: &[&[u8]]) -> BString {
    let mut parts = template.split("{}");
    let mut text: BString = parts.next().unwrap_or_default().into();
    for (part, value) in parts.zip(values) {
        text.extend_from_slice(value);
        text.extend_from_slice(part.as_bytes());
    }
    text
}

/// `word` as one word of a shell.
pub fn shell_word(word: &[u8]) -> BString {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_./+,:@%^~=".contains(byte);
    if !word.is_empty() && word.iter().all(is_plain) {
        word.into()
    } else {
        format_bytes("'{}'", &[&word.replace("'", r"'\''")])
    }
}

/// Append a line of a message as git writes it: without characters that control a terminal, and truncated
/// to git's buffer.
pub fn push_line(out: &mut Vec<u8>, label: &str, message: &[u8]) {
    out.extend_from_slice(label.as_bytes());
    let room = MAX_LINE.saturating_sub(label.len());
    let printable = |&byte: &u8| match byte {
        b'\t' | b'\n' => byte,
        _ => printable(byte),
    };
    out.extend(message.iter().take(room).map(printable));
    out.push(b'\n');
}

/// A path for a line of a list: bytes that control a terminal become question marks, all others are
/// unchanged.
pub fn printable_path(path: &[u8]) -> BString {
    path.iter()
        .copied()
        .map(printable)
        .collect::<Vec<_>>()
        .into()
}

fn printable(byte: u8) -> u8 {
    if byte.is_ascii_control() { b'?' } else { byte }
}

/// A name for a message of git-sluice: control characters become question marks.
pub fn sanitised(name: &[u8]) -> String {
    let printable = |c: char| if c.is_control() { '?' } else { c };
    String::from_utf8_lossy(name)
        .chars()
        .map(printable)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Error, counted, format_bytes, printable_path, push_line, sanitised, strerror};

    #[test]
    fn errors_read_like_git() {
        let error = Error::fatal("failed to unpack tree object 4b825d")
            .after("error: invalid path '.git'")
            .hinted("look at it");
        assert_eq!(
            error.to_string(),
            "error: invalid path '.git'\nfatal: failed to unpack tree object 4b825d\nhint: look at it"
        );
        assert_eq!(error.exit_status(), 128);
    }

    #[test]
    fn one_has_no_plural() {
        let all = [0, 1, 2].map(|number| counted(number, "byte"));
        assert_eq!(all, ["0 bytes", "1 byte", "2 bytes"]);
    }

    #[test]
    fn paths_cannot_control_a_terminal() {
        assert_eq!(sanitised(b"a\x1b[2Jb\n\xff"), "a?[2Jb?\u{fffd}");
        assert_eq!(printable_path(b"a\x1b[2Jb\n\xff"), &b"a?[2Jb?\xff"[..]);
    }

    /// As in git, bytes that are no text are kept, and characters that control a terminal are replaced.
    #[test]
    fn lines_cannot_control_a_terminal() {
        let message = format_bytes(
            "pathspec '{}' did not match '{}'",
            &[b"a\xff\x1b[2J", b"\r\x7f\t\n{}"],
        );
        let error = Error::fatal(message)
            .after("error: \x07")
            .hinted("look\x08");
        assert_eq!(
            error.lines(),
            b"error: ?\nfatal: pathspec 'a\xff?[2J' did not match '??\t\n{}'\nhint: look?\n"
        );
        let cause = Error::fatal(format_bytes("no '{}'", &[b"\xfe"])).caused_by("it is lost");
        let error = Error::fatal("failed")
            .caused_by(cause.without_label())
            .hinted(format_bytes("look at {}", &[b"\xfd\x1b"]));
        assert_eq!(
            error.lines(),
            b"fatal: failed\ncaused by: no '\xfe': it is lost\nhint: look at \xfd?\n"
        );
        let mut line = Vec::new();
        push_line(&mut line, "fatal: ", &[b'x'; 5000]);
        assert_eq!(line.len(), 4096);
    }

    #[test]
    fn system_errors_carry_no_number() {
        let full = std::io::Error::from_raw_os_error(28);
        assert_eq!(strerror(&full), "No space left on device");
    }
}
