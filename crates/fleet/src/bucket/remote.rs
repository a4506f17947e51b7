//! A bucket in an object store: S3 and stores that speak its protocol, Google Cloud Storage, Azure, or a server of plain
//! HTTP to read from.
//!
//! The crate `object_store` speaks the protocols, and reads credentials from the variables of each vendor. Requests that
//! fail are repeated, with growing pauses, until a deadline.

use std::{
    future::{Future, ready},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime},
};

use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::{
    Attribute, ClientConfigKey, ClientOptions, Error as StoreError, GetResult, MultipartUpload,
    ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, RetryConfig,
    UpdateVersion,
    aws::{AmazonS3Builder, AmazonS3ConfigKey},
    azure::{AzureConfigKey, MicrosoftAzureBuilder},
    gcp::{GoogleCloudStorageBuilder, GoogleConfigKey},
    http::HttpBuilder,
    path::Path,
};
use tokio::runtime::{Builder, Runtime};

use super::{
    files::{Bucket, Listed, Sent, Take, Version, Versioned, not_empty},
    lengths::WithLengths,
    url::{BucketUrl, shown},
};
use sluice_base::{
    buffer::spool::Spooled,
    error::{Error, Result},
};

/// A larger file is sent and fetched in parts of so many bytes, at least.
const PART: u64 = 8 << 20;
/// The most parts of a file; S3 allows 10,000.
const MAX_PARTS: u64 = 9000;
/// The parts that are under way at once.
const AT_ONCE: usize = 4;
/// The longest wait for a connection.
const CONNECT: Duration = Duration::from_secs(5);

/// A part of a store.
pub(super) struct RemoteBucket {
    store: Arc<dyn ObjectStore>,
    /// The folder of the bucket in the store.
    folder: Path,
    /// Whether it is a server of plain HTTP. Not each of them knows ranges, and some answer with a page where a file is missing.
    is_web: bool,
    /// Whether the store has refused to show a file that counts as missing.
    has_refused: AtomicBool,
    /// Waits for answers. A call of the bucket returns when its answer is there.
    runtime: Runtime,
    url: BucketUrl,
}

