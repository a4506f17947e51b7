//! The heap for large allocations, in huge pages: one of four modules with `unsafe` code.
//!
//! A page of 4 KiB that is touched for the first time costs 2 to 3 µs, and an archive of 50 MB touched
//! four thousand; huge pages take 4 % off the processor time on one thread, 6 to 10 % on two. Whatever
//! is large (buffers, the plan, what deltas are made from) lies in one range of addresses, so that what
//! one thread frees the next one takes again, whole huge pages at a time. Where the system grants no
//! huge pages it is a heap like others; small allocations, and all where the range cannot be had, are the
//! system's. It must never give memory back before the end: all that is large comes and goes until then,
//! within the ceiling that is set elsewhere.
#![allow(unsafe_code)]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    hint, ptr,
    sync::{
        Mutex, MutexGuard, PoisonError, TryLockError,
        atomic::{AtomicUsize, Ordering},
    },
};

use dlmalloc::{Allocator, Dlmalloc};
use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap_anonymous, mprotect};

/// Allocations from this many bytes on are large.
const LARGE: usize = 32 << 10;
/// Bytes of large allocations that are made elsewhere first: a small archive needs no huge page, which
/// takes longer to be zeroed than it runs.
const FIRST: usize = 1 << 20;
/// Bytes in a huge page, of all sizes that x86-64 and AArch64 have by default; no harm where it is another.
const HUGE_PAGE: usize = 2 << 20;
/// How often the lock is tried before it is waited for, or done without: a thread that sleeps for it may be
/// woken milliseconds later, on the processor of the one that woke it.
const PATIENCE: usize = 1000;
/// Addresses set aside, in bytes; what goes beyond is the system's.
const RANGE: usize = 1 << 30;

/// Set this as the global allocator.
pub struct Heap {
    /// Bytes of large allocations that were asked for, as far as they are counted.
    asked: AtomicUsize,
    /// Where the range starts; 0 before there is one.
    start: AtomicUsize,
    blocks: Mutex<Dlmalloc<Range>>,
    /// Held by the thread that makes the heap larger.
    growing: Mutex<()>,
}

impl Heap {
    /// An empty heap, which takes no memory yet.
    pub const fn new() -> Self {
        let mut blocks = Dlmalloc::new_with_allocator(Range::new());
        assert!(blocks.set_granularity(HUGE_PAGE));
        blocks.set_max_release_check_rate(0);
        Self {
            asked: AtomicUsize::new(0),
            start: AtomicUsize::new(0),
            blocks: Mutex::new(blocks),
            growing: Mutex::new(()),
        }
    }

    /// Whether an allocation of `size` bytes is to be made here.
    fn wants(&self, size: usize) -> bool {
        size >= LARGE
            && (self.asked.load(Ordering::Relaxed) >= FIRST
                || self.asked.fetch_add(size, Ordering::Relaxed) >= FIRST)
    }

    /// Whether `block` was allocated here. Whoever holds such a block has seen the start being set.
    fn holds(&self, block: *mut u8) -> bool {
        let start = self.start.load(Ordering::Relaxed);
        start != 0 && block.addr().wrapping_sub(start) < RANGE
    }

    /// The blocks, unless another thread has them for longer than it should take.
    fn try_blocks(&self) -> Option<MutexGuard<'_, Dlmalloc<Range>>> {
        for _ in 0..PATIENCE {
            match self.blocks.try_lock() {
                Err(TryLockError::WouldBlock) => hint::spin_loop(),
                Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
                Ok(blocks) => return Some(blocks),
            }
        }
        None
    }

    fn blocks(&self) -> MutexGuard<'_, Dlmalloc<Range>> {
        let wait = || self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        self.try_blocks().unwrap_or_else(wait)
    }

    /// A block made by `allocate`, null if there is no more room, or only for those who wait.
    fn allocate(&self, allocate: impl Fn(&mut Dlmalloc<Range>) -> *mut u8) -> *mut u8 {
        let attempt = || match self.try_blocks() {
            Some(mut blocks) => allocate(&mut blocks),
            None => ptr::null_mut(),
        };
        let block = attempt();
        if !block.is_null() {
            return block;
        }
        match self.growing.try_lock() {
            Ok(_growing) if self.grow().is_some() => attempt(),
            _ => ptr::null_mut(),
        }
    }

    /// Put memory behind what was last asked for in vain. It is touched here, while nobody waits for the
    /// blocks: the kernel zeroes it at the first touch.
    fn grow(&self) -> Option<()> {
        let (start, memory) = {
            let blocks = self.blocks();
            let range = blocks.allocator();
            (range.start()?, range.lacking())
        };
        if memory.end > RANGE {
            return None;
        }
        self.start.store(start, Ordering::Relaxed);
        let at = ptr::with_exposed_provenance_mut::<u8>(start + memory.start);
        // SAFETY: these addresses are in the range, behind all that is memory, and nobody knows them yet.
        unsafe {
            let access = MprotectFlags::READ | MprotectFlags::WRITE;
            mprotect(at.cast(), memory.len(), access).ok()?;
            // Refused by kernels that have none.
            let _ = madvise(at.cast(), memory.len(), Advice::LinuxHugepage);
            for page in (0..memory.len()).step_by(HUGE_PAGE) {
                at.add(page).write_volatile(0);
            }
        }
        self.blocks().allocator().memory.set(memory.end);
        Some(())
    }

    /// A block that is to be made here, if there is room for it.
    ///
    /// # Safety
    ///
    /// As for [`GlobalAlloc::alloc`].
    unsafe fn large(&self, layout: Layout) -> Option<*mut u8> {
        if !self.wants(layout.size()) {
            return None;
        }
        // SAFETY: the caller's promises are those that are asked for.
        let block = self.allocate(|blocks| unsafe { blocks.malloc(layout.size(), layout.align()) });
        (!block.is_null()).then_some(block)
    }

    /// Move `block` to where a block of `size` bytes is made now.
    ///
    /// # Safety
    ///
    /// As for [`GlobalAlloc::realloc`].
    unsafe fn transfer(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises that `size`, rounded up to the alignment, is no overflow.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: `size` is not zero, as the caller promises.
        let moved = unsafe { self.alloc(new) };
        if !moved.is_null() {
            // SAFETY: both blocks are as long as what is copied, and one of them is new; the old one was
            // allocated with `layout` and is not used any more.
            unsafe {
                ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
                self.dealloc(block, layout);
            }
        }
        moved
    }
}

