//! What the user hears of an application: its progress.

use std::{
    cell::Cell,
    io::{self, Read},
    rc::Rc,
};

use sluice_base::progress::{Console, Done, Meter, Total};

/// Counts the bytes that are read from an archive, before decompression.
#[derive(Clone, Default)]
pub(super) struct Count(Rc<Cell<u64>>);

impl Count {
    /// The bytes so far.
    pub(super) fn bytes(&self) -> u64 {
        self.0.get()
    }

    /// A reader of `archive` whose bytes are counted.
    pub(super) fn of<R: Read>(&self, archive: R) -> impl Read + use<R> {
        Counted {
            archive,
            count: self.clone(),
        }
    }
}

struct Counted<R> {
    archive: R,
    count: Count,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let len = self.archive.read(into)?;
        self.count.0.set(self.count.0.get() + len as u64);
        Ok(len)
    }
}

/// One pass through an archive.
pub(super) struct ApplyProgress<'a> {
    console: Console<'a>,
    meter: Meter,
    read: Count,
    entries: u64,
}

impl<'a> ApplyProgress<'a> {
    /// A pass called `verb` through an archive of `len` bytes, of which `read` are read.
    pub(super) fn new(
        console: Console<'a>,
        verb: &'static str,
        len: Option<u64>,
        read: Count,
    ) -> Self {
        let mut progress = Self {
            console,
            meter: Meter::new(verb, len.map_or(Total::Unknown, Total::Bytes)),
            read,
            entries: 0,
        };
        // The clock starts.
        progress.update();
        progress
    }

    /// Another entry comes.
    pub(super) fn entry(&mut self) {
        self.entries += 1;
        self.update();
    }

    /// More of the entry is there.
    pub(super) fn update(&mut self) {
        let done = self.done();
        self.console.update(&mut self.meter, done);
    }

    /// The pass is complete.
    pub(super) fn finish(mut self) {
        let done = self.done();
        self.console.finish(&mut self.meter, done);
    }

    fn done(&self) -> Done {
        Done {
            bytes: self.read.bytes(),
            entries: Some(self.entries),
        }
    }
}