impl RemoteBucket {
    /// The bucket at `url`, where each request may take as long as `deadline`; `None` if its scheme is not known.
    pub(super) fn open(url: &BucketUrl, deadline: Duration) -> Result<Option<Self>> {
        let failed = |error: StoreError| {
            Error::fatal(format!("cannot open '{url}'")).caused_by(redacted(&error.to_string()))
        };
        // For all connections of the process; a failure says that it has been chosen before.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (scheme, rest) = url.parts();
        let (name, folder) = rest.split_once('/').unwrap_or((rest, ""));
        let Some(store) = store(scheme, name, deadline).map_err(failed)? else {
            return Ok(None);
        };
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Error::fatal("cannot wait").caused_by(error))?;
        Ok(Some(Self {
            store,
            folder: Path::from(folder),
            is_web: scheme.starts_with("http"),
            has_refused: AtomicBool::new(false),
            runtime,
            url: url.clone(),
        }))
    }

    fn path(&self, name: &str) -> Path {
        Path::from(format!("{}/{name}", self.folder))
    }

    /// `None` if `error` says that a file is missing. A store says the same of every file that it does not show to a key,
    /// and of a missing file to a key that may not list files.
    fn missing<T>(&self, name: &str, error: &StoreError) -> Result<Option<T>> {
        match error {
            StoreError::NotFound { .. } => Ok(None),
            StoreError::PermissionDenied { .. } if !is_bad_key(error) => {
                self.has_refused.store(true, Ordering::Relaxed);
                Ok(None)
            }
            _ => Err(self.failed("read", name, error)),
        }
    }

    fn failed(&self, verb: &str, name: &str, error: &StoreError) -> Error {
        Error::unreachable(format!("cannot {verb} '{name}' in '{}'", self.url))
            .caused_by(redacted(&error.to_string()))
    }

    /// Whether a file lies below `folder`.
    fn has_files(&self, folder: &Path, name: &str) -> Result<bool> {
        let listed = self.wait(self.store.list_with_delimiter(Some(folder)));
        let listed = listed.map_err(|error| self.failed("read", name, &error))?;
        Ok(!listed.objects.is_empty() || !listed.common_prefixes.is_empty())
    }

    fn ignores_conditions(&self) -> Error {
        Error::fatal(format!("cannot create a bucket at '{}'", self.url))
            .caused_by(
                "the store ignores If-Match and If-None-Match, so two publishers would lose a commit",
            )
            .hinted("use a store that knows conditional writes, or a directory")
    }

    fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// The size of a file, and when it was written.
    async fn head(&self, name: &str) -> Result<Option<ObjectMeta>> {
        match self.store.head(&self.path(name)).await {
            Ok(meta) => Ok(Some(meta)),
            Err(error) => self.missing(name, &error),
        }
    }

    /// Begins to fetch a file; `None` if it is missing.
    async fn get(&self, name: &str) -> Result<Option<GetResult>> {
        match self.store.get(&self.path(name)).await {
            Ok(file) => Ok(Some(file).filter(|file| !(self.is_web && is_page(file)))),
            Err(error) => self.missing(name, &error),
        }
    }

    /// Finds out whether the store keeps a file from being replaced by a publisher that knows an old version of it.
    fn check_replacing(&self, probe: &str) -> Result<bool> {
        let replaced = |known: Option<&Version>| self.replace(probe, probe.as_bytes(), known);
        if !replaced(None)? || replaced(None)? {
            return Ok(false);
        }
        let Some(Versioned { version, .. }) = self.read(probe, PART)? else {
            return Ok(false);
        };
        // Another content has another tag.
        let is_newer = self.replace(probe, b"newer", Some(&version))?;
        Ok(is_newer && !replaced(Some(&version))?)
    }

    /// Fetches a file with one request, or with another one for the rest where the answer breaks off.
    async fn fetch_whole(&self, name: &str, take: &mut Take<'_>) -> Result<bool> {
        let failed = |error| self.failed("read", name, &error);
        let Some(file) = self.get(name).await? else {
            return Ok(false);
        };
        let mut pieces = file.into_stream();
        while let Some(piece) = pieces.next().await {
            take(&piece.map_err(failed)?)?;
        }
        Ok(true)
    }

    /// Fetches a file in parts, some at once.
    async fn fetch_parts(&self, name: &str, take: &mut Take<'_>) -> Result<bool> {
        let Some(ObjectMeta { size, location, .. }) = self.head(name).await? else {
            return Ok(false);
        };
        let starts = stream::iter((0..size).step_by(PART as usize));
        let parts = starts.map(|start| {
            let range = start..size.min(start + PART);
            self.store.get_range(&location, range)
        });
        let mut parts = pin!(parts.buffered(AT_ONCE));
        while let Some(part) = parts.next().await {
            take(&part.map_err(|error| self.failed("read", name, &error))?)?;
        }
        Ok(true)
    }

    /// Sends a file in parts, some at once.
    async fn send_parts(
        &self,
        name: &str,
        content: &Spooled,
        sent: &mut Sent<'_>,
    ) -> Result<(), StoreError> {
        let mut upload = self.store.put_multipart(&self.path(name)).await?;
        match put_parts(&mut *upload, content, sent).await {
            Ok(()) => upload.complete().await.map(|_| ()),
            Err(error) => {
                // This failure is reported, not one of cleaning up.
                let _ = upload.abort().await;
                Err(error)
            }
        }
    }
}

/// Sends the parts of `content`.
async fn put_parts(
    upload: &mut dyn MultipartUpload,
    content: &Spooled,
    sent: &mut Sent<'_>,
) -> Result<(), StoreError> {
    let size = content.size();
    let len = PART.max(size.div_ceil(MAX_PARTS));
    let starts = stream::iter((0..size).step_by(len as usize));
    let parts = starts.map(|start| {
        let part = bytes(content, start, len.min(size - start));
        let put = part.map(|part| upload.put_part(part));
        async { put?.await }
    });
    let mut arrived = 0;
    let arrivals = parts.buffered(AT_ONCE).try_for_each(|()| {
        arrived += len;
        sent(size.min(arrived));
        ready(Ok(()))
    });
    arrivals.await
}

