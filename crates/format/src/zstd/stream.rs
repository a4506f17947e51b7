//! A stream of frames, compressed by several threads and written in order.
//!
//! The calling thread takes the input and writes the frames. The thread waits when too many frames are under way, so
//! memory is bounded: three frames for every two threads.

use std::{
    collections::VecDeque,
    io::{self, Write},
    mem,
};

use super::{
    frame::{Frame, FrameEncoder, frame_buffer},
    parameters::{FRAME, Level},
    seek_table::SeekTable,
};
use sluice_deflate::threads::{FreeList, Pool, Promise};

/// Compresses all bytes written to it.
///
/// The last byte of a frame is written together with the next frame or with the seek table. So a stream that is never
/// [finished](Zstd::finish) ends inside a frame, and every reader reports an error.
pub struct Zstd<W> {
    inner: W,
    level: Level,
    pool: Pool,
    encoders: FreeList<FrameEncoder>,
    buffers: FreeList<Vec<u8>>,
    /// The input of the next frame as far as it has arrived.
    input: Vec<u8>,
    under_way: VecDeque<Promise<io::Result<Frame>>>,
    /// The last byte of the last frame.
    last: Option<u8>,
    table: SeekTable,
}

impl<W: Write> Zstd<W> {
    /// Compresses to `inner` with `threads` threads. With none, the calling thread compresses.
    pub fn new(inner: W, level: Level, threads: usize) -> Self {
        Self {
            inner,
            level,
            pool: Pool::new("zstd", threads),
            encoders: FreeList::default(),
            buffers: FreeList::default(),
            input: frame_buffer(),
            under_way: VecDeque::new(),
            last: None,
            table: SeekTable::default(),
        }
    }

    /// Writes the rest of the frames and the seek table, and returns the writer.
    pub fn finish(mut self) -> io::Result<W> {
        if !self.input.is_empty() {
            self.submit();
        }
        while let Some(next) = self.under_way.pop_front() {
            self.put(next.wait()??)?;
        }
        let end = [self.last.as_slice(), &self.table.to_bytes()?].concat();
        self.inner.write_all(&end)?;
        Ok(self.inner)
    }

    /// Compresses the input that has arrived, as one frame.
    fn submit(&mut self) {
        let input = mem::take(&mut self.input);
        let (level, encoders) = (self.level, self.encoders.clone());
        self.under_way.push_back(self.pool.submit(move || {
            let encoder = encoders.take().map(Ok);
            let mut encoder = encoder.unwrap_or_else(|| FrameEncoder::new(level))?;
            let frame = encoder.encode(input)?;
            encoders.put([encoder]);
            Ok(frame)
        }));
    }

    /// Writes the frames that are ready, and waits as long as too many are under way.
    fn advance(&mut self) -> io::Result<()> {
        let threads = self.pool.count();
        while let Some(next) = self.under_way.front() {
            let is_full = self.under_way.len() > threads + threads.div_ceil(2);
            let frame = if is_full {
                Some(next.wait()?)
            } else {
                next.poll()?
            };
            let Some(frame) = frame else { break };
            self.under_way.pop_front();
            self.put(frame?)?;
        }
        Ok(())
    }

    fn put(&mut self, frame: Frame) -> io::Result<()> {
        if let Some((last, bytes)) = frame.bytes.split_last() {
            self.inner.write_all(self.last.as_slice())?;
            self.inner.write_all(bytes)?;
            self.last = Some(*last);
        }
        self.table.add(frame.bytes.len(), frame.input_len)?;
        self.buffers.put([frame.bytes]);
        Ok(())
    }
}

