//! Reads of mapped files that fail: one of eight modules with `unsafe` code.
//!
//! If a page of a mapped file cannot be read (a disk error, a stale file of NFS, a file that somebody cut), the system
//! sends SIGBUS, which ends the process. In a batch, all clients would lose their answers for one bad file. Here a handler
//! puts zeros in the place of the whole mapping, and notes it. So the reader goes on with wrong bytes: it must ask
//! `Watch::failed_at` after it has read, and before anybody relies on the result. Wayland's `wl_shm` guards its shared
//! memory in the same way. Reads into buffers would need no signal, but cost a fifth of the whole run (see `map`).
//!
//! SIGBUS at any other address is passed to the handler that was there before.
//!
//! The handler must allocate nothing and take no lock.
#![allow(unsafe_code)]

use std::{
    ffi::{c_int, c_void},
    mem, ptr,
    sync::{
        Once,
        atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering},
    },
};

/// The mappings that are watched, as a list that only grows. A slot is used again after its mapping has ended.
static SLOTS: AtomicPtr<MappingSlot> = AtomicPtr::new(ptr::null_mut());
/// The handler that was there before.
static PREVIOUS: AtomicPtr<libc::sigaction> = AtomicPtr::new(ptr::null_mut());
/// No read has failed.
const NEVER: usize = usize::MAX;

/// A mapping whose failing reads are noted, until this value is dropped.
pub(super) struct Watch(&'static MappingSlot);

impl Watch {
    /// Watches the `len` bytes at `start`, which must stay mapped until the value is dropped.
    pub(super) fn new(start: *const u8, len: usize) -> Self {
        install();
        let slot = MappingSlot::take();
        slot.set(start as usize, len);
        Self(slot)
    }

    /// The offset in bytes of the first read that failed. The whole mapping reads as zeros since then.
    pub(super) fn failed_at(&self) -> Option<usize> {
        // A thread that reads zeros sees this note, too: the note came before the zeros.
        let offset = self.0.failed_at.load(Ordering::SeqCst);
        (offset != NEVER).then_some(offset)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.set(0, 0);
        self.0.is_taken.store(false, Ordering::Release);
    }
}

/// The range of one mapping.
struct MappingSlot {
    next: Option<&'static MappingSlot>,
    is_taken: AtomicBool,
    /// Odd while the range changes, so that the handler never combines the halves of two ranges.
    version: AtomicUsize,
    start: AtomicUsize,
    len: AtomicUsize,
    failed_at: AtomicUsize,
}

impl MappingSlot {
    /// A slot that nobody uses.
    fn take() -> &'static Self {
        let is_free = |slot: &&MappingSlot| {
            let (before, after) = (Ordering::Acquire, Ordering::Relaxed);
            // The first look is cheap: a repository may have thousands of packs.
            !slot.is_taken.load(after)
                && slot
                    .is_taken
                    .compare_exchange(false, true, before, after)
                    .is_ok()
        };
        slots().find(is_free).unwrap_or_else(Self::add)
    }

    /// A new slot in the list.
    fn add() -> &'static Self {
        let new = Box::leak(Box::new(Self {
            next: None,
            is_taken: AtomicBool::new(true),
            version: AtomicUsize::new(0),
            start: AtomicUsize::new(0),
            len: AtomicUsize::new(0),
            failed_at: AtomicUsize::new(NEVER),
        }));
        loop {
            new.next = first();
            let next = new
                .next
                .map_or(ptr::null_mut(), |next| ptr::from_ref(next).cast_mut());
            let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
            if SLOTS.compare_exchange(next, new, success, failure).is_ok() {
                return new;
            }
        }
    }

    /// Sets the range. Only the owner of the slot does so.
    fn set(&self, start: usize, len: usize) {
        self.version.fetch_add(1, Ordering::SeqCst);
        self.start.store(start, Ordering::SeqCst);
        self.len.store(len, Ordering::SeqCst);
        self.failed_at.store(NEVER, Ordering::SeqCst);
        self.version.fetch_add(1, Ordering::SeqCst);
    }

    /// The range, unless it is about to change. The range with an address that a thread reads does not change.
    fn range(&self) -> Option<(usize, usize)> {
        let version = self.version.load(Ordering::SeqCst);
        let range = (
            self.start.load(Ordering::SeqCst),
            self.len.load(Ordering::SeqCst),
        );
        let is_settled =
            version.is_multiple_of(2) && self.version.load(Ordering::SeqCst) == version;
        is_settled.then_some(range)
    }

    /// Puts zeros in the place of the mapping, if `address` belongs to it.
    fn survive(&self, address: usize) -> bool {
        let Some((start, len)) = self.range() else {
            return false;
        };
        let Some(offset) = address.checked_sub(start).filter(|&offset| offset < len) else {
            return false;
        };
        let (unset, found) = (Ordering::SeqCst, Ordering::SeqCst);
        let _ = self.failed_at.compare_exchange(NEVER, offset, unset, found);
        // SAFETY: the range is a mapping of a file, whose owner stands in the middle of a read and so keeps it.
        unsafe { put_zeros(start, len) }
    }
}

