//! The order of answers: each leaves when all before it have left.
//!
//! The answer whose turn it is goes straight to the output. Bytes of the others wait, up to a limit for all of them
//! together; beyond it, an answer waits for its turn. Must not look at the bytes.

use std::{
    collections::BTreeMap,
    io::{IoSlice, Result, Write},
    mem,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

/// The output of answers, in order.
pub(super) struct ResponseQueue<W> {
    output: Mutex<W>,
    state: Mutex<QueueState>,
    moved: Condvar,
    /// The most bytes that wait.
    max_waiting: usize,
    /// The most complete answers that wait, however small they are.
    max_complete: usize,
}

struct QueueState {
    /// The number of the answer whose turn it is.
    turn: u64,
    /// Answers that were complete before their turn.
    complete: BTreeMap<u64, Vec<u8>>,
    /// Bytes that wait, of all answers.
    waiting: usize,
}

/// The place of one answer in the line.
pub(super) struct ResponseSlot<W> {
    line: Arc<ResponseQueue<W>>,
    number: u64,
    waiting: Vec<u8>,
    is_its_turn: bool,
}

impl<W: Write> ResponseQueue<W> {
    /// A line to `output`, in which at most `max_waiting` bytes and `max_complete` complete answers wait.
    pub(super) fn new(output: W, max_waiting: usize, max_complete: usize) -> Arc<Self> {
        Arc::new(Self {
            output: Mutex::new(output),
            state: Mutex::new(QueueState {
                turn: 0,
                complete: BTreeMap::new(),
                waiting: 0,
            }),
            moved: Condvar::new(),
            max_waiting,
            max_complete,
        })
    }

    /// The place of answer `number`, counted from 0. Each place has to be left.
    pub(super) fn place(self: &Arc<Self>, number: u64) -> ResponseSlot<W> {
        ResponseSlot {
            line: Arc::clone(self),
            number,
            waiting: Vec::new(),
            is_its_turn: false,
        }
    }

    /// Every update is whole before the lock is released, so a poisoned lock is still consistent.
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn output(&self) -> MutexGuard<'_, W> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Write the complete answers after the present one, and give the turn to the first that is not complete.
    fn advance(&self) -> Result<()> {
        let mut state = self.lock();
        loop {
            state.turn += 1;
            let turn = state.turn;
            let Some(bytes) = state.complete.remove(&turn) else {
                self.moved.notify_all();
                return Ok(());
            };
            state.waiting -= bytes.len();
            drop(state);
            self.output().write_all(&bytes)?;
            state = self.lock();
        }
    }
}

impl<W: Write> ResponseSlot<W> {
    /// The number of the answer, counted from 0.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Wait until all answers before this one have left.
    pub(super) fn wait_for_turn(&mut self) -> Result<()> {
        if !self.is_its_turn {
            let line = Arc::clone(&self.line);
            let state = line.lock();
            let waited = line
                .moved
                .wait_while(state, |state| state.turn != self.number);
            self.take_turn(waited.unwrap_or_else(PoisonError::into_inner))?;
        }
        Ok(())
    }

    /// The answer is complete.
    pub(super) fn leave(&mut self) -> Result<()> {
        if !self.is_its_turn {
            let line = Arc::clone(&self.line);
            let mut state = line.lock();
            let has_room = state.complete.len() < line.max_complete;
            if state.turn != self.number && has_room {
                let mut waiting = mem::take(&mut self.waiting);
                // The end of an answer doubles the room of the rest.
                waiting.shrink_to_fit();
                state.complete.insert(self.number, waiting);
                return Ok(());
            }
            drop(state);
            self.wait_for_turn()?;
        }
        self.line.output().flush()?;
        self.line.advance()
    }

    /// Whether the turn has come: then all that waited is written. Otherwise `len` more bytes may wait, and count as
    /// waiting. Waits for the turn where there is no room for them.
    fn has_turn_for(&mut self, len: usize) -> Result<bool> {
        if self.is_its_turn {
            return Ok(true);
        }
        let line = Arc::clone(&self.line);
        let mut state = line.lock();
        if state.turn != self.number && line.max_waiting - state.waiting >= len {
            state.waiting += len;
            return Ok(false);
        }
        drop(state);
        self.wait_for_turn()?;
        Ok(true)
    }

    fn take_turn(&mut self, mut state: MutexGuard<'_, QueueState>) -> Result<()> {
        let waiting = mem::take(&mut self.waiting);
        state.waiting -= waiting.len();
        drop(state);
        self.is_its_turn = true;
        self.line.output().write_all(&waiting)
    }
}

impl<W: Write> Write for ResponseSlot<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> Result<usize> {
        let len = slices.iter().map(|slice| slice.len()).sum();
        if self.has_turn_for(len)? {
            return self.line.output().write_vectored(slices);
        }
        slices
            .iter()
            .for_each(|slice| self.waiting.extend_from_slice(slice));
        Ok(len)
    }

    fn flush(&mut self) -> Result<()> {
        if self.is_its_turn {
            self.line.output().flush()
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Write, sync::Arc, thread};

    use super::ResponseQueue;

    fn written(line: &Arc<ResponseQueue<Vec<u8>>>) -> String {
        String::from_utf8(line.output().clone()).expect("text")
    }

    #[test]
    fn answers_leave_in_order() {
        let line = ResponseQueue::new(Vec::new(), 100, 10);
        let mut places = [0, 1, 2, 3].map(|number| line.place(number));
        places[2].write_all(b"two ").expect("room");
        places[2].leave().expect("room");
        places[1].write_all(b"one ").expect("room");
        places[3].write_all(b"three ").expect("room");
        assert_eq!(written(&line), "");
        places[0].write_all(b"zero ").expect("its turn");
        assert_eq!(written(&line), "zero ");
        places[0].leave().expect("its turn");
        assert_eq!(written(&line), "zero ");
        places[1].write_all(b"and more ").expect("its turn");
        assert_eq!(written(&line), "zero one and more ");
        places[1].leave().expect("its turn");
        assert_eq!(written(&line), "zero one and more two ");
        places[3].leave().expect("its turn");
        assert_eq!(written(&line), "zero one and more two three ");
        assert_eq!(line.lock().waiting, 0);
    }

    #[test]
    fn answers_wait_where_too_much_waits() {
        let line = ResponseQueue::new(Vec::new(), 10, 10);
        let mut places = [0, 1, 2].map(|number| line.place(number));
        thread::scope(|scope| {
            let [zero, one, two] = &mut places;
            scope.spawn(move || {
                for _ in 0..100 {
                    two.write_all(b"two").expect("in its turn");
                }
                two.leave().expect("its turn");
            });
            scope.spawn(move || {
                one.write_all(&[b'1'; 50]).expect("in its turn");
                one.leave().expect("its turn");
            });
            zero.write_all(b"0").expect("its turn");
            zero.leave().expect("its turn");
        });
        let expected = ["0", &"1".repeat(50), &"two".repeat(100)].concat();
        assert_eq!(written(&line), expected);
    }
}
