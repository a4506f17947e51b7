//! Answers of servers of plain HTTP that do not say their length, as those do that compress or make files on the way.
//!
//! The crate `object_store` reads no answer without a length, so such an answer gets one that no file has. No caller may rely on
//! it: the end of the answer is the end of the file, and the channel says which length an archive has.

use std::{future::Future, pin::Pin};

use object_store::{
    ClientOptions, HeaderValue, Result,
    client::{
        HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpService,
        ReqwestConnector,
    },
};

const LENGTH: &str = "content-length";
/// The length of a file whose length is not known.
const UNKNOWN: HeaderValue = HeaderValue::from_static("9223372036854775807");

/// Makes clients whose answers all have a length.
#[derive(Debug)]
pub(super) struct WithLengths;

impl HttpConnector for WithLengths {
    fn connect(&self, options: &ClientOptions) -> Result<HttpClient> {
        let client = ReqwestConnector::default().connect(options)?;
        Ok(HttpClient::new(Lengthening(client)))
    }
}

#[derive(Debug)]
struct Lengthening(HttpClient);

type Answer<'a> = Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'a>>;

impl HttpService for Lengthening {
    fn call<'s, 'a>(&'s self, request: HttpRequest) -> Answer<'a>
    where
        's: 'a,
        Self: 'a,
    {
        Box::pin(async move {
            let mut response = self.0.execute(request).await?;
            response.headers_mut().entry(LENGTH).or_insert(UNKNOWN);
            Ok(response)
        })
    }
}
