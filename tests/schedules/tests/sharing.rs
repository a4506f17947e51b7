//! Processes that share a directory of archives, in many orders: though processes die, clients leave and room runs out, each
//! client that stays gets every byte of its archive, the directory keeps its bounds, and nobody waits forever.

use std::{
    fs::File,
    io::{ErrorKind, PipeReader, Read, Write},
    os::fd::OwnedFd,
    path::Path,
    sync::{
        LazyLock,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use rustix::fs::{OFlags, fcntl_setfl};
use schedules::{
    cache::{Account, CacheRequest, Failure, Key, Role, Settings, deliver},
    explore,
    process::{self, step},
};
use shuttle::{
    rand::{Rng, thread_rng},
    thread,
};
use tempfile::TempDir;

/// Schedules of each scheduler.
const SCHEDULES: usize = 100;
/// Bytes of a piece of an archive: as many as readers are told of at once.
const PIECE: usize = 512 << 10;
/// Pieces of an archive.
const PIECES: usize = 4;
/// Turns of other threads that a client awaits before it leaves.
const HANG: usize = 200;
/// More steps than a process takes that makes an archive.
const STEPS: usize = 100;

/// A process that asks for an archive.
#[derive(Clone, Copy)]
struct Process {
    /// The archive.
    number: u8,
    /// Pieces of the archive.
    pieces: usize,
    /// The bytes after which the client leaves.
    leaves_after: usize,
    /// The steps after which the process dies.
    dies_after: Option<usize>,
    /// The pieces that follow from the key alone.
    shareable: usize,
}

/// A process that asks for this archive, and whose client takes all of it.
const fn asks_for(number: u8) -> Process {
    Process {
        number,
        pieces: PIECES,
        leaves_after: usize::MAX,
        dies_after: None,
        shareable: usize::MAX,
    }
}

/// What became of a process.
#[derive(Debug)]
struct Served {
    /// The part of the process in the work, unless it died or failed.
    role: Option<Role>,
    /// Bytes of the archive that the client got.
    received: usize,
}

/// A directory, and what processes have done there.
struct Scene {
    settings: Settings,
    /// Productions so far.
    productions: AtomicUsize,
    /// Pieces of all productions so far.
    pieces: AtomicUsize,
    /// Productions that go on.
    active: AtomicUsize,
    /// Whether each production makes other bytes.
    varies: bool,
    top: TempDir,
}

impl Scene {
    /// In memory, if there is a file system.
    fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let prefix = format!("git-sluice-test-{}-", std::process::id());
        let mut builder = tempfile::Builder::new();
        let top = if memory.is_dir() {
            builder.prefix(&prefix).tempdir_in(memory)
        } else {
            builder.prefix(&prefix).tempdir()
        };
        let top = top.expect("there is room");
        Self {
            settings: Settings {
                directory: top.path().join("cache"),
                size: 1 << 30,
                age: Duration::from_secs(1000),
                always: true,
                finish: false,
                jobs: None,
                wait: None,
                fault: None,
            },
            productions: AtomicUsize::new(0),
            pieces: AtomicUsize::new(0),
            active: AtomicUsize::new(0),
            varies: false,
            top,
        }
    }

    /// Runs all `processes` at a time.
    fn run(&self, processes: &[Process]) -> Vec<Served> {
        thread::scope(|scope| {
            let start = |&process| scope.spawn(move || self.serve(process));
            let started: Vec<_> = processes.iter().map(start).collect();
            let served = started.into_iter().map(|it| it.join().expect("no panic"));
            served.collect()
        })
    }

    fn serve(&self, process: Process) -> Served {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        for end in [
            OwnedFd::from(reader.try_clone().expect("a pipe")),
            writer.try_clone().expect("a pipe").into(),
        ] {
            fcntl_setfl(&end, OFlags::NONBLOCK).expect("our own");
        }
        thread::scope(|scope| {
            let receive = move || receive(reader, process.leaves_after);
            let receiver = scope.spawn(receive);
            // A thread of its own: when the last thread of a scope ends, shuttle wakes the thread that opened the scope,
            // whatever it waits for.
            let run = scope.spawn(move || {
                let output = File::from(OwnedFd::from(writer));
                process::run(process.dies_after, move || self.deliver(process, &output))
            });
            Served {
                role: run.join().expect("no panic").flatten(),
                received: receiver.join().expect("no panic"),
            }
        })
    }

    /// Delivers the archive of `process`. `None` if its client has left, or has the start of another archive.
    fn deliver(&self, process: Process, output: &File) -> Option<Role> {
        let made = AtomicUsize::new(0);
        let order = CacheRequest {
            family: None,
            key: Ok(Key([process.number; 32])),
            end: None,
            is_readable: &|_| true,
            is_shareable: &|| made.load(SeqCst) <= process.shareable,
        };
        let produce = |writer: &mut (dyn Write + Send)| {
            let production = self.productions.fetch_add(1, SeqCst) as u8;
            let number = if self.varies {
                production
            } else {
                process.number
            };
            let _active = Active::begin(&self.active, self.settings.jobs);
            for piece in 0..process.pieces {
                step();
                made.fetch_add(1, SeqCst);
                self.pieces.fetch_add(1, SeqCst);
                writer.write_all(content(number, piece * PIECE))?;
            }
            Ok::<_, std::io::Error>(vec![process.number])
        };
        let mut account = Account::default();
        match deliver(&self.settings, order, output, produce, &mut account) {
            Ok(notes) => {
                assert_eq!(notes, [process.number]);
                Some(account.role)
            }
            Err(Failure::Producer(error) | Failure::Client(error)) => {
                let is_expected = error.kind() == ErrorKind::BrokenPipe || self.varies;
                assert!(is_expected, "{error}");
                None
            }
            Err(Failure::Differs) if self.varies => None,
            Err(failure) => panic!("{failure:?}, {account:?}"),
        }
    }

    /// The names in the directory, sorted: a letter for each complete archive, its kind for any other.
    fn names(&self) -> String {
        let listed = std::fs::read_dir(&self.settings.directory).expect("ours");
        let names = listed.map(|it| it.expect("ours").file_name().into_string().expect("ASCII"));
        let mut names: Vec<_> = names
            .filter(|name| !["seen", "lock", "queue"].contains(&&name[..]))
            .map(|name| name.replace(&name[..63], ""))
            .collect();
        names.sort_unstable();
        names.join(" ")
    }

    fn productions(&self) -> usize {
        self.productions.load(SeqCst)
    }
}

/// A production that goes on.
struct Active<'a>(&'a AtomicUsize);

