//! Reads many files at once, limited by cores and a memory budget.
//!
//! The memory that a file needs is estimated from its size before it is opened. The first file always starts, so a file
//! beyond the budget is still read, but alone. Files start in order, and their results are taken in order: a result
//! counts as its file's memory until it has been taken.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;

use crate::arguments::Size;
use crate::input::is_stdin;
use crate::progress::Several;

/// Memory for a file of any size, in bytes: buffers and the first tables.
const FIXED_BYTES: u64 = 8 << 20;
/// Memory per unpacked byte of a file: decoding and history take about 1, and some questions as much again.
const PER_BYTE: u64 = 2;
/// The highest usual compression ratio of a snapshot; ratios are 10 to 30.
const EXPANSION: u64 = 30;
/// The first bytes of compressed files: gzip, zstd, zip.
const COMPRESSED: [&[u8]; 3] = [b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK"];

/// Runs `work` for every file, with its index and path, and passes the results to `take` in the order of the files.
/// Files stop being read when `take` returns.
pub(crate) fn each<T: Send, R>(
    files: &[PathBuf],
    memory: Size,
    work: impl Fn(usize, &Path) -> T + Sync,
    take: impl FnOnce(&mut dyn Iterator<Item = T>) -> R,
) -> R {
    let one_by_one = || {
        let files = files.iter().enumerate();
        files.map(|(index, file)| work(index, file))
    };
    // A single file needs neither an estimate nor a thread.
    if files.len() == 1 {
        return take(&mut one_by_one());
    }
    let costs: Vec<u64> = files.iter().map(|file| cost_bytes(file)).collect();
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let queue = Queue::new(&costs, memory);
    let several = Several::new(files.len());
    let (queue, work, several) = (&queue, &work, &several);
    thread::scope(|scope| {
        let (sender, results) = mpsc::channel();
        let mut threads = 0;
        for _ in 0..cores.min(files.len()) {
            let sender = sender.clone();
            let started = thread::Builder::new().spawn_scoped(scope, move || {
                while let Some(turn) = queue.next() {
                    let result = work(turn.index, &files[turn.index]);
                    several.one_done();
                    if sender.send((turn, result)).is_err() {
                        break;
                    }
                }
            });
            threads += usize::from(started.is_ok());
        }
        drop(sender);
        // A limit forbids threads.
        if threads == 0 {
            return take(&mut one_by_one());
        }
        take(&mut InOrder {
            results,
            waiting: BTreeMap::new(),
            next: 0,
            taken: None,
        })
    })
}

/// The results in the order of the files, as soon as they are available.
struct InOrder<'a, T> {
    results: mpsc::Receiver<(Turn<'a>, T)>,
    /// Results that arrived before their turn, by the file's index.
    waiting: BTreeMap<usize, (Turn<'a>, T)>,
    next: usize,
    /// The turn of the result that was taken last; it ends when the next one is requested.
    taken: Option<Turn<'a>>,
}

impl<T> Iterator for InOrder<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.taken = None;
        loop {
            if let Some((turn, result)) = self.waiting.remove(&self.next) {
                self.taken = Some(turn);
                self.next += 1;
                return Some(result);
            }
            // Fails when all threads have ended.
            let (turn, result) = self.results.recv().ok()?;
            self.waiting.insert(turn.index, (turn, result));
        }
    }
}

/// Estimates the memory for reading a file and answering for it, in bytes.
fn cost_bytes(path: &Path) -> u64 {
    let size_bytes = match path.metadata() {
        Ok(metadata) if metadata.is_file() && !is_stdin(path) => metadata.len(),
        // A pipe may deliver any amount.
        _ => return u64::MAX,
    };
    let mut head = Vec::new();
    // An unreadable file costs nothing; its error comes when it is read.
    if let Ok(file) = File::open(path) {
        drop(file.take(4).read_to_end(&mut head));
    }
    let is_compressed = COMPRESSED.iter().any(|magic| head.starts_with(magic));
    let decoded_bytes = size_bytes.saturating_mul(if is_compressed { EXPANSION } else { 1 });
    decoded_bytes
        .saturating_mul(PER_BYTE)
        .saturating_add(FIXED_BYTES)
}

/// The queue of files that wait for memory.
struct Queue<'a> {
    costs: &'a [u64],
    budget: u64,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Default)]
struct State {
    next: usize,
    running: usize,
    used: u64,
}

impl<'a> Queue<'a> {
    fn new(costs: &'a [u64], Size(budget): Size) -> Self {
        Self {
            costs,
            budget,
            state: Mutex::default(),
            freed: Condvar::new(),
        }
    }

    /// Waits until the next file fits; `None` after the last file.
    fn next(&self) -> Option<Turn<'_>> {
        let mut state = lock(&self.state);
        loop {
            let index = state.next;
            let cost = *self.costs.get(index)?;
            let used = state.used.saturating_add(cost);
            if state.running == 0 || used <= self.budget {
                (state.next, state.used) = (index + 1, used);
                state.running += 1;
                let queue = self;
                return Some(Turn { queue, index, cost });
            }
            state = self
                .freed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A file being processed. Returns its memory when dropped.
struct Turn<'a> {
    queue: &'a Queue<'a>,
    index: usize,
    cost: u64,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.queue.state);
        state.running -= 1;
        state.used = state.used.saturating_sub(self.cost);
        drop(state);
        self.queue.freed.notify_all();
    }
}

/// The guarded value is always consistent, so a poisoned lock can be used.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_files() {
        let files: Vec<PathBuf> = (0..50).map(|n| PathBuf::from(format!("no/{n}"))).collect();
        let work = |place, file: &Path| (place, file.to_owned());
        let results: Vec<_> = each(&files, Size(1), work, |results| results.collect());
        assert!(results.into_iter().eq(files.into_iter().enumerate()));
        assert!(each(
            &[],
            Size(1),
            |place, _| place,
            |results| results.next().is_none()
        ));
    }

    /// The files being processed never exceed the budget together, except a single one that is larger.
    #[test]
    fn the_budget_is_kept() {
        let costs = [30, 60, 200, 10, 10, 90, 40, 40, 40, 1, 1, 1];
        let queue = Queue::new(&costs, Size(100));
        let (used, done) = (AtomicU64::new(0), AtomicU64::new(0));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while let Some(turn) = queue.next() {
                        let now = used.fetch_add(turn.cost, Ordering::SeqCst) + turn.cost;
                        assert!(now <= 100 || now == turn.cost, "{now}");
                        thread::sleep(Duration::from_millis(1));
                        used.fetch_sub(turn.cost, Ordering::SeqCst);
                        done.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(done.into_inner(), costs.len() as u64);
        assert_eq!(lock(&queue.state).used, 0);
    }

    #[test]
    fn compressed_files_are_taken_for_what_they_unpack_to() {
        let folder = tempfile::tempdir().unwrap();
        let cost = |content: &[u8]| {
            let path = folder.path().join("file");
            std::fs::write(&path, content).unwrap();
            (cost_bytes(&path) - FIXED_BYTES) / PER_BYTE
        };
        assert_eq!(cost(b"\x80\x04plain"), 7);
        assert_eq!(cost(b"\x1f\x8b00000"), 7 * EXPANSION);
        assert_eq!(cost(b""), 0);
        assert_eq!(cost_bytes(Path::new("-")), u64::MAX);
    }
}
