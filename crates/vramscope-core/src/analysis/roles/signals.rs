//! What frames reveal about the purpose of an allocation, by the tables of [`names`](super::names), combined for each
//! stack.
//!
//! A signal says which code was running, not what the memory is for: [`rules`](super::rules) infers that from signals
//! and lifetimes together.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::names::{BUFFERS, Functions, NATIVE, PYTHON, buffers};
use super::paths::CodePath;
use super::phases::{Phase, phase_of};
use crate::Snapshot;
use crate::analysis::code::frames::{by_files_and_texts, clip, clip_end, is_python_source};
use crate::ids::StackId;
use crate::model::{Action, Profile, ProfileKind};

/// The kinds of code that were running, as a set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Signals(u64);

impl Signals {
    /// A hash, different for most sets.
    pub(super) fn folded(self) -> u32 {
        (self.0 ^ (self.0 >> 32)) as u32
    }

    pub(super) const NONE: Self = Self(0);
    /// A step of an optimizer.
    pub(super) const STEP: Self = Self(1);
    /// An optimizer makes, loads or copies its state.
    pub(super) const STATE: Self = Self(1 << 1);
    /// The backward pass.
    pub(super) const BACKWARD: Self = Self(1 << 2);
    /// The autograd node that keeps or adds up the gradient of a parameter.
    pub(super) const ACCUMULATE: Self = Self(1 << 3);
    /// Activation checkpointing runs a part of the forward pass again.
    pub(super) const RECOMPUTE: Self = Self(1 << 4);
    /// The forward pass of a module, or a loss.
    pub(super) const FORWARD: Self = Self(1 << 5);
    /// A module is moved, converted or loaded, or a layer is made.
    pub(super) const BUILD: Self = Self(1 << 6);
    /// Some constructor runs.
    pub(super) const SETUP: Self = Self(1 << 7);
    /// A cache of keys and values.
    pub(super) const CACHE: Self = Self(1 << 8);
    /// Scratch memory of a kernel library.
    pub(super) const WORKSPACE: Self = Self(1 << 9);
    /// Buffers of collectives.
    pub(super) const COLLECTIVE: Self = Self(1 << 10);
    /// Sharded parameters are gathered.
    pub(super) const GATHER: Self = Self(1 << 11);
    /// Data is loaded, or moved to the device.
    pub(super) const INPUT: Self = Self(1 << 12);
    /// Gradients are dropped.
    pub(super) const ZERO_GRAD: Self = Self(1 << 13);
    /// Python code.
    pub(super) const PYTHON: Self = Self(1 << 14);
    /// Code other than Python.
    pub(super) const NATIVE: Self = Self(1 << 15);
    /// A convolution.
    pub(super) const CONVOLUTION: Self = Self(1 << 16);
    /// Python starts a backward pass: the program's, or a checkpoint's own within it.
    pub(super) const STARTS_BACKWARD: Self = Self(1 << 17);
    /// Several ranks train a model together.
    pub(super) const RANKS: Self = Self(1 << 18);
    /// An optimizer that keeps two moments of each parameter.
    pub(super) const ADAM: Self = Self(1 << 19);
    /// The buffer that holds all gradients of a kind.
    pub(super) const FLAT_GRADIENTS: Self = Self(1 << 20);
    /// A function that makes buffers of several roles, see [`BUFFERS`].
    pub(super) const BUFFERS: Self = Self(1 << 21);
    /// Only by its name, code runs a forward pass.
    pub(super) const NAMED_FORWARD: Self = Self(1 << 22);
    /// Only by its name, code loads a model.
    pub(super) const NAMED_BUILD: Self = Self(1 << 23);
    /// Parameters are copied for computing: to a replica, or from a quantised form.
    pub(super) const COPY: Self = Self(1 << 24);
    /// Autocast converts something.
    pub(super) const AUTOCAST: Self = Self(1 << 25);
    /// Many tensors are copied into one.
    pub(super) const FLATTEN: Self = Self(1 << 26);
    /// Gradients are reduced to the shards of each rank.
    pub(super) const REDUCE: Self = Self(1 << 27);
    /// An optimizer that keeps at most one moment of each parameter.
    pub(super) const MOMENTUM: Self = Self(1 << 28);
    /// A layer that multiplies by its weight.
    pub(super) const WEIGHTED: Self = Self(1 << 29);

