//! The manual pages, made from the definitions of the commands.

use std::io::{self, Write};

use clap_mangen::{
    Man,
    roff::{Roff, bold, roman},
};

use super::{
    commands::CommandName::{self, Archive},
    content::LEVEL,
    groups::TEXTS,
    help::{description, grouped},
    names::{DOCUMENTATION, PROGRAM},
    pages::rows,
    statuses::{all_exit_statuses, exit_statuses},
};

/// The levels of compression.
const LEVELS: &str = "<number> sets the compression level: 0 to 9 for a tar.gz or a zip, 1 to 19 for a tar.zst. A higher \
                      level takes more time and writes fewer bytes.";

/// The manual page of `command`; that of the program for an archive.
pub fn manual(command: CommandName) -> String {
    let mut text = Vec::new();
    // Nothing can fail in memory.
    drop(write_page(command, &mut text));
    String::from_utf8_lossy(&text).into_owned()
}

/// The name of the page about `command`.
fn page_name(command: CommandName) -> String {
    match command {
        Archive => PROGRAM.to_owned(),
        _ => format!("{PROGRAM}-{}", command.as_str()),
    }
}

fn write_page(command: CommandName, out: &mut dyn Write) -> io::Result<()> {
    let name = page_name(command);
    let definition = grouped(command).name(name.clone());
    let manual = Man::new(definition)
        .title(name.to_uppercase())
        .section("1")
        .manual(PROGRAM);
    manual.render_title(out)?;
    manual.render_name_section(out)?;
    manual.render_synopsis_section(out)?;
    paragraphs(command).to_writer(out)?;
    if command == Archive {
        commands().to_writer(out)?;
    }
    manual.render_options_section(out)?;
    rest(command).to_writer(out)
}

/// The paragraphs that follow the line of the name.
fn paragraphs(command: CommandName) -> Roff {
    let mut section = Roff::new();
    section.control("SH", ["DESCRIPTION"]);
    for paragraph in description(&command.definition()).split("\n\n") {
        section
            .control("PP", [])
            .text([roman(paragraph.replace('\n', " "))]);
    }
    section
}

fn commands() -> Roff {
    let mut section = Roff::new();
    section.control("SH", ["COMMANDS"]);
    for (title, commands) in CommandName::groups() {
        section.control("SS", [title]);
        for command in commands {
            item(
                &mut section,
                command.as_str(),
                &format!("{}.", command.about()),
            );
        }
    }
    section
}

fn rest(command: CommandName) -> Roff {
    let mut rest = Roff::new();
    if takes_level(command) {
        rest.control("SH", ["COMPRESSION LEVEL"]);
        rest.text([bold("-"), roman(LEVELS)]);
    }
    for title in ["CONFIGURATION", "ENVIRONMENT", "FILES"] {
        section(&mut rest, title, rows(title, command));
    }
    let statuses = match command {
        Archive => all_exit_statuses(),
        _ => exit_statuses(command),
    };
    let statuses: Vec<_> = statuses
        .into_iter()
        .map(|(status, meaning)| (status.to_string(), meaning))
        .collect();
    let statuses = statuses.iter();
    let statuses = statuses.map(|(status, meaning)| (&status[..], &meaning[..]));
    section(&mut rest, "EXIT STATUS", statuses);
    section(&mut rest, "EXAMPLES", rows("EXAMPLES", command));
    rest.control("SH", ["DOCUMENTATION"]);
    // An address and the names of pages stay as they are: no line is filled, and no word divided.
    rest.control("nf", []);
    rest.text([roman(format!("{DOCUMENTATION}{}", command.page()))]);
    rest.control("fi", []).control("nh", []);
    see_also(&mut rest, command);
    rest
}

/// The names of other pages: of all commands in the page of the program, otherwise of the commands in the same group.
fn see_also(page: &mut Roff, command: CommandName) {
    page.control("SH", ["SEE ALSO"]);
    let groups = CommandName::groups().filter(|(title, commands)| match command {
        Archive => *title != TEXTS,
        _ => commands.contains(&command),
    });
    let related = groups.flat_map(|(_, commands)| commands);
    let program = std::iter::once(Archive);
    let others = program.chain(related.filter(|other| *other != Archive));
    for other in others.filter(|other| *other != command) {
        page.text([bold(page_name(other)), roman("(1),")]);
    }
    page.text([
        bold("git-archive"),
        roman("(1), "),
        bold("tar"),
        roman("(1)"),
    ]);
}

/// Whether `command` compresses.
fn takes_level(command: CommandName) -> bool {
    let definition = command.definition();
    let mut options = definition.get_arguments();
    options.any(|option| option.get_long() == Some(LEVEL))
}

/// A section, unless it has no items.
fn section<'a>(page: &mut Roff, title: &str, items: impl IntoIterator<Item = (&'a str, &'a str)>) {
    let mut items = items.into_iter().peekable();
    if items.peek().is_some() {
        page.control("SH", [title]);
    }
    items.for_each(|(term, text)| item(page, term, text));
}

fn item(page: &mut Roff, term: &str, text: &str) {
    page.control("TP", [])
        .text([bold(term)])
        .text([roman(text)]);
}