impl<W: Write> Write for Zstd<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(FRAME - self.input.len());
        self.input.extend_from_slice(&bytes[..taken]);
        if self.input.len() == FRAME {
            self.submit();
            self.advance()?;
            self.input = self.buffers.take().unwrap_or_else(frame_buffer);
            self.input.clear();
        }
        Ok(taken)
    }

    /// Flushes what is written. A flush never changes what is compressed.
    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text that compresses somewhat, the same at every call.
    fn text(length: usize) -> Vec<u8> {
        let mut state = 1u64;
        let mut words = Vec::with_capacity(length + 8);
        while words.len() < length {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
            words.extend(format!("{} ", (state >> 33) % 5000).bytes());
        }
        words.truncate(length);
        words
    }

    fn level(number: u32) -> Level {
        Level::new(number).unwrap()
    }

    fn compressed(input: &[u8], number: u32, threads: usize, feed: usize) -> Vec<u8> {
        let mut stream = Zstd::new(Vec::new(), level(number), threads);
        for bytes in input.chunks(feed) {
            stream.write_all(bytes).unwrap();
        }
        stream.finish().unwrap()
    }

    /// The frames of an archive, found by its seek table alone: compressed bytes and length of the plain ones.
    fn frames(archive: &[u8]) -> Vec<(&[u8], usize)> {
        let word = |at: usize| u32::from_le_bytes(archive[at..][..4].try_into().unwrap()) as usize;
        let footer = archive.len() - 9;
        assert_eq!(word(footer + 5), 0x8f92_eab1);
        let count = word(footer);
        let entries = footer - 8 * count;
        assert_eq!(word(entries - 4), 8 * count + 9);
        assert_eq!(word(entries - 8), 0x184d_2a5e);
        let mut start = 0;
        let frames = (0..count).map(|at| {
            let entry = entries + 8 * at;
            let frame = &archive[start..][..word(entry)];
            start += frame.len();
            (frame, word(entry + 4))
        });
        let frames = frames.collect();
        assert_eq!(start, entries - 8);
        frames
    }

    #[test]
    fn frames_are_read_alone() {
        let input = text(3 * FRAME + 12345);
        let archive = compressed(&input, 3, 2, 100_000);
        let found = frames(&archive);
        let parts: Vec<_> = input.chunks(FRAME).collect();
        assert_eq!(found.len(), parts.len());
        for (part, (frame, length)) in parts.iter().zip(&found).rev() {
            assert_eq!(*length, part.len());
            // One byte of room more would show a frame that holds more.
            let plain = zstd::bulk::decompress(frame, length + 1).unwrap();
            assert!(plain == *part);
        }
        assert!(zstd::decode_all(&archive[..]).unwrap() == input);
    }

    #[test]
    fn lengths_around_a_frame() {
        for length in [0, 1, FRAME - 1, FRAME, FRAME + 1, 2 * FRAME] {
            let input = text(length);
            for feed in [FRAME / 3, 3 * FRAME] {
                let archive = compressed(&input, 1, 1, feed);
                let lengths: Vec<_> = frames(&archive).iter().map(|(_, length)| *length).collect();
                let expected: Vec<_> = input.chunks(FRAME).map(<[u8]>::len).collect();
                assert_eq!(lengths, expected);
                assert!(zstd::decode_all(&archive[..]).unwrap() == input);
            }
        }
    }

    /// An encoder that has made other frames makes the same frame as a new one.
    #[test]
    fn threads_change_no_byte() {
        let input = text(4 * FRAME + 1);
        for number in [3, 7] {
            let expected = compressed(&input, number, 0, 1 << 16);
            for threads in [1, 2, 8] {
                assert!(compressed(&input, number, threads, 1 << 20) == expected);
            }
            for (part, (frame, _)) in input.chunks(FRAME).zip(frames(&expected)) {
                let alone = compressed(part, number, 0, FRAME);
                assert!(frames(&alone)[0].0 == frame);
            }
        }
    }

    #[test]
    fn frames_end_with_a_checksum() {
        let mut archive = compressed(&text(1000), 3, 0, 1000);
        let last = frames(&archive)[0].0.len() - 1;
        archive[last] ^= 1;
        let error = zstd::decode_all(&archive[..]).unwrap_err();
        assert!(error.to_string().contains("checksum"), "{error}");
    }

    #[test]
    fn an_unfinished_stream_ends_inside_a_frame() {
        let input = text(5 * FRAME);
        for threads in [0, 1, 2] {
            let mut written = Vec::new();
            let mut stream = Zstd::new(&mut written, level(1), threads);
            stream.write_all(&input).unwrap();
            drop(stream);
            let error = zstd::decode_all(&written[..]).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{error}");
        }
    }

    #[test]
    fn errors_of_the_writer_are_reported() {
        let input = text(8 * FRAME);
        let mut room = [0; 1000];
        let mut stream = Zstd::new(&mut room[..], level(1), 2);
        let error = stream.write_all(&input).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WriteZero);
    }

    #[test]
    fn threads_within_memory() {
        let within =
            |number, threads, memory: usize| level(number).threads_within(threads, memory << 20);
        assert_eq!(within(3, 2, 64), 2);
        assert_eq!(within(3, 64, 64), 4);
        assert_eq!(within(3, 64, 1), 0);
        assert_eq!(within(19, 8, 64), 1);
    }
}
