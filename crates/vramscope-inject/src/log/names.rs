//! Names of domains, registered strings and threads, and the program's names for its streams, devices, contexts and
//! categories.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError, RwLock};

use vramscope_record::layout::{Kind, Loss, Name, Named};

use super::{exists, is_enabled, lost, put, text};

/// Maximum number of names of each kind. Further ones are not recorded.
const MAX_NAMES: usize = 1 << 16;

/// A part of a program, usually a library, whose ranges nest separately.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Domain(u32);

static DOMAINS: Names = Names::new();
static STRINGS: Names = Names::new();
static THREADS: Mutex<BTreeMap<u32, Box<[u8]>>> = Mutex::new(BTreeMap::new());
/// Names given before there was a log.
static PENDING: Mutex<Vec<PendingName>> = Mutex::new(Vec::new());

/// What is named: kind, handle and domain; and the name.
type PendingName = (Named, u64, Domain, Box<[u8]>);

impl Domain {
    /// The program's own domain.
    pub(crate) const DEFAULT: Self = Self(0);

    /// The domain of this name. The same name always gives the same domain.
    pub(crate) fn named(name: &[u8]) -> Self {
        if name.is_empty() || !is_enabled() {
            return Self::DEFAULT;
        }
        Self(DOMAINS.number(name))
    }

    /// The number that programs get as a handle; 0 for the default domain.
    pub(crate) fn number(self) -> u32 {
        self.0
    }

    /// The domain with this number; the default domain if there is none.
    pub(crate) fn of_number(number: usize) -> Self {
        match u32::try_from(number) {
            Ok(number) if DOMAINS.get(number).is_some() => Self(number),
            _ => Self::DEFAULT,
        }
    }

    /// The number of the domain's name in the log; 0 for the default domain.
    pub(super) fn text(self) -> u32 {
        DOMAINS.get(self.0).map_or(0, text)
    }
}

/// Registers a string and returns its number; 0 if there are too many.
pub(crate) fn register(string: &[u8]) -> u32 {
    if is_enabled() {
        STRINGS.number(string)
    } else {
        0
    }
}

/// The registered string with this number.
pub(crate) fn registered(number: usize) -> Option<&'static [u8]> {
    STRINGS.get(u32::try_from(number).ok()?)
}

/// Stores the program's name for a thread until the thread appears in the log.
pub(super) fn set_thread_name(thread: u32, name: &[u8]) {
    let mut threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    if threads.len() < MAX_NAMES || threads.contains_key(&thread) {
        threads.insert(thread, name.into());
    } else {
        lost(Loss::TooManyNames);
    }
}

/// The program's name for a thread.
pub(super) fn thread_name(thread: u32) -> Option<Box<[u8]>> {
    let threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    threads.get(&thread).cloned()
}

/// Records the program's name for something. Creates no log: without one, the name waits.
pub(crate) fn give_name(named: Named, handle: u64, domain: Domain, name: &[u8]) {
    if !is_enabled() {
        return;
    }
    if exists() {
        return write_name(named, handle, domain, name);
    }
    let mut pending = PENDING.lock().unwrap_or_else(PoisonError::into_inner);
    if pending.len() < MAX_NAMES {
        pending.push((named, handle, domain, name.into()));
    } else {
        lost(Loss::TooManyNames);
    }
    drop(pending);
    // The log may have been created meanwhile.
    if exists() {
        flush_names();
    }
}

/// Writes the names that wait for the log.
pub(super) fn flush_names() {
    let mut pending = PENDING.lock().unwrap_or_else(PoisonError::into_inner);
    for (named, handle, domain, name) in std::mem::take(&mut *pending) {
        write_name(named, handle, domain, &name);
    }
}

fn write_name(named: Named, handle: u64, domain: Domain, name: &[u8]) {
    let domain = domain.text();
    let named = named as u32;
    let of = Name {
        handle,
        domain,
        named,
    };
    put(Kind::Name, &[&of.to_bytes(), name]);
}

/// Whether no lock of this module is held. Checked after a fork: the holder of a lock does not exist in the child.
pub(super) fn are_unlocked() -> bool {
    let is_unlocked = |names: &Names| names.0.try_write().is_ok();
    let are_unlocked = THREADS.try_lock().is_ok() && PENDING.try_lock().is_ok();
    is_unlocked(&DOMAINS) && is_unlocked(&STRINGS) && are_unlocked
}

/// Distinct names, numbered from 1. Never freed, as programs hold handles of them.
struct Names(RwLock<NameTable>);

struct NameTable {
    names: Vec<&'static [u8]>,
    /// Numbers by name; created with the first name.
    numbers: Option<HashMap<&'static [u8], u32>>,
}

impl Names {
    const fn new() -> Self {
        Self(RwLock::new(NameTable {
            names: Vec::new(),
            numbers: None,
        }))
    }

    /// The number of a name, added if new; 0 if there are too many.
    fn number(&self, name: &[u8]) -> u32 {
        let mut table = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let NameTable { names, numbers } = &mut *table;
        let numbers = numbers.get_or_insert_default();
        if let Some(&number) = numbers.get(name) {
            return number;
        }
        if names.len() == MAX_NAMES {
            lost(Loss::TooManyNames);
            return 0;
        }
        let name = Box::leak(name.into());
        names.push(name);
        let number = names.len() as u32;
        numbers.insert(name, number);
        number
    }

    /// The name with this number. Also `None` if recording is disabled, so that a forked child does not wait for a lock
    /// whose holder does not exist there.
    fn get(&self, number: u32) -> Option<&'static [u8]> {
        let place = number.checked_sub(1)? as usize;
        if !is_enabled() {
            return None;
        }
        let table = self.0.read().unwrap_or_else(PoisonError::into_inner);
        table.names.get(place).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beyond_the_limit_have_no_number() {
        static NAMES: Names = Names::new();
        for number in 1..=MAX_NAMES as u32 {
            assert_eq!(NAMES.number(&number.to_le_bytes()), number);
        }
        assert_eq!(NAMES.number(b"one more"), 0);
        assert_eq!(NAMES.number(&7_u32.to_le_bytes()), 7);
    }
}
