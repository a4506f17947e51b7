//! A word that should name a channel, and may name a bucket instead.

use std::time::Duration;

use sluice_base::{
    error::{Error, Result},
    working_directory::WorkingDirectory,
};
use sluice_fleet::{
    bucket::{self, BucketUrl},
    channels,
};

/// Whether `word`, which should name a channel, names a bucket. Files are named from `directory`.
pub(super) fn is_bucket(word: &str, directory: &WorkingDirectory, timeout: Duration) -> bool {
    let bucket = bucket::open(&BucketUrl::new(word), directory, timeout);
    let is_bucket = bucket.and_then(|bucket| channels::is_bucket(&*bucket));
    is_bucket.unwrap_or(false)
}

/// The error of the bucket `word` that is given as a channel.
pub(super) fn no_channel(word: &str) -> String {
    format!("'{word}' is a bucket, and the channel is missing")
}

/// Refuses the `word` for a channel if a bucket is further up: the name of a channel has no slash. Returns also the place of the
/// channel that may be meant. Looks at directories only, and not above a place that is a bucket.
pub(super) fn refuse_nested(
    word: &str,
    directory: &WorkingDirectory,
) -> Result<(), (Error, String)> {
    if BucketUrl::new(word).path().is_none() {
        return Ok(());
    }
    let slashes = word.rmatch_indices('/').map(|(at, _)| at);
    let found = slashes
        .enumerate()
        .find(|(_, at)| is_bucket(&word[..*at], directory, Duration::ZERO));
    let Some((1.., at)) = found else {
        return Ok(());
    };
    let (bucket, name) = (&word[..at], word[at + 1..].replace('/', "-"));
    let cause = format!("the bucket is '{bucket}', and the name of a channel has no '/'");
    let refused = Error::fatal(format!("'{word}' is not <bucket>/<channel>")).caused_by(cause);
    Err((refused, format!("{bucket}/{name}")))
}
