//! Names of domains, registered strings and threads.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError, RwLock};

use crate::log;

/// Names that are kept of a kind; what comes later has none.
const MOST_NAMES: usize = 1 << 16;

/// Part of a program (a library, mostly) whose ranges nest apart from others'.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Domain(u32);

static DOMAINS: Names = Names::new();
static STRINGS: Names = Names::new();
static THREADS: Mutex<BTreeMap<u32, Box<[u8]>>> = Mutex::new(BTreeMap::new());

impl Domain {
    /// The program's own.
    pub(crate) const DEFAULT: Self = Self(0);

    /// The one of a name. The same name is the same domain.
    pub(crate) fn named(name: &[u8]) -> Self {
        if name.is_empty() || !log::is_wanted() {
            return Self::DEFAULT;
        }
        Self(DOMAINS.number(name))
    }

    /// Its number, 0 for the default one: what programs are given as handle.
    pub(crate) fn number(self) -> u32 {
        self.0
    }

    /// The one with this number; the default one if there is no such.
    pub(crate) fn of_number(number: usize) -> Self {
        match u32::try_from(number) {
            Ok(number) if DOMAINS.get(number).is_some() => Self(number),
            _ => Self::DEFAULT,
        }
    }

    /// The number of its name in the log; 0 for the default one.
    pub(super) fn text(self) -> u32 {
        DOMAINS.get(self.0).map_or(0, log::text)
    }
}

/// The number of a string that is to be used often; 0 if there are too many.
pub(crate) fn register(text: &[u8]) -> u32 {
    if log::is_wanted() {
        STRINGS.number(text)
    } else {
        0
    }
}

/// The string of a number; none where nothing was registered.
pub(crate) fn registered(number: usize) -> Option<&'static [u8]> {
    STRINGS.get(u32::try_from(number).ok()?)
}

/// Remembers what a program calls a thread, for when the log first meets it.
pub(super) fn keep_thread(thread: u32, name: &[u8]) {
    let mut threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    if threads.len() < MOST_NAMES || threads.contains_key(&thread) {
        threads.insert(thread, name.into());
    }
}

/// What the program called a thread.
pub(crate) fn thread_name(thread: u32) -> Option<Box<[u8]>> {
    let threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    threads.get(&thread).cloned()
}

/// Distinct names, numbered from 1, that stay for ever: programs hold handles of them.
struct Names(RwLock<Vec<&'static [u8]>>);

impl Names {
    const fn new() -> Self {
        Self(RwLock::new(Vec::new()))
    }

    fn number(&self, name: &[u8]) -> u32 {
        let mut names = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let known = names.iter().position(|&known| known == name);
        let place = known.unwrap_or_else(|| {
            if names.len() < MOST_NAMES {
                names.push(Box::leak(name.into()));
            }
            names.len() - 1
        });
        place as u32 + 1
    }

    fn get(&self, number: u32) -> Option<&'static [u8]> {
        let names = self.0.read().unwrap_or_else(PoisonError::into_inner);
        names.get(number.checked_sub(1)? as usize).copied()
    }
}
