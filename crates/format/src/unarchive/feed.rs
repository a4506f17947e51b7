//! A pipe between two threads of this process: one writes, the other reads. It holds a few pieces, so that both can work at
//! once in bounded memory.

use std::io::{self, Cursor, Read, Write};

use crossbeam_channel::{Receiver, Sender, bounded};

/// The bytes of a piece, about.
const PIECE: usize = 256 << 10;
/// The pieces that wait at most.
const WAITING: usize = 4;

/// What passes from one thread to the other.
type Piece = io::Result<Vec<u8>>;

/// The end that writes.
pub struct Feeder {
    pieces: Sender<Piece>,
    piece: Vec<u8>,
}

/// The end that reads. The writer fails when this end is dropped.
pub struct Feed {
    pieces: Receiver<Piece>,
    piece: Cursor<Vec<u8>>,
}

/// Both ends of a new pipe.
pub fn feed() -> (Feeder, Feed) {
    let (sender, receiver) = bounded(WAITING);
    let feeder = Feeder {
        pieces: sender,
        piece: Vec::new(),
    };
    let feed = Feed {
        pieces: receiver,
        piece: Cursor::default(),
    };
    (feeder, feed)
}

impl Feeder {
    /// Copies `input` to its end on another thread, whose failure the reader gets.
    pub fn copy(mut self, mut input: impl Read + Send + 'static) -> io::Result<()> {
        let copy = move || {
            let copied = io::copy(&mut input, &mut self).and_then(|_| self.flush());
            if let Err(error) = copied {
                let _ = self.pieces.send(Err(error));
            }
        };
        std::thread::Builder::new().spawn(copy).map(drop)
    }
}

impl Write for Feeder {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.piece.len() + bytes.len() > PIECE {
            self.flush()?;
        }
        let len = bytes.len().min(PIECE);
        self.piece.reserve(PIECE);
        self.piece.extend_from_slice(&bytes[..len]);
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        let piece = std::mem::take(&mut self.piece);
        if piece.is_empty() {
            return Ok(());
        }
        let sent = self.pieces.send(Ok(piece));
        sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl Read for Feed {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.piece.read(out)?;
            if read > 0 || out.is_empty() {
                return Ok(read);
            }
            match self.pieces.recv() {
                Ok(piece) => self.piece = Cursor::new(piece?),
                Err(_) => return Ok(0),
            }
        }
    }
}
