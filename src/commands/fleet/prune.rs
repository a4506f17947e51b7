//! `prune`: removes archives that no channel of a bucket lists.

use sluice_base::error::{Error, Result};
use sluice_cli as cli;
use sluice_cli::{CliError, RawArgs};
use sluice_core::context::Context;
use sluice_core::output::report::json_line;
use sluice_fleet::{
    bucket::{self, Bucket, BucketUrl, absent_bucket},
    channels::{self, ChannelAddress},
};

pub(in crate::commands) fn run(words: RawArgs<'_>, context: Context<'_>) -> Result<(), CliError> {
    let options: cli::Prune = words.options()?;
    let mut destination = context.runtime.output()?;
    let open = |url: &BucketUrl| bucket::open(url, context.directory(), options.options.timeout);
    let bucket = open(&BucketUrl::new(&options.bucket))?;
    if !channels::is_bucket(&*bucket)? {
        return Err(missing(&options.bucket, open).into());
    }
    let pruned = channels::prune(&*bucket, options.older_than)?;
    json_line(&pruned, &mut destination)?;
    Ok(destination.complete()?)
}

/// The error about a bucket that does not exist, with a hint if `word` names a channel.
fn missing(word: &str, open: impl Fn(&BucketUrl) -> Result<Box<dyn Bucket>>) -> Error {
    let missing = absent_bucket(BucketUrl::new(word).to_string());
    let is_bucket = |place: &ChannelAddress| {
        let above = open(&place.bucket).and_then(|bucket| channels::is_bucket(&*bucket));
        above.unwrap_or(false)
    };
    match ChannelAddress::parse(word).ok().filter(is_bucket) {
        Some(place) => {
            let bucket = place.bucket.to_string();
            missing.hinted_command("git sluice prune {}", &[bucket.as_bytes()])
        }
        None => missing,
    }
}
