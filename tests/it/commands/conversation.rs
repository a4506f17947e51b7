//! The protocol of git-upload-archive, spoken by hand: whatever a client sends, the answer is git's.

use crate::commands::remote::DIED;
use crate::support::process::{Output, Running, run_with_input};
use crate::support::{Repo, binary};

/// As much as git says at once.
const SHOWN: usize = 4000;

/// What a server answers, taken apart.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Answer {
    agreed: bool,
    pub(super) data: Vec<u8>,
    messages: String,
    error: String,
    ended: bool,
    stderr: String,
    code: i32,
}

impl Answer {
    #[track_caller]
    pub(super) fn read(output: &Output) -> Answer {
        let mut answer = Answer {
            code: output.code(),
            stderr: output.messages(),
            ..Answer::default()
        };
        let agreement = b"0008ACK\n0000";
        let Some(mut rest) = output.stdout.strip_prefix(agreement) else {
            return answer;
        };
        answer.agreed = true;
        while !rest.is_empty() {
            assert!(!answer.ended, "something follows the end\n{output}");
            let digits = str::from_utf8(&rest[..4]).expect("digits");
            let length = usize::from_str_radix(digits, 16).expect("digits");
            if length == 0 {
                answer.ended = true;
                rest = &rest[4..];
                continue;
            }
            assert!((6..=5 + 16384).contains(&length), "{length}\n{output}");
            let (packet, behind) = rest.split_at(length);
            let text = || String::from_utf8_lossy(&packet[5..]);
            match packet[4] {
                1 => answer.data.extend(&packet[5..]),
                2 => answer.messages += &text(),
                3 => answer.error += &text(),
                band => panic!("band {band}\n{output}"),
            }
            rest = behind;
        }
        answer
    }
}

/// Our answer to `input`, which is git's as well.
#[track_caller]
fn talk(words: &[&str], input: &[u8]) -> Answer {
    let repo = Repo::from("basic");
    let mut ours = repo.command(binary());
    let ours = run_with_input(ours.arg("upload-archive").args(words), input);
    let mut theirs = repo.command("git");
    let theirs = run_with_input(theirs.arg("upload-archive").args(words), input);
    let (mut ours, mut theirs) = (Answer::read(&ours), Answer::read(&theirs));
    // git cuts its last words off.
    ours.messages.truncate(SHOWN);
    theirs.messages.truncate(SHOWN);
    if theirs.messages.starts_with("usage: ") {
        // The words of a usage are our own.
        assert!(!ours.messages.is_empty());
        ours.messages.clear();
        theirs.messages.clear();
    }
    assert_eq!(ours, theirs);
    ours
}

pub(super) fn packets(lines: &[&[u8]]) -> Vec<u8> {
    let packet = |line: &&[u8]| [format!("{:04x}", line.len() + 4).as_bytes(), line].concat();
    lines.iter().flat_map(packet).collect()
}

#[test]
fn conversations_that_go_well() {
    let expected = Repo::from("basic").archive(["HEAD"]).success();
    for (line, end) in [
        (&b"argument HEAD\n"[..], "0000"),
        (b"argument HEAD", "0000"),
        (b"argument HEAD\0nobody sees this\n", "0000"),
        (b"argument HEAD\n", "0001"),
        (b"argument HEAD\n", "0002"),
        (b"argument HEAD\n", "0004"),
        (b"argument HEAD\n", "0005\n"),
        (b"argument HEAD\n", "0000and more"),
    ] {
        let answer = talk(&["."], &[&packets(&[line]), end.as_bytes()].concat());
        assert!(answer.data == expected && answer.code == 0 && answer.ended);
        assert_eq!((answer.messages.as_str(), answer.error.as_str()), ("", ""));
    }
    let newline = packets(&[b"argument --prefix=a\nb/\n", b"argument HEAD\n"]);
    assert_eq!(talk(&["."], &[&newline[..], b"0000"].concat()).code, 0);
}

#[test]
fn conversations_that_make_no_sense() {
    let long = [&b"argument "[..], &[b'a'; 65510]].concat();
    let longest = [&packets(&[&long])[..], b"0000"].concat();
    let many = [&packets(&[&b"argument HEAD"[..]; 65])[..], b"0000"].concat();
    let wrong_token = [&packets(&[b"argument HEAD", b"Argument x"])[..], b"0000"].concat();
    let cut_off = packets(&[b"argument HEAD\n"]);
    for input in [
        &b""[..],
        b"0",
        b"zzzz",
        b"ERR no",
        b"+00f",
        b" 00f",
        b"-001",
        b"0003",
        b"0005",
        b"0010argu",
        b"fff3argument ",
        b"fff4argument ",
        b"ffffargument ",
        b"0000",
        b"0008argu",
        b"000dargument 0000",
        &long,
        &longest,
        &many,
        &wrong_token,
        &cut_off,
        &cut_off[..9],
    ] {
        let answer = talk(&["."], input);
        assert_eq!(answer.code, 128, "{}", input.escape_ascii());
        assert!(answer.agreed && !answer.ended && answer.data.is_empty());
        assert_eq!(answer.error, DIED);
        assert_eq!(
            answer.stderr,
            format!("fatal: sent error to the client: {DIED}\n")
        );
    }
}

/// A repository that is not there is noticed before anything is read.
#[test]
fn arguments_of_the_server() {
    let request = [&packets(&[b"argument HEAD\n"])[..], b"0000"].concat();
    for words in [&[][..], &[".", "."], &["nosuch"], &["file.txt"], &["-x"]] {
        for input in [&request[..], b"", b"zzzz"] {
            assert_eq!(talk(words, input).code, 128);
        }
    }
    let help = Repo::scratch().sluice(["upload-archive", "-h"]).success();
    assert!(
        String::from_utf8_lossy(&help)
            .contains("\nUsage: git sluice upload-archive <repository>\n")
    );
}

#[test]
fn a_client_that_goes_away() {
    let request = [&packets(&[b"argument HEAD\n"])[..], b"0000"].concat();
    let mut server = Repo::from("big").command(binary());
    server.args(["upload-archive", "."]);
    let server = Running::start_between(request, &mut server, std::process::Stdio::piped());
    assert_eq!(server.hang_up().code(), 141);
}
