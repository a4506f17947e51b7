//! Raw deflate streams of whole inputs.

use super::{dialect::Dialect, level::Level, serial::Serial, stored::StoredEncoder};

/// Deflates whole inputs, one after another, on the calling thread. The memory is kept from one input to the next.
pub struct Encoder(Core);

/// Level 0 stores the input and needs no parser.
enum Core {
    Stored(StoredEncoder),
    Serial(Box<Serial>),
}

impl Core {
    fn new(level: Level, dialect: Dialect) -> Self {
        match Serial::new(level, dialect) {
            Some(serial) => Self::Serial(Box::new(serial)),
            None => Self::Stored(StoredEncoder::default()),
        }
    }
}

impl Encoder {
    /// Makes an encoder for one level and one dialect.
    pub fn new(level: Level, dialect: Dialect) -> Self {
        Self(Core::new(level, dialect))
    }

    /// Appends `input` to `out` as a raw deflate stream.
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
