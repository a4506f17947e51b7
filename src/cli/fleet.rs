//! The options of archives that are published for machines without a repository.

use std::time::Duration;

use super::{
    amount::{number, part},
    sharing::duration,
};

/// What is published, and how.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Fleets")]
pub struct Fleet {
    /// Publish the commit as the newest one of this view: a delta over what the view has, from time to time a full archive
    ///
    /// The place is a bucket (a path, file:// and a path, or the URL of an object store), and behind it the name of the
    /// view, which stands for one repository, one set of filters and one branch. --apply with the same place brings a
    /// directory to the newest commit, without a repository. --create creates the bucket. Prints one line of JSON about what
    /// was done.
    #[arg(long, value_name = "url/view")]
    pub publish: Option<String>,

    /// Publish a full archive too, behind this many deltas
    #[arg(long, value_name = "n", default_value = "20", value_parser = number::<u32>(0..=u32::MAX))]
    pub publish_steps: u32,

    /// Publish a full archive too, when the deltas have more than this part of its bytes
    #[arg(long, value_name = "part", default_value = "0.5", value_parser = part)]
    pub publish_ratio: f64,

    /// Make the commit the newest one of the view, in full if the view has it, and even if the view has a descendant of it
    ///
    /// A view file that is damaged is replaced.
    #[arg(long)]
    pub force: bool,

    /// Create the bucket if it does not exist, in a new or empty directory
    #[arg(long)]
    pub create: bool,

    /// With --apply from a view: bring the directory to this commit, or exit with status 9
    #[arg(long, value_name = "id")]
    pub commit: Option<String>,

    /// Remove archives that no view in this bucket lists
    #[arg(long, value_name = "url")]
    pub prune: Option<String>,

    /// Keep archives that are younger, or that a view has listed within this time: at least 60m, or with the suffix h or d
    ///
    /// A shorter time is refused, because a publication that is running may need younger archives.
    #[arg(long, value_name = "time", default_value = "1d", value_parser = duration)]
    pub prune_age: Duration,

    /// Give up a request to an object store after this time, with status 10: seconds, or with the suffix m, h or d
    #[arg(long, value_name = "time", default_value = "20s", value_parser = duration)]
    pub bucket_timeout: Duration,
}
