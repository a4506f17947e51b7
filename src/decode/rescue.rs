//! The slow way to an object that could not be read where the plan found it.
//!
//! Looks at the object directories afresh (a repack may have moved everything) and tries every
//! copy: another pack, a loose file. git does the same before it reports damage.

use gix::{ObjectId, objs::Kind as ObjectKind};

use super::{Failure, reader::Reader};
use crate::{
    buffer::Buffer,
    odb::{Config, Odb},
};

/// Append the first sound copy of `id` of at most `limit` bytes to `out` and say what it is; or
/// fail like the last copy, or with `failure` if there is none.
pub fn copy(
    config: &Config,
    id: &ObjectId,
    limit: u64,
    out: &mut Buffer,
    failure: Failure,
) -> Result<ObjectKind, Failure> {
    let start = out.len();
    let mut reader = Reader::new(Odb::open(config.clone()));
    let mut last = failure;
    for place in reader.odb.copies(id) {
        match reader.read_at(id, place, limit, out) {
            Ok(kind) => return Ok(kind),
            Err(failure) => last = failure,
        }
        out.truncate(start);
    }
    Err(last)
}
