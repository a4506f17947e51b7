//! Blocks of `console`: commands after a prompt, each with its output as a terminal shows it.
//!
//! A command starts after `$ ` and continues in the lines after `> `. In its output, `…` stands for text that differs from run
//! to run, such as a hash or a time. A line that is only `…` stands for any number of lines.

use std::fmt::Write;

/// Ends the output of a command, and then its exit status.
const END: char = '\x1e';

/// A command, and the output that the page shows.
pub(super) struct Step {
    command: String,
    shown: String,
}

/// The commands of a block, in order.
pub(super) fn steps(block: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in block.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            let (command, shown) = (command.to_owned(), String::new());
            steps.push(Step { command, shown });
            continue;
        }
        let step = steps.last_mut().expect("a prompt is the first line");
        match line.strip_prefix("> ").filter(|_| step.shown.is_empty()) {
            Some(more) => step.command = format!("{}\n{more}", step.command),
            None => writeln!(step.shown, "{line}").expect("in memory"),
        }
    }
    steps
}

/// A script that runs all commands. It prints the output of each, then its exit status, then the last directory.
pub(super) fn script(steps: &[Step]) -> String {
    let mut script = "exec 2>&1\n".to_owned();
    for step in steps {
        script += &step.command;
        script += "\nprintf '\\x1e%s\\x1e' $?\n";
    }
    script + "pwd\n"
}

/// The block as it should be, if `printed` is what its script printed, and the last directory.
pub(super) fn transcript<'a>(steps: &[Step], printed: &'a str) -> (String, &'a str) {
    let mut block = String::new();
    let mut parts = printed.split(END);
    for step in steps {
        let (output, status) = (parts.next(), parts.next());
        let output = output.unwrap_or_default();
        assert_eq!(status, Some("0"), "$ {}\n{output}", step.command);
        let command = step.command.replace('\n', "\n> ");
        let shown = if is_shown(&step.shown, output) {
            &step.shown
        } else {
            output
        };
        write!(block, "$ {command}\n{shown}").expect("in memory");
        if !shown.is_empty() && !shown.ends_with('\n') {
            block.push('\n');
        }
    }
    let directory = parts.next().unwrap_or_default();
    (block.trim_end().to_owned(), directory.trim_end())
}

/// Whether `output` is what the page shows.
fn is_shown(shown: &str, output: &str) -> bool {
    let (shown, output): (Vec<_>, Vec<_>) = (shown.lines().collect(), output.lines().collect());
    are_lines(&shown, &output)
}

fn are_lines(shown: &[&str], output: &[&str]) -> bool {
    match shown.split_first() {
        None => output.is_empty(),
        Some((&"…", rest)) => {
            (0..=output.len()).any(|skipped| are_lines(rest, &output[skipped..]))
        }
        Some((first, rest)) => match output.split_first() {
            Some((line, lines)) => is_line(first, line) && are_lines(rest, lines),
            None => false,
        },
    }
}

fn is_line(shown: &str, line: &str) -> bool {
    let Some((start, rest)) = shown.split_once('…') else {
        return shown == line;
    };
    let Some(line) = line.strip_prefix(start) else {
        return false;
    };
    let mut ends = line.char_indices().map(|(at, _)| at).chain([line.len()]);
    ends.any(|at| is_line(rest, &line[at..]))
}

#[test]
fn a_block_is_read_and_compared() {
    let steps = steps("$ echo a\\\n> b\na…\n$ true\n$ seq 9\n1\n…\n9");
    let commands: Vec<_> = steps.iter().map(|step| step.command.as_str()).collect();
    assert_eq!(commands, ["echo a\\\nb", "true", "seq 9"]);
    let printed = "ab\n\x1e0\x1e\x1e0\x1e1\n2\n9\n\x1e0\x1e/tmp\n";
    let same = "$ echo a\\\n> b\na…\n$ true\n$ seq 9\n1\n…\n9";
    assert_eq!(transcript(&steps, printed), (same.to_owned(), "/tmp"));
    let printed = "b\n\x1e0\x1e\x1e0\x1e1\n2\n8\n\x1e0\x1e/\n";
    let other = "$ echo a\\\n> b\nb\n$ true\n$ seq 9\n1\n2\n8";
    assert_eq!(transcript(&steps, printed), (other.to_owned(), "/"));
}