impl Bucket for RemoteBucket {
    fn read(&self, name: &str, max: u64) -> Result<Option<Versioned>> {
        let failed = |error| self.failed("read", name, &error);
        self.wait(async {
            let Some(file) = self.get(name).await? else {
                return Ok(None);
            };
            let version = Version {
                tag: file.meta.e_tag.clone(),
                generation: file.meta.version.clone(),
            };
            // The length is not always known.
            let (mut pieces, mut bytes) = (file.into_stream(), Vec::new());
            while let Some(piece) = pieces.next().await {
                bytes.extend_from_slice(&piece.map_err(failed)?);
                if bytes.len() as u64 > max {
                    return Err(Error::damaged(format!("the file '{name}' is too large")));
                }
            }
            Ok(Some(Versioned { bytes, version }))
        })
    }

    fn replace(&self, name: &str, bytes: &[u8], known: Option<&Version>) -> Result<bool> {
        let mode = match known {
            None => PutMode::Create,
            Some(Version { tag, generation }) => PutMode::Update(UpdateVersion {
                e_tag: tag.clone(),
                version: generation.clone(),
            }),
        };
        let payload = PutPayload::from(bytes.to_vec());
        let options = PutOptions::from(mode);
        match self.wait(self.store.put_opts(&self.path(name), payload, options)) {
            Ok(_) => Ok(true),
            Err(StoreError::AlreadyExists { .. } | StoreError::Precondition { .. }) => Ok(false),
            Err(error) => Err(self.failed("write", name, &error)),
        }
    }

    fn put(&self, name: &str, content: &Spooled, sent: &mut Sent<'_>) -> Result<()> {
        let put = if content.size() <= PART {
            self.wait(async {
                let payload = bytes(content, 0, content.size())?;
                let put = self.store.put(&self.path(name), payload).await;
                put.map(|_| ())
            })
        } else {
            self.wait(self.send_parts(name, content, sent))
        };
        put.map_err(|error| self.failed("write", name, &error))
    }

    fn fetch(&self, name: &str, size: u64, take: &mut Take<'_>) -> Result<bool> {
        if !self.is_web && size > PART {
            self.wait(self.fetch_parts(name, take))
        } else {
            self.wait(self.fetch_whole(name, take))
        }
    }

    fn written(&self, name: &str) -> Result<Option<SystemTime>> {
        let meta = self.wait(self.head(name))?;
        Ok(meta.map(|meta| meta.last_modified.into()))
    }

    fn list(&self, folder: &str) -> Result<Vec<Listed>> {
        let listed = self.wait(self.store.list_with_delimiter(Some(&self.path(folder))));
        let listed = listed.map_err(|error| self.failed("read", folder, &error))?;
        let listed = listed.objects.into_iter().filter_map(|meta| {
            Some(Listed {
                name: meta.location.filename()?.to_owned(),
                size: meta.size,
                written: meta.last_modified.into(),
            })
        });
        Ok(listed.collect())
    }

    fn has_folder(&self, name: &str) -> Result<bool> {
        self.has_files(&self.path(name), name)
    }

    /// Only checks the place: the first file makes the folder.
    fn create(&self, folder: &str, probe: &str) -> Result<()> {
        // Another publisher may have created the bucket meanwhile.
        if self.has_files(&self.folder, folder)? && !self.has_folder(folder)? {
            return Err(not_empty(self.url.to_string()));
        }
        let is_reliable = self.check_replacing(probe);
        self.remove(probe)?;
        if is_reliable? {
            Ok(())
        } else {
            Err(self.ignores_conditions())
        }
    }

    fn has_refused(&self) -> bool {
        self.has_refused.load(Ordering::Relaxed)
    }

    fn remove(&self, name: &str) -> Result<()> {
        match self.wait(self.store.delete(&self.path(name))) {
            Ok(()) | Err(StoreError::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.failed("remove", name, &error)),
        }
    }
}

