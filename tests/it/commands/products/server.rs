//! A server on a free port of this machine.

use std::{
    net::{Ipv4Addr, TcpListener, TcpStream},
    process::Command,
    thread,
    time::Duration,
};

use crate::support::process::Running;

/// Another program may take a port between its choice and its use.
const ATTEMPTS: usize = 3;

/// A server that listens. It ends with this value.
pub(super) struct Server {
    pub(super) port: u16,
    _running: Running,
}

impl Server {
    /// Starts the server that `command` returns for a port, and waits until it listens.
    #[track_caller]
    pub(super) fn start(command: impl Fn(u16) -> Command) -> Server {
        let mut ended = None;
        for _ in 0..ATTEMPTS {
            let port = free_port();
            let mut running = Running::start(&mut command(port));
            while !running.has_ended() {
                if TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok() {
                    return Server {
                        port,
                        _running: running,
                    };
                }
                thread::sleep(Duration::from_millis(5));
            }
            ended = Some(running.finish());
        }
        panic!("{}", ended.expect("there were attempts"));
    }
}

/// A port that nobody uses now.
fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    listener.local_addr().expect("it is bound").port()
}
