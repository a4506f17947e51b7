//! A server of plain HTTP for the files of a bucket, which fails as a test wants, and counts.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};

use bstr::ByteSlice;

/// What becomes of the first requests.
#[derive(Clone, Copy)]
pub(super) enum Fault {
    /// They are answered with this status.
    Status(&'static str),
    /// They are answered after this time.
    Slow(Duration),
    /// The answer breaks off in the middle.
    Cut,
    /// The server does not know ranges: the answer is the whole file.
    Whole,
    /// The answer does not say its length.
    Unsized,
    /// A missing file is answered with this status, and with a page for people.
    Missing(&'static str),
}

/// A server that goes with this value.
pub(super) struct Server {
    pub(super) url: String,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    requests: AtomicU64,
    bytes: AtomicU64,
    /// Requests that still fail.
    failing: AtomicU64,
}

impl Server {
    /// Serves the files below `root`; the first `failing` requests fail.
    pub(super) fn start(root: PathBuf, failing: u64, fault: Fault) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("bound").port();
        let counts = Arc::new(Counts::default());
        counts.failing.store(failing, Relaxed);
        let shared = Arc::clone(&counts);
        // The thread ends with the process of the tests.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (root, counts) = (root.clone(), Arc::clone(&shared));
                thread::spawn(move || serve(&stream, &root, &counts, fault));
            }
        });
        Server {
            url: format!("http://127.0.0.1:{port}"),
            counts,
        }
    }

    /// Requests and bytes of content since the last call.
    pub(super) fn counted(&self) -> (u64, u64) {
        let Counts {
            requests, bytes, ..
        } = &*self.counts;
        (requests.swap(0, Relaxed), bytes.swap(0, Relaxed))
    }
}

/// Answers the requests of one connection.
fn serve(stream: &TcpStream, root: &std::path::Path, counts: &Counts, fault: Fault) {
    let mut reader = BufReader::new(stream);
    while let Some((method, path, range)) = request(&mut reader) {
        counts.requests.fetch_add(1, Relaxed);
        let fails = counts
            .failing
            .fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
        let content = fs::read(root.join(path.trim_start_matches('/'))).ok();
        let range = range.filter(|_| fails.is_err() || !matches!(fault, Fault::Whole));
        let mut of = String::new();
        let (mut status, mut body) = match (content, range) {
            (None, _) => match fault {
                Fault::Missing(status) => {
                    of = "Content-Type: text/html; charset=utf-8\r\n".to_owned();
                    (
                        status,
                        b"<!DOCTYPE html><title>There is nothing</title>".to_vec(),
                    )
                }
                _ => ("404 Not Found", Vec::new()),
            },
            (Some(content), None) => ("200 OK", content),
            (Some(content), Some((first, last))) => {
                of = format!("Content-Range: bytes {first}-{last}/{}\r\n", content.len());
                let part = &content[first..(last + 1).min(content.len())];
                ("206 Partial Content", part.to_vec())
            }
        };
        let mut sent = usize::MAX;
        match fault {
            _ if fails.is_err() => {}
            Fault::Whole | Fault::Unsized | Fault::Missing(_) => {}
            Fault::Status(other) => (status, body) = (other, Vec::new()),
            Fault::Slow(time) => thread::sleep(time),
            Fault::Cut => sent = body.len() / 2,
        }
        let is_unsized = matches!(fault, Fault::Unsized);
        let length = if is_unsized {
            "Transfer-Encoding: chunked".to_owned()
        } else {
            format!("Content-Length: {}", body.len())
        };
        let mut headers = format!("HTTP/1.1 {status}\r\n{length}\r\n");
        headers += "ETag: \"x\"\r\nLast-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\n";
        headers += &of;
        headers += "\r\n";
        body.truncate(if method == "HEAD" { 0 } else { sent });
        counts.bytes.fetch_add(body.len() as u64, Relaxed);
        if is_unsized {
            body = chunked(&body);
        }
        let mut stream = stream;
        let written = stream
            .write_all(headers.as_bytes())
            .and_then(|()| stream.write_all(&body));
        if written.is_err() || sent != usize::MAX {
            return;
        }
    }
}

/// `body` in chunks (RFC 9112, section 7.1).
fn chunked(body: &[u8]) -> Vec<u8> {
    let chunks = body.chunks(100_000).map(|chunk| {
        let len = format!("{:x}\r\n", chunk.len());
        [len.as_bytes(), chunk, b"\r\n"].concat()
    });
    chunks
        .chain([b"0\r\n\r\n".to_vec()])
        .collect::<Vec<_>>()
        .concat()
}

/// Texts, and what each of them becomes.
pub(super) type Changes = &'static [(&'static str, &'static str)];

/// A proxy of the server at `port`, which changes requests and answers. Returns its port.
pub(super) fn proxy(port: &str, [requests, answers]: [Changes; 2]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let own = listener.local_addr().expect("bound").port().to_string();
    let server = format!("127.0.0.1:{port}");
    // The threads end with the process of the tests.
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(server) = TcpStream::connect(&server) else {
                return;
            };
            let [from, to] = [&client, &server].map(|it| it.try_clone().expect("our own"));
            thread::spawn(move || forward(from, to, requests));
            thread::spawn(move || forward(server, client, answers));
        }
    });
    own
}

/// Headers come at once, so that no text is divided.
fn forward(mut from: TcpStream, mut to: TcpStream, changes: Changes) {
    let mut buffer = vec![0; 256 << 10];
    while let Ok(len @ 1..) = from.read(&mut buffer) {
        let mut bytes = buffer[..len].to_vec();
        for (old, new) in changes {
            bytes = bytes.replace(old, new);
        }
        if to.write_all(&bytes).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Write);
}

/// The first and the last byte that are asked for.
type Range = (usize, usize);

/// The method, the path and the range of the next request.
fn request(reader: &mut impl BufRead) -> Option<(String, String, Option<Range>)> {
    let mut lines = reader.lines().map_while(Result::ok);
    let first = lines.next()?;
    let mut words = first.split(' ').map(ToOwned::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let mut range = None;
    for line in lines.take_while(|line| !line.is_empty()) {
        if let Some(bytes) = line.to_ascii_lowercase().strip_prefix("range: bytes=") {
            let (first, last) = bytes.split_once('-')?;
            range = Some((first.parse().ok()?, last.parse().ok()?));
        }
    }
    Some((method, path, range))
}
