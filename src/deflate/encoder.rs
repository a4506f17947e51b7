//! Raw deflate streams of whole inputs.

use super::{dialect::Dialect, level::Level, serial::Serial, stored::Stored};

/// Deflates whole inputs, one after another, on the calling thread. What it needs is kept from one
/// to the next.
pub struct Encoder(Core);

/// Level 0 is another thing.
enum Core {
    Stored(Stored),
    Serial(Box<Serial>),
}

impl Core {
    fn new(level: Level, dialect: Dialect) -> Self {
        match Serial::new(level, dialect) {
            Some(serial) => Self::Serial(Box::new(serial)),
            None => Self::Stored(Stored::default()),
        }
    }
}

impl Encoder {
    /// For inputs of one level and one dialect.
    pub fn new(level: Level, dialect: Dialect) -> Self {
        Self(Core::new(level, dialect))
    }

    /// Append `input` to `out` as a raw deflate stream.
    pub fn compress(&mut self, input: &[u8], out: &mut Vec<u8>) {
        match &mut self.0 {
            Core::Stored(stored) => {
                stored.write(input, out);
                stored.finish(out);
            }
            Core::Serial(serial) => {
                serial.begin();
                serial.finish(input, 0);
                out.extend(serial.bits.drain());
            }
        }
    }
}
