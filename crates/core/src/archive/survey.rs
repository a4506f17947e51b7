//! Finds what a repository lacks of an archive: the plan runs as for the archive, and no content is read.

use super::prepare::{self, Prepared};
use crate::request::Request;
use sluice_base::{
    error::{Error, Result},
    pipeline::Source,
};
use sluice_git::objects::wanted::MissingObjects;

/// Plans the archive that `request` asks for and notes the missing contents in `contents`. The reader of `request` notes
/// what the plan itself lacks. Returns the failure that ends the plan early, if there is one.
pub fn survey(request: Request, contents: &MissingObjects) -> Result<Option<Error>> {
    let Prepared {
        archiver,
        mut planner,
        ..
    } = Prepared::new(prepare::tar(&request.content), request, false)?;
    while !contents.is_full() {
        let made = match planner.next() {
            Ok(made) => made,
            Err(failure) => return Ok(Some(failure)),
        };
        let store = archiver.store(&made.batch);
        let contents = contents.of_submodule(store.submodule.clone());
        let path = |name: &[u8]| store.naming.path_in_tree(name);
        store.locators.note_missing(&made.batch, &contents, &path)?;
        if made.last {
            break;
        }
    }
    Ok(None)
}