impl<'a> Active<'a> {
    /// At most `limit` may go on at once.
    fn begin(active: &'a AtomicUsize, limit: Option<usize>) -> Self {
        let others = active.fetch_add(1, SeqCst);
        assert!(limit.is_none_or(|limit| others < limit), "too many at once");
        Self(active)
    }
}

impl Drop for Active<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

/// Byte `at` of the archive `number`, and those behind it in the same piece.
fn content(number: u8, at: usize) -> &'static [u8] {
    static PIECES_OF_ALL: LazyLock<Vec<Vec<u8>>> =
        LazyLock::new(|| (0..=255).map(|byte| vec![byte; PIECE]).collect());
    let piece = (at / PIECE) % 16;
    &PIECES_OF_ALL[16 * usize::from(number) + piece][at % PIECE..]
}

/// Reads an archive from `pipe` until it ends, or the client leaves after some time. Returns the number of bytes.
fn receive(mut pipe: PipeReader, leaves_after: usize) -> usize {
    let mut chunk = vec![0; 64 << 10];
    let mut number = 0;
    let mut received = 0;
    while received < leaves_after {
        let room = (PIECE - received % PIECE).min(chunk.len());
        match pipe.read(&mut chunk[..room]) {
            Ok(0) => return received,
            Ok(count) => {
                if received == 0 {
                    number = chunk[0] / 16;
                }
                let expected = content(number, received);
                assert!(expected.starts_with(&chunk[..count]), "wrong bytes");
                received += count;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    }
    (0..HANG).for_each(|_| thread::yield_now());
    received
}

/// Each client that stays has its archive.
fn check(processes: &[Process], served: &[Served]) {
    for (process, served) in processes.iter().zip(served) {
        let whole = process.pieces * PIECE;
        let stays = process.dies_after.is_none() && process.leaves_after == usize::MAX;
        let is_whole = served.role.is_some() && served.received == whole;
        assert!(!stays || is_whole, "{served:?} of {whole} bytes");
    }
}

#[test]
fn processes_share_one_production() {
    explore(SCHEDULES, || {
        let (scene, processes) = (Scene::new(), [asks_for(1); 3]);
        let served = scene.run(&processes);
        check(&processes, &served);
        assert_eq!((scene.productions(), &scene.names()[..]), (1, "1"));
        let producers = served.iter().filter(|it| it.role == Some(Role::Producer));
        assert_eq!(producers.count(), 1);
    });
}

#[test]
fn what_nobody_else_asks_for_is_not_kept() {
    explore(SCHEDULES, || {
        let mut scene = Scene::new();
        scene.settings.always = false;
        check(&[asks_for(1)], &scene.run(&[asks_for(1)]));
        assert_eq!(scene.names(), "");
        let more = [asks_for(1); 2];
        check(&more, &scene.run(&more));
        assert_eq!((scene.productions(), &scene.names()[..]), (2, "1"));
    });
}

#[test]
fn a_client_that_leaves_stops_the_production() {
    for pieces in [0, 1, 7] {
        explore(SCHEDULES / 4, move || {
            let scene = Scene::new();
            let process = Process {
                pieces: 40,
                leaves_after: pieces * PIECE,
                ..asks_for(1)
            };
            let served = scene.run(&[process]);
            check(&[process], &served);
            assert!(served[0].role.is_none());
            // What is in the pipe, 8 MiB ahead, and the piece in the making.
            let made = scene.pieces.load(SeqCst);
            assert!(made <= pieces + 1 + 16 + 1, "{made}");
            assert_eq!(scene.names(), "");
        });
    }
}

#[test]
fn an_archive_is_finished_for_later_clients() {
    explore(SCHEDULES, || {
        let mut scene = Scene::new();
        scene.settings.always = false;
        scene.settings.finish = true;
        let leaves = Process {
            leaves_after: PIECE,
            ..asks_for(1)
        };
        let served = scene.run(&[leaves; 2]);
        assert!(served.iter().all(|it| it.role.is_none()), "{served:?}");
        assert_eq!((scene.productions(), &scene.names()[..]), (1, "1"));
    });
}

#[test]
fn followers_outlive_a_client_that_leaves() {
    explore(SCHEDULES, || {
        let scene = Scene::new();
        let leaves = Process {
            leaves_after: PIECE,
            ..asks_for(1)
        };
        let processes = [leaves, asks_for(1), asks_for(1)];
        check(&processes, &scene.run(&processes));
        assert!(scene.productions() <= 2);
        assert_eq!(scene.names(), "1");
    });
}

#[test]
fn survivors_go_on_where_the_dead_stopped() {
    explore(2 * SCHEDULES, || {
        let scene = Scene::new();
        let dies = || Process {
            dies_after: Some(thread_rng().gen_range(0..STEPS)),
            ..asks_for(1)
        };
        let processes = [dies(), dies(), asks_for(1), asks_for(1)];
        check(&processes, &scene.run(&processes));
        assert!(scene.productions() <= 3, "one for each that dies");
        // The next process that makes an archive removes what the dead have left: perhaps an archive that only lacks its name.
        check(&[asks_for(2)], &scene.run(&[asks_for(2)]));
        let names = scene.names();
        assert!(["2", "1 2"].contains(&&names[..]), "{names}");
    });
}

#[test]
fn productions_are_not_mixed() {
    explore(2 * SCHEDULES, || {
        let mut scene = Scene::new();
        scene.varies = true;
        let dies = Process {
            dies_after: Some(thread_rng().gen_range(0..STEPS)),
            ..asks_for(1)
        };
        let served = scene.run(&[dies, asks_for(1), asks_for(1)]);
        let whole = |it: &&Served| it.role.is_none() || it.received == PIECES * PIECE;
        assert!(served[1..].iter().all(|it| whole(&it)), "{served:?}");
    });
}

#[test]
fn what_depends_on_more_than_the_key_is_not_shared() {
    for shareable in [0, 2, PIECES - 1] {
        explore(SCHEDULES / 2, move || {
            let scene = Scene::new();
            let process = Process {
                shareable,
                ..asks_for(1)
            };
            let processes = [process; 3];
            check(&processes, &scene.run(&processes));
            assert_eq!((scene.productions(), &scene.names()[..]), (3, ""));
        });
    }
}

#[test]
fn the_directory_keeps_its_size() {
    explore(SCHEDULES, || {
        let mut scene = Scene::new();
        scene.settings.size = 4 << 20;
        let processes = [asks_for(1), asks_for(2), asks_for(1)];
        let is_over = AtomicUsize::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                while is_over.load(SeqCst) == 0 {
                    let size = size(scene.top.path());
                    assert!(size <= scene.settings.size, "{size} bytes");
                    thread::yield_now();
                }
            });
            check(&processes, &scene.run(&processes));
            is_over.store(1, SeqCst);
        });
        assert!(scene.names().len() <= 1, "{}", scene.names());
    });
}

/// The bytes of all files below `directory`.
fn size(directory: &Path) -> u64 {
    let Ok(listed) = std::fs::read_dir(directory.join("cache")) else {
        return 0;
    };
    let metadata = listed.filter_map(|it| it.expect("ours").metadata().ok());
    metadata.map(|it| it.len()).sum()
}

#[test]
fn turns_are_kept() {
    explore(SCHEDULES, || {
        let mut scene = Scene::new();
        scene.settings.jobs = Some(1);
        let dies = Process {
            dies_after: Some(thread_rng().gen_range(0..STEPS)),
            ..asks_for(3)
        };
        let processes = [asks_for(1), asks_for(2), dies, asks_for(1)];
        check(&processes, &scene.run(&processes));
    });
}
