//! The worker of the pipeline: turns a job into a piece of the archive.

use std::sync::Arc;

use super::{
    archiver::{Archiver, Mark, Piece, Scratch},
    large::StreamError,
};
use crate::{
    filter::Disposition,
    plan::{Job, Window},
};
use sluice_base::{
    buffer::Buffer,
    error::Result,
    pipeline::{Sink, Worker},
};
use sluice_format::{Format, Records};
use sluice_git::objects::{Decoder, Failure};

impl<F: Format> Worker for Archiver<F> {
    type Batch = Window;
    type Job = Job;
    type Output = Piece<F::Records>;
    type Scratch = Scratch<F>;

    fn scratch(&self) -> Scratch<F> {
        Scratch {
            decoder: Decoder::new(Arc::clone(&self.allowance)),
            content: Buffer::default(),
            format: F::Scratch::default(),
            donor: None,
        }
    }

    fn split(&self, window: Window) -> Result<Vec<Job>> {
        self.store(&window).locators.jobs(window)
    }

    fn all_split(&self) {
        self.stores.iter().for_each(|store| store.locators.done());
    }

    fn cost(&self, job: &Job) -> usize {
        let bytes = (job.output + job.names + job.scratch).min(8 * self.in_memory);
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    fn held(&self, piece: &Piece<F::Records>) -> usize {
        let texts = piece.log.capacity() + piece.manifest.capacity();
        piece.part.bytes.capacity() + piece.part.records.capacity() + texts
    }

    fn len(&self, piece: &Piece<F::Records>) -> usize {
        piece.part.bytes.len()
    }

    fn work(
        &self,
        scratch: &mut Scratch<F>,
        job: Job,
        piece: &mut Piece<F::Records>,
    ) -> Result<Option<Job>> {
        if job
            .entries()
            .iter()
            .any(|entry| entry.treatment.is_ordered())
        {
            return Ok(Some(job));
        }
        let estimate = job.output.min(self.in_memory) as usize;
        // Room for an estimate that is a little low: a later growth would copy and zero.
        piece.part.bytes.reserve(estimate + estimate / 4);
        // Estimates may be wrong, especially those of deltas. Up to twice the estimate is accepted.
        let limit = 2 * estimate;
        for (at, entry) in job.entries().iter().enumerate() {
            let mark = piece.mark();
            self.log_entry(&job.window, entry, &mut piece.log);
            let outcome = if mark.bytes > limit {
                Err(Failure::TooLarge)
            } else {
                self.entry(scratch, &job.window, entry, self.in_memory, piece)
            };
            match outcome {
                Ok(Disposition::Omitted(_)) if !entry.is_omitted() => piece.log.truncate(mark.log),
                Ok(_) => {}
                Err(Failure::TooLarge) => {
                    piece.truncate(mark);
                    let range = job.range.start + at..job.range.end;
                    return Ok(Some(Job { range, ..job }));
                }
                Err(failure) => {
                    piece.part.bytes.truncate(mark.bytes);
                    return Err(self.cannot_read(&job.window, entry, failure));
                }
            }
        }
        piece.log.extend(job.trailing_messages());
        scratch.trim(self.scratch_max);
        Ok(None)
    }

    fn finish(
        &self,
        scratch: &mut Scratch<F>,
        rest: Job,
        sink: &mut dyn Sink<Piece<F::Records>>,
    ) -> Result<()> {
        let mut piece = Piece::default();
        for entry in rest.entries() {
            let window = &rest.window;
            self.log_entry(window, entry, &mut piece.log);
            if self.blob_policy.policy.binary.is_none() {
                // The messages are written at once, since a filter may print messages too.
                sink.write(&mut piece)?;
            }
            let outcome = match self.entry(scratch, window, entry, self.in_memory, &mut piece) {
                Err(Failure::TooLarge) => {
                    piece.truncate_part(Mark::default());
                    self.large_entry(scratch, window, entry, &mut piece, sink)
                }
                outcome => outcome.map_err(StreamError::BeforeOutput),
            };
            match outcome {
                Ok(Disposition::Omitted(_)) if !entry.is_omitted() => piece.log.clear(),
                Ok(_) => {}
                Err(StreamError::AfterOutput(failure)) => {
                    return Err(self.truncation_error(window, entry, failure));
                }
                Err(StreamError::BeforeOutput(failure)) => {
                    piece.truncate_part(Mark::default());
                    sink.write(&mut piece)?;
                    sink.abandon(&mut piece);
                    return Err(self.cannot_read(window, entry, failure));
                }
            }
            sink.write(&mut piece)?;
        }
        if !rest.trailing_messages().is_empty() {
            piece.log.extend(rest.trailing_messages());
            sink.write(&mut piece)?;
        }
        scratch.trim(self.scratch_max);
        Ok(())
    }
}