/// The store called `name`: a bucket, a container, or a host.
fn store(
    scheme: &str,
    name: &str,
    deadline: Duration,
) -> Result<Option<Arc<dyn ObjectStore>>, StoreError> {
    let retry = RetryConfig {
        retry_timeout: deadline,
        ..RetryConfig::default()
    };
    let millis = |time: Duration| format!("{}ms", time.as_millis());
    // A user who names an endpoint without encryption wants that.
    let client = [
        (ClientConfigKey::Timeout, millis(deadline)),
        (
            ClientConfigKey::ConnectTimeout,
            millis(CONNECT.min(deadline)),
        ),
        (ClientConfigKey::AllowHttp, "true".to_owned()),
    ];
    let store: Arc<dyn ObjectStore> = match scheme {
        "s3" => {
            let mut builder = AmazonS3Builder::from_env().with_bucket_name(name);
            for (key, value) in client {
                builder = builder.with_config(AmazonS3ConfigKey::Client(key), value);
            }
            Arc::new(builder.with_retry(retry).build()?)
        }
        "gs" => {
            let mut builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(name);
            for (key, value) in client {
                builder = builder.with_config(GoogleConfigKey::Client(key), value);
            }
            Arc::new(builder.with_retry(retry).build()?)
        }
        "az" => {
            let mut builder = MicrosoftAzureBuilder::from_env().with_container_name(name);
            for (key, value) in client {
                builder = builder.with_config(AzureConfigKey::Client(key), value);
            }
            Arc::new(builder.with_retry(retry).build()?)
        }
        "http" | "https" => {
            // An archive may take longer than the deadline, as long as bytes come.
            let client = ClientOptions::new()
                .with_timeout_disabled()
                .with_read_timeout(deadline)
                .with_connect_timeout(CONNECT.min(deadline))
                .with_allow_http(true);
            let builder = HttpBuilder::new().with_url(format!("{scheme}://{name}"));
            let builder = builder.with_client_options(client).with_retry(retry);
            Arc::new(builder.with_http_connector(WithLengths).build()?)
        }
        _ => return Ok(None),
    };
    Ok(Some(store))
}

/// Codes of S3 that tell a key which is not valid from one that may not read or list.
const BAD_KEY: [&str; 6] = [
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "ExpiredToken",
    "InvalidToken",
    "TokenRefreshRequired",
    "RequestTimeTooSkewed",
];

/// Whether a refusal is about the key itself.
fn is_bad_key(error: &StoreError) -> bool {
    let text = error.to_string();
    BAD_KEY.iter().any(|code| text.contains(code))
}

/// Whether the answer is a page for people.
fn is_page(file: &GetResult) -> bool {
    let kind = file.attributes.get(&Attribute::ContentType);
    kind.is_some_and(|kind| kind.as_ref().starts_with("text/html"))
}

/// So many bytes of `content`, to be sent.
fn bytes(content: &Spooled, start: u64, len: u64) -> Result<PutPayload, StoreError> {
    let mut bytes = vec![0; len as usize];
    match content.read_exact_at(&mut bytes, start) {
        Ok(()) => Ok(bytes.into()),
        Err(error) => Err(StoreError::Generic {
            store: "temporary file",
            source: error.into(),
        }),
    }
}

/// The cause of a failure, without queries of URLs, which may be secrets.
fn redacted(text: &str) -> String {
    let words: Vec<_> = text.split(' ').map(shown).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::{StoreError, is_bad_key, redacted};

    /// A store that hides missing files from a key says something else of a key that is not valid.
    #[test]
    fn refusals_differ() {
        let refused = |body: &str| StoreError::PermissionDenied {
            path: "a".to_owned(),
            source: format!("403 Forbidden: <Error><Code>{body}</Code></Error>").into(),
        };
        assert!(!is_bad_key(&refused("AccessDenied")));
        assert!(is_bad_key(&refused("SignatureDoesNotMatch")));
        assert!(is_bad_key(&refused("InvalidAccessKeyId")));
    }

    #[test]
    fn causes_have_no_secrets() {
        let text = "error sending https://user:secret@host/a?sig=secret (os error 1)";
        assert_eq!(redacted(text), "error sending https://host/a (os error 1)");
    }
}