    /// The way in which autograd's threads enter Python: for custom functions, hooks and checkpoints.
    pub(super) const ENTERED: Self = Self(1 << 30);
    /// Sharded parameters are received, to be copied for computing.
    pub(super) const FETCH: Self = Self(1 << 31);
    /// A device gets its part of a batch.
    pub(super) const SCATTER: Self = Self(1 << 32);
    /// A function is named after a cache of keys and values, which it may only call.
    pub(super) const NAMED_CACHE: Self = Self(1 << 33);
    /// Gradients of many parameters are added up in one buffer.
    pub(super) const COALESCED: Self = Self(1 << 34);
    /// DDP makes its buckets.
    pub(super) const BUCKET: Self = Self(1 << 35);

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether both sets have something in common.
    pub(super) const fn has(self, any: Self) -> bool {
        self.0 & any.0 != 0
    }
}

/// Longest name and path that are examined, in bytes.
const TEXT_LIMIT_BYTES: usize = 1024;

/// The table `NATIVE`, prepared: there are many names to look in.
static NATIVE_PARTS: LazyLock<Vec<(Signals, Finder<'static>)>> = LazyLock::new(|| {
    let prepared = NATIVE
        .iter()
        .map(|&(signal, part)| (signal, Finder::new(part)));
    prepared.collect()
});

/// What the functions of a file may reveal.
enum File {
    /// Not Python: the functions that the table `NATIVE` names.
    Native,
    /// Python: its path, and the rows of the table `PYTHON` whose patterns match it.
    Python {
        path: CodePath,
        functions: Vec<(Signals, &'static Functions)>,
    },
}

impl File {
    fn of(file: &str) -> Self {
        if !is_python_source(file) {
            return Self::Native;
        }
        let path = CodePath::of(clip_end(file, TEXT_LIMIT_BYTES));
        let fits = |patterns: &[&str]| patterns.iter().any(|pattern| path.fits(pattern));
        let functions = PYTHON.iter().filter(|(_, patterns, _)| fits(patterns));
        let functions = functions.map(|(signal, _, functions)| (*signal, functions));
        Self::Python {
            functions: functions.collect(),
            path,
        }
    }

    fn signals(&self, name: &str) -> Signals {
        let name = clip(name, TEXT_LIMIT_BYTES);
        let Self::Python { path, functions } = self else {
            let name = name.as_bytes();
            let matching = NATIVE_PARTS
                .iter()
                .filter(|(_, part)| part.find(name).is_some());
            return matching.fold(Signals::NATIVE, |sum, (signal, _)| sum.and(*signal));
        };
        let matching = functions.iter().filter(|(_, these)| these.have(name));
        let mut sum = matching.fold(Signals::PYTHON, |sum, &(signal, _)| sum.and(signal));
        // The file that is run does not enter anything.
        if name == "<module>" {
            sum = sum.without(Signals::ENTERED);
        }
        match buffers(name, path) {
            Some(_) => sum.and(Signals::BUFFERS),
            None => sum,
        }
    }
}

/// The signals of every stack of a snapshot.
#[derive(Clone, Debug, Default)]
pub struct StackSignals {
    of: Vec<Signals>,
    /// The signals of all frames.
    all: Signals,
    /// Whether stacks come from a profiler without Python functions: they name operators, but not their callers.
    are_operators: bool,
}

impl StackSignals {
    /// Examines each file, each frame, and each frame of each stack once.
    #[must_use]
    pub fn of(snapshot: &Snapshot) -> Self {
        let strings = &snapshot.strings;
        let of_frame = by_files_and_texts(snapshot, File::of, |id, file| {
            file.signals(strings.get(snapshot.frames.get(id).name))
        });
        let stacks = (0..snapshot.stacks.len()).map(StackId::from_index);
        let of: Vec<Signals> = stacks
            .map(|stack| {
                let frames = snapshot.stacks.frames(stack);
                let sum = frames.fold(Signals::NONE, |sum, frame| {
                    sum.and(of_frame.get(frame.index()).copied().unwrap_or_default())
                });
                let outermost = snapshot.stacks.frames(stack).next_back();
                let entered = outermost.and_then(|frame| of_frame.get(frame.index()));
                let is_entered = entered.is_some_and(|frame| frame.has(Signals::ENTERED));
                // The program's own threads begin in the program or in `threading`.
                match !sum.has(Signals::NATIVE) && is_entered {
                    true => sum.and(Signals::BACKWARD),
                    false => sum,
                }
            })
            .collect();
        let frames = of_frame.iter().copied();
        let all = frames.fold(Signals::NONE, Signals::and);
        let is_trace = Profile::of(snapshot).is_some_and(|it| it.kind == ProfileKind::Trace);
        let mut signals = Self {
            of,
            all,
            are_operators: is_trace && !all.has(Signals::PYTHON),
        };
        if signals.show(Signals::BUFFERS) {
            signals.tell_buffers(snapshot);
        }
        signals.believe_names();
        signals
    }

