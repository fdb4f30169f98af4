//! The loaded code and its unwind information, as one value that is replaced when something changed.
//!
//! Querying the dynamic linker for changes takes its lock and walks all libraries: a microsecond in a large program. So
//! it is queried only where it matters: before unwind information of a library is first read (the library might be
//! gone), and for new stacks.

use super::generated::{self, Generated};
use super::objects::{self, Counts, Object};
use super::registers::Unwinder;
use crate::log;
use framehop::{ExplicitModuleSectionInfo, Module, Unwinder as _};
use std::cell::Cell;
use std::ops::{Deref, Range};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::Duration;
use vramscope_record::layout::{self, Kind};

/// Milliseconds that a thread waits while another one reads the list of loaded code.
const PATIENCE_MS: u32 = 100;

static NEWEST: Mutex<Option<Arc<Loaded>>> = Mutex::new(None);
static VERSION: AtomicU64 = AtomicU64::new(0);
/// Modules that are not in the log yet, oldest first.
static PENDING: Mutex<Vec<Object>> = Mutex::new(Vec::new());
static HAS_PENDING: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// The dynamic linker's counts for the loaded code that this thread unwinds with.
    static WATCHED: Cell<Counts> = const { Cell::new(Counts::NONE) };
    static HAS_CHANGED: Cell<bool> = const { Cell::new(false) };
}

/// All code of the process.
pub(super) struct Loaded {
    /// Version number, from 1.
    pub(super) version: u64,
    pub(super) unwinder: Unwinder,
    /// End of the highest code range.
    pub(super) highest: u64,
    /// This library's code.
    pub(super) own: Range<u64>,
    counts: Counts,
    objects: Vec<Object>,
    generated: Vec<Generated>,
    /// Code ranges, ascending.
    code: Vec<Range<u64>>,
}

impl Loaded {
    fn new(counts: Counts, objects: Vec<Object>, generated: Vec<Generated>) -> Self {
        let mut unwinder = Unwinder::new();
        for object in &objects {
            unwinder.add_module(unwind_module(object));
        }
        for generated in generated.iter().filter(|code| code.is_trampolines) {
            unwinder.add_module(trampolines_module(generated));
        }
        let objects_code = objects.iter().map(|object| object.code.clone());
        let generated_code = generated.iter().map(|code| code.range.clone());
        let mut code: Vec<_> = objects_code.chain(generated_code).collect();
        code.sort_unstable_by_key(|range| range.start);
        let here = crate::own_code();
        let own = code.iter().find(|range| range.contains(&here));
        Self {
            version: VERSION.load(Ordering::Relaxed) + 1,
            unwinder,
            highest: code.last().map_or(0, |range| range.end),
            own: own.cloned().unwrap_or(0..0),
            counts,
            objects,
            generated,
            code,
        }
    }

    /// Number of leading return addresses of a stack that point into code.
    pub(super) fn count_code(&self, stack: &[u64]) -> usize {
        let is_code = |&&address: &&u64| {
            let call = address.wrapping_sub(1);
            let index = self.code.partition_point(|range| range.start <= call);
            index > 0 && self.code[index - 1].contains(&call)
        };
        stack.iter().take_while(is_code).count()
    }
}

/// The version of [`newest`]; 0 before the first one.
pub(super) fn version() -> u64 {
    VERSION.load(Ordering::Acquire)
}

/// The newest known state of the loaded code; `None` if it is unavailable now.
pub(super) fn newest() -> Option<Arc<Loaded>> {
    let mut newest = lock(&NEWEST)?;
    if newest.is_none() {
        read_objects(&mut newest);
    }
    newest.clone()
}

/// Looks for a newer version than `version`, or for generated code at the return address `unknown`. Returns whether
/// it found one.
pub(super) fn refresh(version: u64, unknown: Option<&u64>) -> bool {
    let Some(mut newest) = lock(&NEWEST) else {
        return false;
    };
    let Some(known) = newest.clone() else {
        return false;
    };
    if known.version != version {
        return true;
    }
    if known.counts != objects::counts() {
        read_objects(&mut newest);
        return true;
    }
    let Some(&address) = unknown else {
        return false;
    };
    let Some(found) = generated::find(address, &known.generated) else {
        return false;
    };
    let mut generated = known.generated.clone();
    generated.push(found);
    let loaded = Loaded::new(known.counts, known.objects.clone(), generated);
    publish(&mut newest, loaded);
    true
}

