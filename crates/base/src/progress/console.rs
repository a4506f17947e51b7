//! Messages to the user, and the line of progress below them. The two must not mix: a message clears the line first.

use std::{
    fs::File,
    io::{self, ErrorKind, Write},
};

use super::meter::{Done, Meter};

/// What is known of the place that messages go to.
#[derive(Clone, Copy)]
pub struct Terminal {
    /// Whether messages go to a terminal.
    pub is_terminal: bool,
    /// The columns of the terminal; `None` if messages go elsewhere.
    pub columns: fn() -> Option<usize>,
    /// Takes the terminal for a line, until the file is closed. Fails with [`ErrorKind::WouldBlock`] while a line of
    /// another process is there.
    pub claim: fn() -> io::Result<File>,
}

impl Terminal {
    /// No terminal.
    pub const NONE: Self = Self {
        is_terminal: false,
        columns: || None,
        claim: || Err(ErrorKind::Unsupported.into()),
    };
}

/// Takes messages to the user, and draws a line below them. A line that is there at the end stays.
pub struct Console<'a> {
    messages: &'a mut (dyn Write + Send + 'static),
    /// Where lines are drawn; `None` if no progress is shown.
    screen: Option<Terminal>,
    drawn: Option<Drawn>,
}

/// The line that is on the screen.
struct Drawn {
    width: usize,
    /// Keeps the lines of other processes away.
    _claim: Option<File>,
}

impl<'a> Console<'a> {
    /// Draws lines between `messages` if there is a `screen`.
    pub fn new(messages: &'a mut (dyn Write + Send + 'static), screen: Option<Terminal>) -> Self {
        Self {
            messages,
            screen,
            drawn: None,
        }
    }

    /// Lends the console to a part of the run.
    pub fn reborrow(&mut self) -> Console<'_> {
        self.clear();
        Console::new(self.messages, self.screen)
    }

    /// Shows what of the task of `meter` is done, if an update is due.
    pub fn update(&mut self, meter: &mut Meter, done: Done) {
        if let Some(screen) = self.screen
            && let Some(fields) = meter.update(done)
            && self.draw(screen, &fields, "")
        {
            meter.is_shown = true;
        }
    }

    /// Leaves the final state of the task of `meter` on the screen, if any state was shown. Later calls do nothing.
    pub fn finish(&mut self, meter: &mut Meter, done: Done) {
        if let Some(screen) = self.screen
            && meter.is_shown
        {
            self.draw(screen, &meter.finish(done), "\n");
            self.drawn = None;
            meter.is_shown = false;
        }
    }

    /// Draws a line, unless another process draws.
    fn draw(&mut self, screen: Terminal, fields: &[String], end: &str) -> bool {
        let (width, claim) = match self.drawn.take() {
            Some(Drawn { width, _claim }) => (width, _claim),
            None => match (screen.claim)() {
                Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
                claim => (0, claim.ok()),
            },
        };
        // In the last column, some terminals begin a new line.
        let most = (screen.columns)().map_or(usize::MAX, |columns| columns.saturating_sub(1));
        let line = super::line::fitted(fields, most);
        // A longer line before is overwritten.
        let padded = format!("\r{line:<width$}{end}", width = width.min(most));
        self.drawn = Some(Drawn {
            width: line.len(),
            _claim: claim,
        });
        self.put(&padded);
        true
    }

    /// Makes room for something else.
    fn clear(&mut self) {
        if let Some(Drawn { width, .. }) = self.drawn.take() {
            self.put(&format!("\r{:width$}\r", ""));
        }
    }

    /// Writes to the screen. A failure is ignored.
    fn put(&mut self, text: &str) {
        let _ = self
            .messages
            .write_all(text.as_bytes())
            .and_then(|()| self.messages.flush());
    }
}

impl Write for Console<'_> {
    fn write(&mut self, message: &[u8]) -> io::Result<usize> {
        self.clear();
        self.messages.write(message)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.messages.flush()
    }
}

impl Drop for Console<'_> {
    /// What follows, such as an error, begins on a line of its own.
    fn drop(&mut self) {
        if self.drawn.take().is_some() {
            self.put("\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{ErrorKind, Write},
        thread,
        time::Duration,
    };

    use super::{
        super::{Done, Meter, Total},
        Console, Terminal,
    };

    const ALONE: Terminal = Terminal {
        columns: || Some(30),
        ..Terminal::NONE
    };

    fn done(bytes: u64) -> Done {
        Done {
            bytes,
            entries: None,
        }
    }

    /// A meter whose first line is due.
    fn due(console: &mut Console<'_>) -> Meter {
        let mut meter = Meter::new("Trying", Total::Bytes(4 << 20));
        console.update(&mut meter, done(0));
        thread::sleep(Duration::from_millis(550));
        meter
    }

    /// What is on the screen after `run`.
    fn screen(screen: Option<Terminal>, run: impl FnOnce(&mut Console<'_>)) -> String {
        let mut written = Vec::new();
        run(&mut Console::new(&mut written, screen));
        String::from_utf8(written).expect("text")
    }

    #[test]
    fn short_runs_and_runs_without_a_screen_show_nothing() {
        let short = screen(Some(ALONE), |console| {
            let mut meter = Meter::new("Trying", Total::Bytes(2));
            console.update(&mut meter, done(1));
            console.finish(&mut meter, done(2));
        });
        assert_eq!(short, "");
        let unseen = screen(None, |console| {
            let mut meter = due(console);
            console.update(&mut meter, done(1));
            console.finish(&mut meter, done(2));
        });
        assert_eq!(unseen, "");
    }

    #[test]
    fn a_line_fits_the_terminal_and_gives_way_to_messages() {
        let shown = screen(Some(ALONE), |console| {
            let mut meter = due(console);
            console.update(&mut meter, done(1 << 20));
            console.write_all(b"warning: this\n").expect("memory");
            console.finish(&mut meter, done(4 << 20));
        });
        let lines: Vec<_> = shown.split(['\r', '\n']).collect();
        let ["", line, blank, warning, "", last, ""] = lines[..] else {
            panic!("{shown:?}");
        };
        assert_eq!(line, "Trying: 25 %, 1.0 of 4.0 MiB");
        assert_eq!(blank, " ".repeat(line.len()));
        assert_eq!(warning, "warning: this");
        assert!(last.starts_with("Trying: 4.0 MiB, "), "{last}");
        assert!(last.len() < 30, "{shown:?}");
    }

    #[test]
    fn a_line_that_is_not_finished_is_ended() {
        let shown = screen(Some(ALONE), |console| {
            let mut meter = due(console);
            console.update(&mut meter, done(1 << 20));
        });
        assert_eq!(shown, "\rTrying: 25 %, 1.0 of 4.0 MiB\n");
    }

    #[test]
    fn two_processes_do_not_draw_at_once() {
        let taken = Terminal {
            claim: || Err(ErrorKind::WouldBlock.into()),
            ..ALONE
        };
        let shown = screen(Some(taken), |console| {
            let mut meter = due(console);
            console.update(&mut meter, done(1));
            console.finish(&mut meter, done(2));
        });
        assert_eq!(shown, "");
    }
}
