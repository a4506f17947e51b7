//! The window: consecutive jobs from the first unwritten one to the last planned one.
//!
//! Jobs are admitted in order against two bounds: a budget of memory, and the bytes by which threads may
//! run ahead of the first job. Must not admit a job before its predecessors, so that the next job to be
//! written is always in progress and the window cannot lock itself.

use std::collections::VecDeque;

use super::Worker;
use crate::error::Result;

/// Bytes that each thread may run ahead of the first job. A window that grows whenever its first job
/// has to wait for a processor touches new memory again and again, which costs more than waiting.
const AHEAD: usize = 1 << 20;

/// Jobs in order, and free outputs for later jobs.
pub(super) struct Window<'a, W: Worker> {
    worker: &'a W,
    slots: VecDeque<Slot<W>>,
    /// The number of the first slot's job.
    first: u64,
    /// How many of the slots, from the first, are admitted.
    admitted: usize,
    /// Bytes that the other jobs will account for.
    planned_cost: usize,
    /// Limit for the memory of admitted jobs, in bytes.
    budget: usize,
    /// Bytes of memory that the admitted jobs account for.
    in_flight: usize,
    free: Vec<W::Output>,
    free_bytes: usize,
}

enum Slot<W: Worker> {
    /// Not yet admitted.
    Planned(Result<W::Job>),
    /// Admitted, with its estimated cost in bytes.
    Working(usize),
    Done(Done<W>),
}

/// A job that is ready to be written.
pub(super) struct Done<W: Worker> {
    pub(super) output: W::Output,
    /// The part of the job that is left to the writer, or the failure.
    pub(super) rest: Result<Option<W::Job>>,
    /// Bytes of memory that the window accounts for.
    held: usize,
}

/// A job that a thread may begin.
pub(super) struct Admitted<W: Worker> {
    pub(super) number: u64,
    pub(super) job: W::Job,
    pub(super) output: W::Output,
}

impl<'a, W: Worker> Window<'a, W> {
    pub(super) fn new(worker: &'a W, budget: usize) -> Self {
        Self {
            worker,
            slots: VecDeque::new(),
            first: 0,
            admitted: 0,
            planned_cost: 0,
            budget,
            in_flight: 0,
            free: Vec::new(),
            free_bytes: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// How many jobs are planned and not admitted.
    pub(super) fn planned(&self) -> usize {
        self.slots.len() - self.admitted
    }

    /// The bytes that the planned jobs will account for.
    pub(super) fn planned_cost(&self) -> usize {
        self.planned_cost
    }

    /// Whether so many `threads` need more planned jobs, and the budget may soon have room for them. The jobs
    /// that are planned keep the other threads busy while one thread plans and another locates the next window.
    pub(super) fn wants_jobs(&self, threads: usize) -> bool {
        self.planned() < 16 * threads + 16 && self.planned_cost <= self.budget
    }

    pub(super) fn push(&mut self, job: Result<W::Job>) {
        self.planned_cost += job.as_ref().map_or(0, |job| self.worker.cost(job));
        self.slots.push_back(Slot::Planned(job));
    }

    /// Admits the next job, if the bounds allow that for so many `threads`. A failure to plan is done at
    /// once.
    pub(super) fn admit(&mut self, threads: usize) -> Option<Admitted<W>> {
        let cost = match self.slots.get(self.admitted)? {
            Slot::Planned(Ok(job)) => self.worker.cost(job),
            _ => 0,
        };
        if !self.has_room(cost, threads) {
            return None;
        }
        let at = self.admitted;
        self.admitted += 1;
        self.planned_cost -= cost;
        match std::mem::replace(&mut self.slots[at], Slot::Working(cost)) {
            Slot::Planned(Ok(job)) => {
                let output = self.reuse(cost);
                self.in_flight += cost;
                let number = self.first + at as u64;
                Some(Admitted {
                    number,
                    job,
                    output,
                })
            }
            Slot::Planned(Err(error)) => {
                self.slots[at] = Slot::Done(Done {
                    output: W::Output::default(),
                    rest: Err(error),
                    held: 0,
                });
                None
            }
            Slot::Working(_) | Slot::Done(_) => unreachable!("jobs are admitted in order"),
        }
    }

    /// Whether a job of this `cost` may begin. One thread alone does one job after the other. Several run
    /// ahead, further where a large job is under way.
    fn has_room(&self, cost: usize, threads: usize) -> bool {
        if self.admitted == 0 {
            return true;
        }
        let admitted = self.slots.range(..self.admitted);
        let (mut ahead, mut largest) = (0, 0);
        for slot in admitted {
            let bytes = match slot {
                Slot::Working(cost) => *cost,
                Slot::Done(done) => self.worker.len(&done.output),
                Slot::Planned(_) => 0,
            };
            ahead += bytes;
            largest = largest.max(bytes);
        }
        let room = self.budget.saturating_sub(self.in_flight);
        threads > 1 && cost <= room && ahead < threads * AHEAD.max(largest)
    }

    /// Notes that a job is done.
    pub(super) fn done(&mut self, number: u64, output: W::Output, rest: Result<Option<W::Job>>) {
        let slot = &mut self.slots[(number - self.first) as usize];
        let held = self.worker.held(&output);
        if let Slot::Working(cost) = slot {
            self.in_flight = self.in_flight - *cost + held;
        }
        *slot = Slot::Done(Done { output, rest, held });
    }

    /// Removes the first job, if it is done.
    pub(super) fn pop(&mut self) -> Option<Done<W>> {
        match self.slots.pop_front()? {
            Slot::Done(done) => {
                self.first += 1;
                self.admitted -= 1;
                Some(done)
            }
            slot => {
                self.slots.push_front(slot);
                None
            }
        }
    }

    /// Takes back the output of a job that accounted for `held` bytes and is written. The memory is kept
    /// for a later job as far as the budget has room for it.
    pub(super) fn recycle(&mut self, output: W::Output, accounted: usize) {
        self.in_flight -= accounted;
        let held = self.worker.held(&output);
        if held <= self.budget.saturating_sub(self.in_flight + self.free_bytes) {
            self.free_bytes += held;
            self.free.push(output);
        }
    }

    /// A free output for a job of this `cost`: the last one that is large enough, else the last one.
    fn reuse(&mut self, cost: usize) -> W::Output {
        let fits = |output: &W::Output| self.worker.held(output) >= cost;
        let fitting = self.free.iter().rposition(fits);
        let Some(at) = fitting.or(self.free.len().checked_sub(1)) else {
            return W::Output::default();
        };
        let output = self.free.swap_remove(at);
        self.free_bytes -= self.worker.held(&output);
        output
    }
}

impl<W: Worker> Done<W> {
    /// The parts: output, rest, bytes that the window accounts for.
    pub(super) fn into_parts(self) -> (W::Output, Result<Option<W::Job>>, usize) {
        (self.output, self.rest, self.held)
    }
}
