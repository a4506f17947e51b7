//! Names of buckets: a path, `file://<path>`, or the URL of an object store.

use sluice_base::error::{Error, sanitised};

/// Where a bucket is, as the user wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketUrl(String);

impl BucketUrl {
    /// The bucket called `text`.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Whether `text` can only be a URL.
    pub fn is_url(text: &str) -> bool {
        let scheme = text.split_once("://").map(|(scheme, _)| scheme);
        scheme.is_some_and(|scheme| {
            !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
    }

    /// The path of a directory.
    pub fn path(&self) -> Option<&str> {
        match self.0.strip_prefix("file://") {
            Some(path) => Some(path),
            None => (!Self::is_url(&self.0)).then_some(&self.0),
        }
    }

    /// The scheme, and the rest after `://`.
    #[cfg(feature = "store")]
    pub(super) fn parts(&self) -> (&str, &str) {
        self.0.split_once("://").unwrap_or(("", &self.0))
    }

    /// The error of a URL that this program cannot open.
    pub(super) fn refused(&self, cause: &'static str, hint: &str) -> Error {
        let refused = Error::fatal(format!("cannot open '{self}'"));
        refused.caused_by(cause).hinted(hint)
    }
}

impl std::fmt::Display for BucketUrl {
    /// Writes the URL without credentials.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&shown(&self.0))
    }
}

/// `url` for messages: without a user, a password and a query, which may be a secret.
pub fn shown(url: &str) -> String {
    let text = sanitised(url.as_bytes());
    if !BucketUrl::is_url(&text) {
        return text;
    }
    let text = text.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = text.split_once("://").unwrap_or_default();
    let (host, path) = match rest.find('/') {
        Some(slash) => rest.split_at(slash),
        None => (rest, ""),
    };
    let host = host.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

#[cfg(test)]
mod tests {
    use super::{BucketUrl, shown};

    #[test]
    fn paths_and_urls() {
        let path = |text: &str| BucketUrl::new(text).path().map(str::to_owned);
        assert_eq!(path("a/b"), Some("a/b".into()));
        assert_eq!(path("file:///a/b"), Some("/a/b".into()));
        assert_eq!(path("s3://bucket/a"), None);
        assert_eq!(path("://a"), Some("://a".into()));
        assert_eq!(path("a b://c"), Some("a b://c".into()));
    }

    #[test]
    fn messages_have_no_credentials() {
        for (url, expected) in [
            ("s3://key:secret@bucket/a", "s3://bucket/a"),
            ("https://user@host?token=x", "https://host"),
            ("https://host/a?X-Amz-Signature=x#y", "https://host/a"),
            ("a@b/c?d", "a@b/c?d"),
            ("a\x1b", "a?"),
        ] {
            assert_eq!(shown(url), expected);
        }
    }
}