    /// Lets a name alone stand for a forward pass where that is usual: more than a tenth of the forward stacks show no
    /// call of a module, as some programs call `forward` directly, and some stacks lack frames.
    fn believe_names(&mut self) {
        let is_named = |signals: &Signals| {
            signals.has(Signals::NAMED_FORWARD) && !signals.has(Signals::FORWARD)
        };
        let named = self.of.iter().filter(|signals| is_named(signals)).count();
        let shown = self
            .of
            .iter()
            .filter(|signals| signals.has(Signals::FORWARD))
            .count();
        if named == 0 || named <= shown / 10 {
            return;
        }
        for signals in &mut self.of {
            if is_named(signals) {
                *signals = signals.and(Signals::FORWARD);
            }
        }
        self.all = self.all.and(Signals::FORWARD);
    }

    /// Distinguishes the buffers of [`BUFFERS`] by the lines that make them.
    fn tell_buffers(&mut self, snapshot: &Snapshot) {
        let makes = makers(snapshot);
        let stacks = (0..self.of.len()).filter(|&stack| self.of[stack].has(Signals::BUFFERS));
        let stacks = stacks.filter(|&stack| makes.get(stack).copied().unwrap_or_default());
        let made = stacks
            .filter_map(|stack| Some((stack, made_buffer(snapshot, StackId::from_index(stack))?)));
        let made: Vec<(usize, (usize, u32))> = made.collect();
        let lines: BTreeSet<(usize, u32)> = made.iter().map(|&(_, place)| place).collect();
        for (stack, (row, line)) in made {
            let mut own = lines.range((row, 0)..=(row, u32::MAX));
            let (_, _, [earlier, last, alone]) = BUFFERS[row];
            let signal = match (own.next(), own.next_back()) {
                (_, None) => alone,
                (_, Some(&(_, end))) if end == line => last,
                _ => earlier,
            };
            self.of[stack] = self.of[stack].and(signal);
        }
    }

    pub(super) fn get(&self, stack: StackId) -> Signals {
        self.of.get(stack.index()).copied().unwrap_or_default()
    }

    /// Whether some frame has one of the signals.
    pub(super) fn show(&self, any: Signals) -> bool {
        self.all.has(any)
    }

    /// Whether stacks name only operators, so that a stack without a phase means nothing.
    pub(super) fn are_operators(&self) -> bool {
        self.are_operators
    }

    pub(super) fn show_phase(&self, phase: Phase) -> bool {
        self.of
            .iter()
            .any(|&signals| phase_of(signals) == Some(phase))
    }

    /// Whether workspaces of convolutions look like any other memory, because no stack shows a library that asks for
    /// one: Python-only stacks do not, nor do stacks without the names of a library's internal functions.
    pub(super) fn hide_workspaces(&self) -> bool {
        let is_told =
            |code: &Signals| code.has(Signals::CONVOLUTION) && code.has(Signals::WORKSPACE);
        self.show(Signals::CONVOLUTION) && !self.of.iter().any(is_told)
    }

    /// Whether stacks have only Python frames, so that threads without Python have empty stacks.
    pub(super) fn is_python_only(&self) -> bool {
        self.show(Signals::PYTHON) && !self.show(Signals::NATIVE)
    }
}

/// For each stack, whether it allocates, as opposed to only frees.
fn makers(snapshot: &Snapshot) -> Vec<bool> {
    let mut makes = vec![true; snapshot.stacks.len()];
    let events = || snapshot.events.action.iter().zip(&snapshot.events.stack);
    let mut mark = |stack: &StackId, is_made: bool| {
        if let Some(makes) = makes.get_mut(stack.index()) {
            *makes = is_made;
        }
    };
    for (action, stack) in events() {
        if matches!(action, Action::FreeRequested | Action::FreeCompleted) {
            mark(stack, false);
        }
    }
    for (action, stack) in events() {
        if *action == Action::Alloc {
            mark(stack, true);
        }
    }
    makes
}

/// The row of [`BUFFERS`] and the line of a stack's innermost Python function.
fn made_buffer(snapshot: &Snapshot, stack: StackId) -> Option<(usize, u32)> {
    let texts = &snapshot.strings;
    let mut frames = snapshot
        .stacks
        .frames(stack)
        .map(|id| snapshot.frames.get(id));
    let inner = frames.find(|frame| is_python_source(texts.get(frame.filename)))?;
    let row = buffers(
        texts.get(inner.name),
        &CodePath::of(texts.get(inner.filename)),
    )?;
    Some((row, inner.line))
}
