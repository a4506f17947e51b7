//! Archives over HTTP: `http-server <address> <directory>` answers `GET /<repository>/<revision>.tar.gz`.

use std::{env, error::Error, io, sync::Arc};

use axum::{Router, body::Body, extract::Path, http::StatusCode, routing::get};
use git_sluice::{CommandLine, Outputs, Session};
use tokio::{net::TcpListener, sync::mpsc, task};
use tokio_stream::{StreamExt, once, wrappers::ReceiverStream};

/// Sends an archive piece by piece, and waits for a slow client.
struct Pieces(mpsc::Sender<io::Result<Vec<u8>>>);

impl io::Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let sent = self.0.blocking_send(Ok(bytes.to_vec()));
        sent.map_or(Err(io::ErrorKind::BrokenPipe.into()), |()| Ok(bytes.len()))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

async fn archive(session: Arc<Session>, name: String, file: String) -> Result<Body, StatusCode> {
    let revision = file.strip_suffix(".tar.gz").ok_or(StatusCode::NOT_FOUND)?;
    // Neither an option nor a path that leads out of the directory.
    if revision.starts_with('-') || name.starts_with('.') || name.contains('/') {
        return Err(StatusCode::NOT_FOUND);
    }
    let words = ["archive", "-j1", "--memory=16m", "--format=tar.gz"];
    let line = CommandLine::new(name, words.into_iter().chain([revision]));
    let (sender, receiver) = mpsc::channel(4);
    task::spawn_blocking(move || {
        let outputs = Outputs::new(Pieces(sender.clone()));
        if let Err(failure) = session.answer(line, outputs) {
            // Cuts the answer, so that the client notices.
            let _ = sender.blocking_send(Err(io::Error::other(failure)));
        }
    });
    let mut pieces = ReceiverStream::new(receiver);
    match pieces.next().await {
        Some(Ok(first)) => Ok(Body::from_stream(once(Ok(first)).chain(pieces))),
        _ => Err(StatusCode::NOT_FOUND),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = env::args().skip(1).collect();
    let [address, directory] = &words[..] else {
        return Err("usage: http-server <address> <directory>".into());
    };
    let session = Arc::new(Session::new(directory, |name| env::var_os(name)));
    let route = get(move |Path((name, file))| archive(session.clone(), name, file));
    let listener = TcpListener::bind(address).await?;
    println!("{}", listener.local_addr()?);
    Ok(axum::serve(listener, Router::new().route("/{name}/{file}", route)).await?)
}