impl Default for Heap {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: each block belongs to one of two allocators, told apart by its address, and all that is done
// with it is passed on to that one with the arguments that it was given.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those that are asked for.
        unsafe {
            match self.large(layout) {
                Some(block) => block,
                None => System.alloc(layout),
            }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the same; and the block is as long as what is written.
        unsafe {
            match self.large(layout) {
                // Here, where nobody has to wait for it.
                Some(block) => {
                    block.write_bytes(0, layout.size());
                    block
                }
                None => System.alloc_zeroed(layout),
            }
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if self.holds(block) {
            // SAFETY: the block is from there, and the layout is the one it was made with.
            unsafe { self.blocks().free(block, layout.size(), layout.align()) }
        } else {
            // SAFETY: the block is from there.
            unsafe { System.dealloc(block, layout) }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        match self.holds(block) {
            // SAFETY: the block is from there.
            false if !self.wants(size) => unsafe { System.realloc(block, layout, size) },
            true if size >= LARGE => {
                // SAFETY: the block is from there, and the layout is the one it was made with.
                let grown = self.allocate(|blocks| unsafe {
                    blocks.realloc(block, layout.size(), layout.align(), size)
                });
                match grown.is_null() {
                    // SAFETY: the block is as it was.
                    true => unsafe { self.transfer(block, layout, size) },
                    false => grown,
                }
            }
            // SAFETY: the caller's promises are those that are asked for.
            _ => unsafe { self.transfer(block, layout, size) },
        }
    }
}

/// A range of addresses, of which more and more is memory. Lengths are in bytes from its start.
struct Range {
    /// 0 before there is one.
    start: Cell<usize>,
    /// Up to here there is memory.
    memory: Cell<usize>,
    /// Up to here it was handed out.
    used: Cell<usize>,
    /// Up to here it would have to be for what was last asked for in vain.
    wanted: Cell<usize>,
}

impl Range {
    const fn new() -> Self {
        Self {
            start: Cell::new(0),
            memory: Cell::new(0),
            used: Cell::new(0),
            wanted: Cell::new(0),
        }
    }

    /// Where it starts; the first time, addresses are set aside, with no memory behind them.
    fn start(&self) -> Option<usize> {
        if self.start.get() == 0 {
            // SAFETY: the kernel chooses addresses that nobody uses.
            let start = unsafe {
                mmap_anonymous(
                    ptr::null_mut(),
                    RANGE + HUGE_PAGE,
                    ProtFlags::empty(),
                    MapFlags::PRIVATE | MapFlags::NORESERVE,
                )
            };
            self.start
                .set(start.ok()?.addr().next_multiple_of(HUGE_PAGE));
        }
        Some(self.start.get())
    }

    /// What has to become memory for what was last asked for in vain.
    fn lacking(&self) -> std::ops::Range<usize> {
        self.memory.get()..self.wanted.get().max(self.memory.get())
    }
}

// SAFETY: what is handed out is mapped, readable and writable, was never handed out before, and stays.
unsafe impl Allocator for Range {
    fn alloc(&self, size: usize) -> (*mut u8, usize, u32) {
        let end = self.used.get().saturating_add(size);
        if end > self.memory.get() {
            self.wanted.set(end);
            return (ptr::null_mut(), 0, 0);
        }
        let start = self.start.get() + self.used.get();
        self.used.set(end);
        (ptr::with_exposed_provenance_mut(start), size, 0)
    }

    fn remap(&self, _: *mut u8, _: usize, _: usize, _: bool) -> *mut u8 {
        ptr::null_mut()
    }

    fn free_part(&self, _: *mut u8, _: usize, _: usize) -> bool {
        false
    }

    fn free(&self, _: *mut u8, _: usize) -> bool {
        false
    }

    fn can_release_part(&self, _: u32) -> bool {
        false
    }

    fn allocates_zeros(&self) -> bool {
        true
    }

    fn page_size(&self) -> usize {
        rustix::param::page_size()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        alloc::{GlobalAlloc, Layout},
        thread,
    };

    use proptest::prelude::*;

    use super::{FIRST, Heap, LARGE, RANGE};

    /// A block that is freed at the end, every byte of it `fill`.
    struct Block<'a> {
        heap: &'a Heap,
        at: *mut u8,
        layout: Layout,
        fill: u8,
    }

    impl<'a> Block<'a> {
        fn new(heap: &'a Heap, len: usize, align: usize, fill: u8) -> Self {
            let layout = Layout::from_size_align(len, align).unwrap();
            // SAFETY: the length is not zero.
            let at = unsafe {
                match fill {
                    0 => heap.alloc_zeroed(layout),
                    _ => heap.alloc(layout),
                }
            };
            assert!(!at.is_null() && at.addr().is_multiple_of(align));
            if fill != 0 {
                // SAFETY: the block is as long.
                unsafe { at.write_bytes(fill, len) };
            }
            Self {
                heap,
                at,
                layout,
                fill,
            }
        }

        fn check(&self) {
            // SAFETY: the block is as long, and all of it was written.
            let bytes = unsafe { std::slice::from_raw_parts(self.at, self.layout.size()) };
            assert!(bytes.iter().all(|byte| *byte == self.fill));
        }

        fn resize(&mut self, len: usize) {
            let old = self.layout.size();
            // SAFETY: the block is from there, the length is not zero; what is new is written.
            unsafe {
                self.at = self.heap.realloc(self.at, self.layout, len);
                assert!(!self.at.is_null());
                self.at
                    .add(old)
                    .write_bytes(self.fill, len.saturating_sub(old));
            }
            self.layout = Layout::from_size_align(len, self.layout.align()).unwrap();
        }
    }

    impl Drop for Block<'_> {
        fn drop(&mut self) {
            self.check();
            // SAFETY: the block is from there.
            unsafe { self.heap.dealloc(self.at, self.layout) };
        }
    }

