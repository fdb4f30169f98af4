//! Names of domains, registered strings and threads.

use std::collections::{BTreeMap, HashMap};
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

/// Whether no thread is in here: at once after a fork, that none was that is lost now.
pub(super) fn are_free() -> bool {
    let is_free = |names: &Names| names.0.try_write().is_ok();
    is_free(&DOMAINS) && is_free(&STRINGS) && THREADS.try_lock().is_ok()
}

/// Distinct names, numbered from 1, that stay for ever: programs hold handles of them.
struct Names(RwLock<Known>);

struct Known {
    names: Vec<&'static [u8]>,
    /// Made with the first name.
    numbers: Option<HashMap<&'static [u8], u32>>,
}

impl Names {
    const fn new() -> Self {
        Self(RwLock::new(Known {
            names: Vec::new(),
            numbers: None,
        }))
    }

    /// The number of a name; 0 if it is new and there are too many.
    fn number(&self, name: &[u8]) -> u32 {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let Known { names, numbers } = &mut *known;
        let numbers = numbers.get_or_insert_default();
        if let Some(&number) = numbers.get(name) {
            return number;
        }
        if names.len() == MOST_NAMES {
            return 0;
        }
        let name = Box::leak(name.into());
        names.push(name);
        let number = names.len() as u32;
        numbers.insert(name, number);
        number
    }

    /// The name of a number; none where there is no such, or where nothing is to be recorded, so that no lock is waited
    /// for whose holder was lost in a fork.
    fn get(&self, number: u32) -> Option<&'static [u8]> {
        let place = number.checked_sub(1)? as usize;
        if !log::is_wanted() {
            return None;
        }
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.names.get(place).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beyond_the_limit_have_no_number() {
        static NAMES: Names = Names::new();
        for number in 1..=MOST_NAMES as u32 {
            assert_eq!(NAMES.number(&number.to_le_bytes()), number);
        }
        assert_eq!(NAMES.number(b"one more"), 0);
        assert_eq!(NAMES.number(&7_u32.to_le_bytes()), 7);
    }
}
