//! Serves one client: finds the place of the key, and reads, follows, leads, or goes past the cache.

use std::{fs::File, io::Write, sync::Arc, time::Instant};

use super::{
    admission,
    client::{Client, Stop},
    directory::{self, CacheDirectory},
    entry::{self, Contents, Damaged},
    error::CacheError,
    follow::{Ending, follow},
    jobs::{Busy, Job},
    latest,
    producer::{self, Claim},
    request::{Account, CacheRequest, Failure, Key, Produce, Role},
    settings::{SMALLEST, Settings},
    stored::StoredArchive,
};
use sluice_base::sync::thread;

/// The number of attempts at a search that other processes disturb.
const ATTEMPTS: usize = 100;

/// Delivers the archive of `order` to `output`: from the directory if it is there, or else from `produce`, which writes the
/// full archive and returns notes about it. Returns the notes, perhaps those of another process. Fills in `account` in any
/// case.
pub fn deliver<E>(
    settings: &Settings,
    order: CacheRequest<'_>,
    output: &File,
    produce: impl Produce<E>,
    account: &mut Account,
) -> Result<Vec<u8>, Failure<E>> {
    let mut delivery = Delivery::begin(settings, &order, Some(output), account);
    let outcome = delivery.carry_out(order.key, produce);
    delivery.account.served = delivery.client.sent();
    outcome
}

/// Completes the archive of `order` in the directory, as for a client, and returns it for parts of it to be read. Fails
/// if the archive cannot be there. Fills in `account` in any case, except for the bytes that are served.
pub fn complete<E>(
    settings: &Settings,
    order: CacheRequest<'_>,
    produce: impl Produce<E>,
    account: &mut Account,
) -> Result<StoredArchive, Failure<E>> {
    let key = order.key.clone();
    let mut delivery = Delivery::begin(settings, &order, None, account);
    delivery.carry_out(order.key, produce)?;
    let file = delivery.client.into_file();
    let stored = file.zip(key.ok()).ok_or(Damaged);
    let stored = stored.and_then(|(file, key)| StoredArchive::read(file, &key));
    stored.map_err(|Damaged| Stop::Damaged.into_failure())
}

/// Opens the directory of `settings`, and creates it if it is missing.
pub(super) fn open(settings: &Settings) -> Result<CacheDirectory, CacheError> {
    match &settings.fault {
        Some(reason) => Err(CacheError(reason.clone())),
        // A directory without room has turns alone.
        None if (1..SMALLEST).contains(&settings.size) => {
            Err(CacheError("the directory may hold less than 1 MiB".into()))
        }
        None => CacheDirectory::open(&settings.directory),
    }
}

/// Why this user cannot share archives in the directory of `settings`, if it exists.
pub fn unusable(settings: &Settings) -> Option<String> {
    if settings.directory.exists() {
        open(settings).err().map(|CacheError(reason)| reason)
    } else {
        None
    }
}

/// One client that is being served.
struct Delivery<'a> {
    settings: &'a Settings,
    client: Client<'a>,
    is_shareable: &'a (dyn Fn() -> bool + Sync),
    is_readable: &'a dyn Fn(&[u8]) -> bool,
    family: Option<Key>,
    begun: Instant,
    account: &'a mut Account,
}

/// The place of a key.
enum KeyPlace {
    /// A complete archive.
    Complete(Arc<File>),
    /// An archive that another process makes.
    Growing(Arc<File>),
    /// No archive; this process holds the lock of the empty file.
    Empty(Arc<File>),
}

impl<'a> Delivery<'a> {
    fn begin(
        settings: &'a Settings,
        order: &CacheRequest<'a>,
        output: Option<&'a File>,
        account: &'a mut Account,
    ) -> Self {
        account.key = order.key.as_ref().ok().map(Key::hex);
        Self {
            settings,
            client: Client::new(output, order.end),
            is_shareable: order.is_shareable,
            is_readable: order.is_readable,
            family: order.family,
            begun: Instant::now(),
            account,
        }
    }

    /// Delivers the archive `key`, or that without a key for this reason.
    fn carry_out<E>(
        &mut self,
        key: Result<Key, String>,
        produce: impl Produce<E>,
    ) -> Result<Vec<u8>, Failure<E>> {
        match (open(self.settings), key) {
            (Ok(directory), Ok(_)) if self.settings.size == 0 => self.alone(
                Some(&directory),
                "the directory stores no archive".into(),
                produce,
            ),
            (Ok(directory), Ok(key)) => self.share(&directory, &key, produce),
            (Ok(directory), Err(reason)) => self.alone(Some(&directory), reason, produce),
            (Err(CacheError(reason)), _) => {
                self.account.is_unusable = true;
                self.alone(None, reason, produce)
            }
        }
    }

    fn share<E>(
        &mut self,
        directory: &CacheDirectory,
        key: &Key,
        produce: impl Produce<E>,
    ) -> Result<Vec<u8>, Failure<E>> {
        let name = key.hex();
        for _ in 0..ATTEMPTS {
            let ending = match self.find(directory, &name) {
                Err(CacheError(reason)) => return self.alone(Some(directory), reason, produce),
                Ok(KeyPlace::Empty(file)) => {
                    return self.produce_for_all(directory, key, file, produce);
                }
                Ok(KeyPlace::Complete(file)) => {
                    self.account.role = Role::Hit;
                    self.read(directory, key, &file)
                }
                Ok(KeyPlace::Growing(file)) => {
                    self.account.role = Role::Follow;
                    let client = &mut self.client;
                    follow(client, directory, key, &file, self.is_readable)
                }
            };
            match ending.map_err(Stop::into_failure)? {
                Ending::Notes(notes) => return Ok(notes),
                Ending::Alone(CacheError(reason)) => {
                    return self.alone(Some(directory), reason, produce);
                }
                Ending::Again => {}
            }
        }
        self.alone(
            Some(directory),
            "other processes are in the way".into(),
            produce,
        )
    }