    fn len() -> impl Strategy<Value = usize> {
        prop_oneof![1..LARGE, LARGE - 2..LARGE + 2, LARGE..20 * LARGE]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn blocks_keep_what_is_in_them(
            steps in prop::collection::vec((len(), 0..4_u8, any::<prop::sample::Index>(), 0..13_u32), 1..120),
        ) {
            let heap = Heap::new();
            let mut blocks: Vec<Block> = Vec::new();
            for (number, (len, what, which, align)) in steps.into_iter().enumerate() {
                match what {
                    0 | 1 => blocks.push(Block::new(&heap, len, 1 << align, what * number as u8)),
                    _ if blocks.is_empty() => {}
                    2 => which.get_mut(&mut blocks).resize(len),
                    _ => drop(blocks.swap_remove(which.index(blocks.len()))),
                }
            }
        }
    }

    #[test]
    fn the_first_are_made_elsewhere() {
        let heap = Heap::new();
        let before: Vec<_> = (0..FIRST / LARGE)
            .map(|_| Block::new(&heap, LARGE, 1, 1))
            .collect();
        let after = Block::new(&heap, LARGE, 1, 2);
        assert!(before.iter().all(|block| !heap.holds(block.at)));
        assert!(heap.holds(after.at));
        assert!(!heap.holds(Block::new(&heap, LARGE - 1, 1, 3).at));
    }

    #[test]
    fn what_has_no_room_in_the_range_is_made_elsewhere() {
        let heap = Heap::new();
        drop(Block::new(&heap, FIRST, 1, 1));
        let mut block = Block::new(&heap, LARGE, 1, 2);
        assert!(heap.holds(block.at));
        // SAFETY: the block is from there, the length is not zero; no byte behind the old ones is read.
        block.at = unsafe { heap.realloc(block.at, block.layout, RANGE) };
        assert!(!block.at.is_null() && !heap.holds(block.at));
        block.check();
        // SAFETY: the block is from there, and as long as that.
        block.at = unsafe {
            let layout = Layout::from_size_align(RANGE, 1).unwrap();
            heap.realloc(block.at, layout, LARGE)
        };
        assert!(heap.holds(block.at));
    }

    // SAFETY: the heap is for all threads, and a block has one owner.
    unsafe impl Send for Block<'_> {}

    /// What one thread takes another gives back.
    #[test]
    fn threads_take_and_give_at_once() {
        let heap = &Heap::new();
        let (sender, receiver) = std::sync::mpsc::sync_channel::<Block>(9);
        thread::scope(|scope| {
            for fill in 1..5 {
                let sender = sender.clone();
                scope.spawn(move || {
                    for at in 1..200 {
                        let block = Block::new(heap, LARGE + 999 * at, 8, fill);
                        sender.send(block).unwrap();
                    }
                });
            }
            drop(sender);
            // Each is checked when it goes.
            assert_eq!(receiver.iter().map(drop).count(), 4 * 199);
        });
    }
}
