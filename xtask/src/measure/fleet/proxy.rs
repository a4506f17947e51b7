//! Counts what machines are sent: a proxy in front of a server, which passes bytes on in both directions.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

use anyhow::Result;

/// A proxy that goes with the process.
pub(super) struct Proxy {
    pub(super) port: u16,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    connections: AtomicU64,
    bytes: AtomicU64,
}

impl Proxy {
    /// In front of the server at this port.
    pub(super) fn start(server: u16) -> Result<Proxy> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let counts = Arc::new(Counts::default());
        let shared = Arc::clone(&counts);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else {
                    continue;
                };
                shared.connections.fetch_add(1, Relaxed);
                pass_on(&client, &server, None);
                pass_on(&server, &client, Some(Arc::clone(&shared)));
            }
        });
        Ok(Proxy { port, counts })
    }

    /// Connections and bytes to clients since the last call. A server that closes each connection after one answer has as
    /// many connections as requests.
    pub(super) fn counted(&self) -> (u64, u64) {
        let Counts { connections, bytes } = &*self.counts;
        (connections.swap(0, Relaxed), bytes.swap(0, Relaxed))
    }
}

/// Passes bytes on until one side closes; a failure counts as the end.
fn pass_on(from: &TcpStream, to: &TcpStream, counts: Option<Arc<Counts>>) {
    let (Ok(mut from), Ok(mut to)) = (from.try_clone(), to.try_clone()) else {
        return;
    };
    thread::spawn(move || {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(len @ 1..) = from.read(&mut buffer) {
            if let Some(counts) = &counts {
                counts.bytes.fetch_add(len as u64, Relaxed);
            }
            if to.write_all(&buffer[..len]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    });
}