/// Selects the state that [`has_changed`] refers to.
pub(super) fn watch(loaded: &Loaded) {
    WATCHED.set(loaded.counts);
    HAS_CHANGED.set(false);
}

/// Whether unwind information was not read because the loaded code has changed.
pub(super) fn has_changed() -> bool {
    HAS_CHANGED.get()
}

/// Writes the modules that are not in the log yet, as far as there is room. Returns whether all known modules are
/// in the log.
pub(super) fn write_pending() -> bool {
    if !HAS_PENDING.load(Ordering::Acquire) {
        return true;
    }
    let Some(mut pending) = lock(&PENDING) else {
        return false;
    };
    let written = pending.iter().take_while(|object| write(object)).count();
    pending.drain(..written);
    HAS_PENDING.store(!pending.is_empty(), Ordering::Release);
    pending.is_empty()
}

/// Gives up after [`PATIENCE_MS`]: the holder may be this very thread, interrupted by a signal.
fn lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    for _ in 0..PATIENCE_MS {
        match mutex.try_lock() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
    None
}

fn read_objects(newest: &mut Option<Arc<Loaded>>) {
    let (counts, objects) = objects::read();
    let known = newest.take();
    let known = known.as_ref().map_or(&[][..], |known| &known.objects);
    if let Some(mut pending) = lock(&PENDING) {
        let new = objects.iter().filter(|object| !known.contains(object));
        pending.extend(new.cloned());
        HAS_PENDING.store(true, Ordering::Release);
    }
    write_pending();
    publish(newest, Loaded::new(counts, objects, Vec::new()));
}

/// Called after the records of new modules were written, so they precede the stacks that need them.
fn publish(newest: &mut Option<Arc<Loaded>>, loaded: Loaded) {
    let version = loaded.version;
    *newest = Some(Arc::new(loaded));
    VERSION.store(version, Ordering::Release);
}

/// Writes a module. Returns whether there was room for it.
fn write(object: &Object) -> bool {
    let module = layout::Module {
        load_bias: object.bias,
        start: object.code.start,
        end: object.code.end,
        build_id_bytes: object.build_id.len() as u32,
        reserved: 0,
    };
    let path = &object.path[..object.path.len().min(libc::PATH_MAX as usize)];
    log::put(Kind::Module, &[&module.to_bytes(), &object.build_id, path])
}

/// Unwind information: of a library that may be unloaded, or this library's own.
#[derive(Clone, Copy)]
pub(super) enum Section {
    /// The index, which framehop reads first for each new rule. Checks for unloaded libraries before.
    Index(&'static [u8]),
    Plain(&'static [u8]),
}

impl Default for Section {
    fn default() -> Self {
        Self::Plain(&[])
    }
}

impl Deref for Section {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match *self {
            Self::Plain(bytes) => bytes,
            Self::Index(bytes) => {
                if objects::counts() == WATCHED.get() {
                    return bytes;
                }
                HAS_CHANGED.set(true);
                &[]
            }
        }
    }
}

fn unwind_module(object: &Object) -> Module<Section> {
    let relative = |range: &Range<u64>| {
        range.start.wrapping_sub(object.bias)..range.end.wrapping_sub(object.bias)
    };
    let mut sections = ExplicitModuleSectionInfo {
        base_svma: relative(&object.image).start,
        ..Default::default()
    };
    if let Some(unwind) = &object.unwind {
        sections.eh_frame_hdr_svma = Some(relative(&unwind.index));
        sections.eh_frame_hdr = Some(Section::Index(objects::mapped(&unwind.index)));
        sections.eh_frame_svma = Some(relative(&unwind.frames));
        sections.eh_frame = Some(Section::Plain(objects::mapped(&unwind.frames)));
    }
    Module::new(
        String::new(),
        object.image.clone(),
        object.image.start,
        sections,
    )
}

fn trampolines_module(code: &Generated) -> Module<Section> {
    let sections = ExplicitModuleSectionInfo {
        eh_frame_svma: Some(0..generated::TRAMPOLINE_FRAMES.len() as u64),
        eh_frame: Some(Section::Plain(&generated::TRAMPOLINE_FRAMES)),
        ..Default::default()
    };
    Module::new(
        String::new(),
        code.range.clone(),
        code.range.start,
        sections,
    )
}
