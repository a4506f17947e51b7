//! A request becomes an archive.
//!
//! | module | what it does |
//! |---|---|
//! | [`context`], [`runtime`] | What a command runs with: environment, repository, streams. |
//! | [`archive`] | Carries a request out, whole, for a range of bytes, or to measure it. Only this module knows plan, objects and format. |
//! | [`request`] | Decides what the arguments mean, once: repositories, revision, filters, format, and the key of the archive. |
//! | [`portability`] | Finds names that break on other systems. |
//! | [`plan`] | Walks trees and lists the entries of the archive in git's order, with the place of each blob. |
//! | [`output`] | Writes the archive to its destination, and the reports about it: manifest, summary. |
//! | [`cache`] | Shares one archive between many readers through a directory. Knows keys, files and bytes only. |
//! | [`filter`] | Decides what the reader does not want or may not see: exclude rules, limits, access rules. |
//!
//! Files import from their own module and from modules below it in this table. Cargo does not check this, so keep it in reviews.

pub mod context;
pub mod runtime;
pub mod archive;
pub mod request;
pub mod portability;
pub mod plan;
pub mod output;
pub mod cache;
pub mod filter;
