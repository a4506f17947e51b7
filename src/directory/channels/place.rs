//! The place of a view: `<bucket>/<view>`. Names of the files in a bucket.

use std::fmt;

use crate::{
    base::error::{Error, Result},
    directory::bucket::{Bucket, BucketUrl, Digest, shown},
};

/// The folder that makes a place a bucket.
pub(super) const TOP: &str = "v1";
/// The folder of archives.
pub(super) const OBJECTS: &str = "v1/objects";
/// The folder of views.
pub(super) const VIEWS: &str = "v1/views";
/// The longest name of a view, in bytes.
const MAX_NAME: usize = 200;

/// A view in a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The bucket.
    pub bucket: BucketUrl,
    /// The view.
    pub view: ViewName,
}

/// The name of a view: letters, digits, `.`, `_` and `-`, and no `.` or `-` at its beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewName(String);

impl ViewName {
    /// Parse a name.
    pub fn new(name: &str) -> Option<Self> {
        let is_sound =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        let fits = (1..=MAX_NAME).contains(&name.len())
            && name.bytes().all(is_sound)
            && !name.starts_with(['.', '-']);
        fits.then(|| Self(name.to_owned()))
    }

    /// The file of the view.
    pub(super) fn file(&self) -> String {
        format!("{VIEWS}/{self}.json")
    }

    /// The view of the file called `name` in the folder of views.
    pub(super) fn of_file(name: &str) -> Option<Self> {
        Self::new(name.strip_suffix(".json")?)
    }
}

impl fmt::Display for ViewName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Place {
    /// Parse `<bucket>/<view>`.
    pub fn parse(text: &str) -> Result<Self> {
        let (bucket, name) = text.rsplit_once('/').unwrap_or((".", text));
        let is_bucket = !bucket.ends_with(":/");
        match ViewName::new(name).filter(|_| is_bucket) {
            Some(view) => Ok(Self {
                bucket: BucketUrl::new(match bucket {
                    "" => "/",
                    other => other,
                }),
                view,
            }),
            None => Err(
                Error::fatal(format!("'{}' is not <url>/<view>", shown(text)))
                    .hinted("the name of a view has letters, digits, '.', '_' and '-'"),
            ),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.bucket, self.view)
    }
}

/// Whether a bucket was created at the place that `bucket` names.
pub fn is_bucket(bucket: &dyn Bucket) -> Result<bool> {
    bucket.has_folder(TOP)
}

/// The file of an archive.
pub(super) fn object(digest: &Digest) -> String {
    format!("{OBJECTS}/{digest}{SUFFIX}")
}

/// The archive of the file called `name` in the folder of archives.
pub(super) fn digest_of(name: &str) -> Option<Digest> {
    let digest = name.strip_suffix(SUFFIX)?;
    Digest::try_from(digest.to_owned()).ok()
}

const SUFFIX: &str = ".tar.zst";

#[cfg(test)]
mod tests {
    use super::Place;

    #[test]
    fn places_are_a_bucket_and_a_view() {
        let parsed = |text: &str| {
            let place = Place::parse(text).ok()?;
            Some((place.bucket.to_string(), place.view.to_string()))
        };
        let is = |bucket: &str, view: &str| Some((bucket.to_owned(), view.to_owned()));
        assert_eq!(parsed("/srv/store/main"), is("/srv/store", "main"));
        assert_eq!(parsed("/main"), is("/", "main"));
        assert_eq!(parsed("main"), is(".", "main"));
        assert_eq!(parsed("s3://b/main"), is("s3://b", "main"));
        assert_eq!(
            parsed("s3://b/team/v1.2_x-y"),
            is("s3://b/team", "v1.2_x-y")
        );
        for text in [
            "s3://main",
            "a/",
            "a/..",
            "a/.git",
            "a/-x",
            "a/b c",
            "a/b\n",
            "",
        ] {
            assert_eq!(parsed(text), None, "{text:?}");
        }
    }
}