    /// Looks up the place of the key `name`, and takes a place that is empty.
    fn find(&self, directory: &CacheDirectory, name: &str) -> Result<KeyPlace, CacheError> {
        let part = entry::part(name);
        for attempt in 0..ATTEMPTS {
            if let Some(file) = directory.open_file(name)? {
                if directory::is_older(&file, self.settings.age) {
                    directory.remove_this(name, &file)?
                } else {
                    return Ok(KeyPlace::Complete(Arc::new(file)));
                }
            }
            if let Some(file) = directory.open_file(&part)? {
                if !directory::try_lock(&file)? {
                    return Ok(KeyPlace::Growing(Arc::new(file)));
                }
                entry::discard_partial(directory, name, &file)?;
            } else if let Some(file) = directory.create_file(&part)?
                && directory::try_lock(&file)?
                && directory.is_at(&part, &file)?
            {
                // Another producer may have ended between the two looks.
                if !directory.exists(name)? {
                    return Ok(KeyPlace::Empty(Arc::new(file)));
                }
                entry::discard_partial(directory, name, &file)?;
            }
            thread::sleep(directory::nap(attempt));
        }
        Err(CacheError("other processes are in the way".into()))
    }

    /// Sends the complete archive `key`, each chunk after its sum was verified.
    fn read(
        &mut self,
        directory: &CacheDirectory,
        key: &Key,
        file: &Arc<File>,
    ) -> Result<Ending, Stop> {
        let name = &key.hex();
        let mut contents = match Contents::read(file, key) {
            Ok(contents) if (self.is_readable)(&contents.notes) => contents,
            _ => return Ok(self.discard(directory, name, file)),
        };
        directory::touch(file);
        while let Some(end) = contents.next_end() {
            self.client.check_time()?;
            let sent = match contents.verify(file) {
                Ok(()) => self.client.catch_up(file, end),
                Err(Damaged) => Err(Stop::Damaged),
            };
            match sent {
                Err(Stop::Damaged) => return Ok(self.discard(directory, name, file)),
                sent => sent?,
            }
        }
        if self.client.sent() > contents.produced {
            Err(Stop::Differs)
        } else {
            Ok(Ending::Notes(contents.notes))
        }
    }

    /// Removes a damaged archive; it is made again.
    fn discard(&self, directory: &CacheDirectory, name: &str, file: &File) -> Ending {
        match directory.remove_this(name, file) {
            Ok(()) => Ending::Again,
            Err(error) => Ending::Alone(error),
        }
    }

    /// Produces for the client and for all who follow.
    fn produce_for_all<E>(
        &mut self,
        directory: &CacheDirectory,
        key: &Key,
        file: Arc<File>,
        produce: impl Produce<E>,
    ) -> Result<Vec<u8>, Failure<E>> {
        let was_seen = admission::record_request(directory, key, self.settings.age);
        let keep = self.settings.always || was_seen;
        let claim = match Claim::begin(directory, self.settings, key, file, keep) {
            Ok(claim) => claim,
            Err(CacheError(reason)) => return self.alone(Some(directory), reason, produce),
        };
        self.account.role = Role::Producer;
        let job = match self.job() {
            Ok(job) => job,
            Err(Busy) => {
                claim.leave();
                return Err(Failure::Busy);
            }
        };
        let produce = |writer: &mut (dyn Write + Send)| {
            let notes = produce(writer);
            // The client may take longer than the producer.
            drop(job);
            notes
        };
        let produced = producer::run(
            claim,
            &mut self.client,
            self.is_shareable,
            produce,
            self.account,
        );
        if let (Ok(_), Some(family), Ok(true)) =
            (&produced, &self.family, directory.exists(&key.hex()))
        {
            latest::write(directory, family, key);
        }
        produced
    }

    /// Produces for the client alone, if there is one.
    fn alone<E>(
        &mut self,
        directory: Option<&CacheDirectory>,
        reason: String,
        produce: impl Produce<E>,
    ) -> Result<Vec<u8>, Failure<E>> {
        self.account.role = Role::Bypass;
        self.account.reason = Some(reason.clone());
        if !self.client.exists() {
            return Err(Failure::Bypass(reason));
        }
        let job = directory.map(|_| self.job()).transpose();
        let Ok(_job) = job else {
            return Err(Failure::Busy);
        };
        let mut rest = self.client.rest();
        let outcome = produce(&mut rest);
        self.account.produced = rest.taken();
        if rest.differs() {
            Err(Failure::Differs)
        } else {
            outcome.map_err(Failure::Producer)
        }
    }

    /// The turn to produce. `None` without a limit, and where the directory has no locks.
    fn job(&self) -> Result<Option<Job>, Busy> {
        let Some(jobs) = self.settings.jobs else {
            return Ok(None);
        };
        // Who follows a run that waits for its turn waits as well.
        let since = match self.client.sent() {
            0 => self.begun,
            _ => Instant::now(),
        };
        let wait = self.settings.wait;
        let wait = wait.and_then(|limit| since.checked_add(limit));
        // The time of a request goes on while it waits.
        let end = wait.into_iter().chain(self.client.end).min();
        Job::wait(&self.settings.directory, jobs, end)
    }
}
