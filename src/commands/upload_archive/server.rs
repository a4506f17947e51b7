//! The server's half of git-upload-archive(1): agree at once, read what is asked for, start the
//! writer, and send on what it writes and says.
//!
//! Every failure after the agreement goes to the client, and the stream never ends well unless the
//! writer did.

use std::{
    convert::identity,
    ffi::OsString,
    io::{ErrorKind, Read, Result as IoResult, Write},
    os::unix::ffi::OsStringExt,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
};

use gix_packetline::blocking_io::encode;

use super::side_band::{SMALL_PACKET, SideBand};
use sluice_base::{
    error::{Error, Result, strerror},
    io::each_piece,
};
use sluice_git::{
    environment::Environment,
    pkt_line::{ReadError, read_line},
    repository::served,
};

/// What to say to whom does not know how to call a server.
const USAGE: &str = "usage: git sluice upload-archive <repository>";
const DIED: &str = "git upload-archive: archiver died with error";
/// What each packet of a client begins with.
const TOKEN: &[u8] = b"argument ";
/// More arguments than this are not taken.
const MAX_ARGUMENTS: usize = 64;
/// As much as is sent on at once.
const PIECE: usize = 1 << 16;

/// Serve one client that speaks on `input` and listens on `output`. `words` are the arguments, to be
/// the path of a repository; `writer` is the command to make the archive with, in the directory that
/// the path leads to, with the client's arguments after its own.
pub fn upload_archive(
    input: &mut dyn Read,
    mut output: impl Write + Send,
    words: &[OsString],
    environment: &Environment,
    writer: Command,
) -> Result<()> {
    let lost = |error| Error::write(&error);
    agree(&mut output).map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => lost(error),
        _ => Error::fatal(format!(
            "packet write with format failed: {}",
            strerror(&error)
        )),
    })?;
    let bands = SideBand::new(output, SMALL_PACKET);
    match start(input, words, environment, writer) {
        Ok(writer) => {
            if forward(writer, &bands).map_err(lost)? {
                return bands.finish().map_err(lost);
            }
            bands.fail(DIED).map_err(lost)?;
        }
        Err(message) => {
            let line = format!("{message}\n");
            let written = bands.messages().write_all(line.as_bytes());
            written.and_then(|()| bands.fail(DIED)).map_err(lost)?;
            // A client that still speaks would die of our silence before the answer is heard.
            while let Ok(Some(_)) = read_line(input) {}
        }
    }
    Err(Error::fatal(format!("sent error to the client: {DIED}")))
}

fn agree(output: &mut dyn Write) -> IoResult<()> {
    encode::text_to_write(b"ACK", &mut *output)?;
    encode::flush_to_write(&mut *output)?;
    output.flush()
}

/// The writer under way, or what to tell the client.
fn start(
    input: &mut dyn Read,
    words: &[OsString],
    environment: &Environment,
    writer: Command,
) -> Result<Child, String> {
    let [path] = words else {
        return Err(USAGE.to_owned());
    };
    let start = || {
        let git_dir = served::git_dir(path, environment)?;
        spawn(writer, &git_dir, read_arguments(input)?)
    };
    start().map_err(|error| error.to_string())
}

/// What the client asks for, up to the packet that ends it.
fn read_arguments(input: &mut dyn Read) -> Result<Vec<OsString>> {
    let mut arguments = Vec::new();
    while let Some(line) = read_line(input).map_err(unreadable)? {
        if arguments.len() == MAX_ARGUMENTS {
            let most = MAX_ARGUMENTS - 1;
            return Err(Error::fatal(format!("Too many options (>{most})")));
        }
        let argument = line
            .strip_prefix(TOKEN)
            .ok_or_else(|| Error::fatal("'argument' token or flush expected"))?;
        // No argument of a process has a NUL.
        let end = argument.iter().position(|&byte| byte == 0);
        let argument = &argument[..end.unwrap_or(argument.len())];
        arguments.push(OsString::from_vec(argument.to_vec()));
    }
    Ok(arguments)
}

fn unreadable(error: ReadError) -> Error {
    error.explain("the remote end hung up unexpectedly", "read error")
}

/// As for git, the git directory is where the writer is and what the environment names: what lies around
/// it is not served.
fn spawn(mut writer: Command, git_dir: &Path, arguments: Vec<OsString>) -> Result<Child> {
    writer
        .args(arguments)
        .current_dir(git_dir)
        .env("GIT_DIR", ".")
        .env("GIT_IMPLICIT_WORK_TREE", "0")
        .env_remove("GIT_WORK_TREE")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    writer.spawn().map_err(|error| {
        let why = strerror(&error);
        Error::fatal(format!("unable to spawn subprocess: {why}"))
    })
}

/// Send on what the writer writes and says. True if it ended well; an error if the client has left.
fn forward<W: Write + Send>(mut writer: Child, bands: &SideBand<W>) -> IoResult<bool> {
    let (data, messages) = (writer.stdout.take(), writer.stderr.take());
    let sent = thread::scope(|scope| {
        let speak = move || send(messages, bands.messages());
        let speaker = thread::Builder::new().spawn_scoped(scope, speak);
        let data = send(data, bands.data());
        // It only reads and writes, and a panic would be a message lost.
        data.and(speaker?.join().unwrap_or(Ok(())))
    });
    let status = writer.wait();
    sent?;
    Ok(status?.success())
}

/// Send on `source` to its end; its writer is cut off if the client is.
fn send(source: Option<impl Read>, mut band: impl Write) -> IoResult<()> {
    let Some(source) = source else {
        return Ok(());
    };
    let write = |piece: &[u8]| band.write_all(piece);
    each_piece(source, &mut vec![0; PIECE], identity, write)
}

#[cfg(test)]
mod tests {
    use gix_packetline::blocking_io::encode;

    use super::{MAX_ARGUMENTS, read_arguments};

    fn conversation(lines: &[&[u8]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for line in lines {
            encode::data_to_write(line, &mut bytes).expect("memory");
        }
        encode::flush_to_write(&mut bytes).expect("memory");
        bytes
    }

    #[test]
    fn arguments_are_taken_as_they_come() {
        let lines: [&[u8]; 4] = [
            b"argument --prefix=a\nb\n",
            b"argument HEAD",
            b"argument \n",
            b"argument cut\0off\n",
        ];
        let arguments = read_arguments(&mut conversation(&lines).as_slice());
        assert_eq!(
            arguments.expect("well-formed"),
            ["--prefix=a\nb", "HEAD", "", "cut"]
        );
    }

    #[test]
    fn what_is_no_argument_is_refused() {
        let failure = |lines: &[&[u8]]| {
            let refused = read_arguments(&mut conversation(lines).as_slice());
            refused.expect_err("malformed").to_string()
        };
        assert_eq!(
            failure(&[b"argument a", b"want b"]),
            "fatal: 'argument' token or flush expected"
        );
        let many = [&b"argument a"[..]; MAX_ARGUMENTS + 1];
        assert_eq!(failure(&many), "fatal: Too many options (>63)");
        let most = conversation(&many[1..]);
        let taken = read_arguments(&mut most.as_slice()).map(|taken| taken.len());
        assert_eq!(taken.ok(), Some(MAX_ARGUMENTS));
    }
}
