//! A tar without the contents of its files: all that `git archive` writes around them. Reads no blob but those of links.

use std::sync::Arc;

use super::{entry::member, prepare};
use crate::{
    plan::{Blob, Planner, extra::ExtraSource, view::Sizes},
    request::Request,
};
use sluice_base::{
    buffer::Buffer,
    error::{Error, Result},
    pipeline::Source,
};
use sluice_format::{Format, Layout, MemberKind, Outline, Part, Put};

/// Passes the tar that `request` asks for to `put`, without the contents of files, whose sizes `size_of` knows by name. Returns false
/// if the repository lacks the target of a link.
pub fn frame(
    request: Request,
    size_of: &mut dyn FnMut(&[u8]) -> u64,
    put: Put<'_>,
) -> Result<bool> {
    let content = request.content;
    let tar = prepare::tar(&content);
    let readers = content.repositories.iter();
    let mut readers: Vec<_> = readers.map(|it| it.tree.reader.clone()).collect();
    let trees = content.repositories.into_iter();
    let trees = trees.map(|repository| repository.tree.with(Sizes::Limited));
    let extras = Arc::clone(&content.extras);
    let mut planner = Planner::new(trees, content.extras);
    let mut part = Part::<()>::default();
    let (mut written, mut target) = (0, Buffer::default());
    tar.head(&mut part.bytes);
    loop {
        let made = planner.next()?;
        let window = made.batch;
        for entry in window.entries.iter().filter(|entry| !entry.is_omitted()) {
            let member = member(&window, entry, &[]);
            match entry.kind {
                MemberKind::Directory => tar.directory(&member, &mut part),
                MemberKind::Symlink => {
                    let extra = match entry.blob {
                        Blob::Extra(number) => Some(&extras[number as usize].content),
                        _ => None,
                    };
                    if let Some(ExtraSource::Bytes(target)) = extra {
                        tar.symlink(&member, target, &mut part);
                    } else {
                        let read = readers[window.store.0].read(&entry.id, &mut target);
                        let unreadable = || Error::fatal("cannot read the target of a link");
                        let kind = read.map_err(|failure| failure.explain(unreadable()))?;
                        if kind.is_none() {
                            return Ok(false);
                        }
                        tar.symlink(&member, &target, &mut part);
                    }
                }
                MemberKind::File | MemberKind::Executable => {
                    let outline = Outline {
                        size: size_of(member.name),
                        layout: Layout::Whole,
                    };
                    let mut flush = |_: &mut Part<()>| Ok(());
                    let streamed: std::io::Result<()> = tar.stream_file(
                        &mut (),
                        &member,
                        outline,
                        // A body without bytes leaves what stands around a body.
                        &mut |_| Ok(()),
                        &mut part,
                        &mut flush,
                    );
                    streamed.map_err(|error| Error::write(&error))?;
                    written += outline.size;
                }
            }
            written += part.bytes.len() as u64;
            put(&part.bytes)?;
            part.bytes.clear();
        }
        if made.last {
            // A tree without entries.
            written += part.bytes.len() as u64;
            put(&part.bytes)?;
            return tar.end((), written, put).map(|()| true);
        }
    }
}