/// Puts zeros in the place of `len` bytes from the page at `start` on. A reader asks afterwards whether a read has failed,
/// and zeros are valid bytes for the shared slices into a mapped file.
///
/// # Safety
///
/// The range is part of a mapped file that is only read, and stays mapped during the call.
unsafe fn put_zeros(start: usize, len: usize) -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: only the given range is mapped again.
    let zeros = unsafe { libc::mmap(start as *mut c_void, len, libc::PROT_READ, flags, -1, 0) };
    zeros != libc::MAP_FAILED
}

/// All slots.
fn slots() -> impl Iterator<Item = &'static MappingSlot> {
    std::iter::successors(first(), |slot| slot.next)
}

/// The slot that was added last.
fn first() -> Option<&'static MappingSlot> {
    // SAFETY: the list holds leaked slots only, and a slot is complete before it is in the list.
    unsafe { SLOTS.load(Ordering::Acquire).as_ref() }
}

/// Installs the handler, once. Without it, a read that fails ends the process, as in other programs.
fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // SAFETY: both structures are plain data, for which zeros are valid, and the handler has the type that SA_SIGINFO
        // asks for. Threads of the standard library have a stack for signals.
        unsafe {
            let previous: &'static mut libc::sigaction = Box::leak(Box::new(mem::zeroed()));
            libc::sigaction(libc::SIGBUS, ptr::null(), previous);
            PREVIOUS.store(previous, Ordering::SeqCst);
            let mut new: libc::sigaction = mem::zeroed();
            new.sa_sigaction = on_sigbus as *const () as usize;
            new.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigaction(libc::SIGBUS, &raw const new, ptr::null_mut());
        }
    });
}

/// The size of a page in bytes. rustix would read it from a place that valgrind does not show.
pub(super) fn page_size() -> usize {
    // SAFETY: the call reads a number.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(4096)
}

extern "C" fn on_sigbus(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the system passes a valid `info`.
    let address = unsafe { (*info).si_addr() as usize };
    let has_survived = slots().fold(false, |any, slot| slot.survive(address) | any);
    if !has_survived {
        // SAFETY: called from the handler, with what the system passed to it.
        unsafe { pass_on(signal, info, context) };
    }
}

/// Calls the previous handler. If there was none, the read is repeated without a handler, and ends the process.
///
/// # Safety
///
/// Only for a handler of SIGBUS, which passes its own arguments.
unsafe fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
    // SAFETY: the structure was stored before the handler was installed, and is never freed.
    let previous = unsafe { PREVIOUS.load(Ordering::SeqCst).as_ref() };
    match previous.map(|previous| previous.sa_sigaction) {
        None | Some(libc::SIG_DFL | libc::SIG_IGN) => {
            // SAFETY: `signal` allows its default action at any time.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        Some(handler) => {
            // SAFETY: the system would call this address. A handler without SA_SIGINFO ignores the other two arguments.
            let handler = unsafe { mem::transmute::<usize, Handler>(handler) };
            handler(signal, info, context);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::Watch;

    /// Maps a file of three pages and cuts it to one.
    fn cut_file() -> memmap2::Mmap {
        let mut file = tempfile::tempfile().expect("a temporary file");
        file.write_all(&[1; 3 * 4096]).expect("space");
        // SAFETY: this test reads the part that was cut only under watch.
        let map = unsafe { memmap2::Mmap::map(&file) }.expect("memory");
        file.set_len(4096).expect("our own");
        map
    }

    #[test]
    fn a_read_that_fails_is_noted() {
        let (map, other) = (cut_file(), cut_file());
        let watch = Watch::new(map.as_ptr(), map.len());
        let of_other = Watch::new(other.as_ptr(), other.len());
        assert_eq!(map[4095], 1);
        assert_eq!(watch.failed_at(), None);
        assert_eq!(map[5000], 0);
        assert_eq!(watch.failed_at(), Some(5000));
        assert_eq!((map[0], map[9000]), (0, 0), "the whole mapping");
        assert_eq!(watch.failed_at(), Some(5000), "the first");
        assert_eq!(of_other.failed_at(), None);
        assert_eq!(other[0], 1);
    }

    #[test]
    fn threads_fail_together() {
        for _ in 0..50 {
            let map = cut_file();
            let watch = Watch::new(map.as_ptr(), map.len());
            std::thread::scope(|scope| {
                for thread in 0..4 {
                    let (map, watch) = (&map, &watch);
                    scope.spawn(move || {
                        assert_eq!(map[4096 + thread], 0);
                        assert!(watch.failed_at().is_some());
                    });
                }
            });
        }
    }

    #[test]
    fn slots_are_used_again() {
        let map = cut_file();
        drop(Watch::new(map.as_ptr(), map.len()));
        let watch = Watch::new(map.as_ptr(), 4096);
        assert_eq!(watch.failed_at(), None);
    }
}
