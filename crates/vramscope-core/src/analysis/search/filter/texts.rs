//! Evaluates terms that search for text. Each distinct text of the file is compared once; frames, stacks and contexts
//! then use the results.

use std::collections::HashMap;

use super::address::AddressMatch;
use super::keys::{self, KeyKind};
use super::moments;
use super::pattern::{Anchor, Matcher, Pattern};
use super::term::TextField;
use crate::Snapshot;
use crate::analysis::code::frames::{Location, clip};
use crate::analysis::properties::{Names, Property, TEXT_LIMIT_BYTES, names};
use crate::analysis::recording::Device;
use crate::bitset::BitSet;
use crate::ids::{FrameId, StackId, StringId};
use crate::model::LinesId;

/// The allocations with a text in this field that matches the pattern.
pub(super) fn matching(device: Device<'_>, field: TextField, pattern: &Pattern) -> BitSet {
    let rows = device.history.allocations.len();
    let mut found = BitSet::new(rows);
    match field {
        TextField::Frame | TextField::File | TextField::Function => {
            found.union_with(&by_stack(device, field, pattern));
            if field == TextField::Frame {
                found.union_with(&by_forward_pass(device, pattern));
            }
        }
        TextField::Of(Property::Metadata) => found.union_with(&by_metadata(device, pattern)),
        TextField::Of(Property::Annotation) => {
            let (stretches, _) = moments::named(pattern, device);
            let born = &device.history.allocations.born;
            if !stretches.is_empty() {
                found = BitSet::from_fn(rows, |row| moments::holds(&stretches, born[row]));
            }
        }
        TextField::Of(property) => {
            if let Some(names) = names(device, property) {
                found = by_names(&names, rows, pattern);
            }
        }
        TextField::Anywhere => {
            found.union_with(&matching(device, TextField::Frame, pattern));
            let searched = keys::all().filter_map(|key| match key.kind {
                // Roles are inferred, so they are not texts of the file.
                KeyKind::Text(TextField::Of(Property::Role)) => None,
                KeyKind::Text(field @ TextField::Of(_)) => Some(field),
                _ => None,
            });
            for field in searched {
                found.union_with(&matching(device, field, pattern));
            }
            if let Some(address) = AddressMatch::of_word(&pattern.text) {
                found.union_with(&by_address(device, address));
            }
        }
    }
    found
}

/// The allocations with a name that matches. Allocations without a role match `unknown`.
fn by_names(names: &Names<'_>, rows: usize, pattern: &Pattern) -> BitSet {
    let mut matcher = Matcher::new(pattern);
    let words = names.words().iter();
    let matching: Vec<bool> = words
        .map(|word| !word.is_empty() && matcher.matches(word))
        .collect();
    let unknown = names.is_unknown_a_word && matcher.matches(&names.unknown);
    if !unknown && !matching.contains(&true) {
        return BitSet::new(rows);
    }
    BitSet::from_fn(rows, |row| {
        let place = (names.of)(row) as usize;
        matching.get(place).copied().unwrap_or(unknown)
    })
}

/// The allocations with a frame that matches.
fn by_stack(device: Device<'_>, field: TextField, pattern: &Pattern) -> BitSet {
    let mut found = BitSet::new(device.history.allocations.len());
    let stacks = stacks(device.snapshot(), field, pattern);
    add(&mut found, &stacks, |row| device.stack_of()[row].index());
    found
}

/// Adds the rows with one of the values, of which there are often none.
fn add(found: &mut BitSet, values: &BitSet, value_of: impl Fn(usize) -> usize) {
    if values.count() > 0 {
        let rows = BitSet::from_fn(found.len(), |row| values.contains(value_of(row)));
        found.union_with(&rows);
    }
}

/// The allocations whose address meets the condition.
pub(super) fn by_address(device: Device<'_>, address: AddressMatch) -> BitSet {
    let table = &device.history.allocations;
    let version = address.wants_version();
    BitSet::from_fn(table.len(), |row| {
        address.holds(table.address[row], table.bytes[row])
            && version.is_none_or(|version| table.version[row] == version)
    })
}

/// Whether each text of the file matches, computed on first use.
struct Texts {
    matcher: Matcher,
    known: Vec<Option<bool>>,
}

impl Texts {
    fn new(snapshot: &Snapshot, matcher: Matcher) -> Self {
        let known = vec![None; snapshot.strings.len()];
        Self { matcher, known }
    }

    /// Whether `text` matches. It must always be the same part of the text with this id.
    fn matches(&mut self, id: StringId, text: &str) -> bool {
        match self.known.get_mut(id.index()) {
            Some(known) => *known.get_or_insert_with(|| self.matcher.matches(text)),
            None => false,
        }
    }

    fn holds(&mut self, snapshot: &Snapshot, id: StringId) -> bool {
        self.matches(id, clip(snapshot.strings.get(id), TEXT_LIMIT_BYTES))
    }
}

/// A pattern such as `model.py:123`: the end of a path, and a line.
struct FileLine {
    files: Texts,
    line: u32,
}

impl FileLine {
    fn of(snapshot: &Snapshot, pattern: &Pattern) -> Option<Self> {
        let (file, line) = pattern.text.rsplit_once(':')?;
        let line = line.parse().ok().filter(|_| !file.is_empty())?;
        let anchor = if pattern.is_whole {
            Anchor::Whole
        } else {
            Anchor::End
        };
        let matcher = Matcher::of_text(file, pattern.is_literal, anchor);
        Some(Self {
            files: Texts::new(snapshot, matcher),
            line,
        })
    }
}

/// Matches frames; a field is `None` if that part of a frame is not searched.
struct Frames<'a> {
    snapshot: &'a Snapshot,
    in_functions: Option<Texts>,
    in_files: Option<Texts>,
    in_nodes: Option<Texts>,
    at_line: Option<FileLine>,
}

impl<'a> Frames<'a> {
    fn new(snapshot: &'a Snapshot, field: TextField, pattern: &Pattern) -> Self {
        let texts = || Texts::new(snapshot, Matcher::new(pattern));
        Self {
            snapshot,
            in_functions: (field != TextField::File).then(texts),
            in_files: (field != TextField::Function).then(texts),
            in_nodes: (field == TextField::Frame).then(texts),
            at_line: (field != TextField::Function)
                .then(|| FileLine::of(snapshot, pattern))
                .flatten(),
        }
    }

    fn matches(&mut self, id: FrameId) -> bool {
        let frame = self.snapshot.frames.get(id);
        let location = Location::of(self.snapshot, frame);
        // Files written by a profiler have file and function in one text. Their parts have no id of their own, so
        // results cannot be kept by id.
        let written = self.snapshot.strings.get(frame.filename);
        let is_split = !written.ends_with(location.file);
        let look = |texts: &mut Option<Texts>, id: StringId, text: &str| {
            texts.as_mut().is_some_and(|texts| match text {
                "" => false,
                text if is_split => texts.matcher.matches(text),
                text => texts.matches(id, text),
            })
        };
        if look(&mut self.in_functions, frame.name, location.function)
            || look(&mut self.in_files, frame.filename, location.file)
        {
            return true;
        }
        if let Some(at) = &mut self.at_line
            && location.line == at.line
            && at.files.matcher.matches(location.file)
        {
            return true;
        }
        match (&mut self.in_nodes, frame.fx) {
            (Some(texts), Some(fx)) => [fx.op, fx.name, fx.target, fx.original_trace]
                .into_iter()
                .filter(|&id| id != StringId(0))
                .any(|id| texts.holds(self.snapshot, id)),
            _ => false,
        }
    }
}

/// The stacks with a frame that matches.
fn stacks(snapshot: &Snapshot, field: TextField, pattern: &Pattern) -> BitSet {
    let mut looked = Frames::new(snapshot, field, pattern);
    let frames = BitSet::from_fn(snapshot.frames.len(), |row| {
        looked.matches(FrameId::from_index(row))
    });
    if frames.count() == 0 {
        return BitSet::new(snapshot.stacks.len());
    }
    BitSet::from_fn(snapshot.stacks.len(), |row| {
        let mut stack = snapshot.stacks.frames(StackId::from_index(row));
        stack.any(|frame| frames.contains(frame.index()))
    })
}

/// The allocations with a match in metadata that the program or the allocator attached, or in an `annotate` event.
fn by_metadata(device: Device<'_>, pattern: &Pattern) -> BitSet {
    let snapshot = device.snapshot();
    let mut texts = Texts::new(snapshot, Matcher::new(pattern));
    let rows = snapshot.contexts.rows();
    let contexts = BitSet::from_fn(rows.len(), |row| {
        let attached = [rows[row].user_metadata, rows[row].internal_metadata];
        let mut known = attached
            .into_iter()
            .flatten()
            .filter(|&text| text != StringId(0));
        known.any(|text| texts.holds(snapshot, text))
    });
    let mut found = BitSet::new(device.history.allocations.len());
    add(&mut found, &contexts, |row| {
        device.context_of()[row].index()
    });
    for &(allocation, text) in device.notes() {
        if texts.holds(snapshot, text) {
            found.insert(allocation.index());
        }
    }
    found
}

/// The allocations of a backward pass with a match in the stack of its forward pass.
fn by_forward_pass(device: Device<'_>, pattern: &Pattern) -> BitSet {
    let snapshot = device.snapshot();
    let mut lines = Lines {
        snapshot,
        texts: Texts::new(snapshot, Matcher::new(pattern)),
        known: HashMap::new(),
    };
    let rows = snapshot.contexts.rows();
    let contexts = BitSet::from_fn(rows.len(), |row| {
        let forward = rows[row].forward_lines;
        forward.is_some_and(|of| lines.match_any(of))
    });
    let mut found = BitSet::new(device.history.allocations.len());
    add(&mut found, &contexts, |row| {
        device.context_of()[row].index()
    });
    for &(allocation, block) in &device.history.final_blocks {
        let forward = snapshot.blocks.get(block).forward_lines;
        if forward.is_some_and(|of| lines.match_any(of)) {
            found.insert(allocation.index());
        }
    }
    found
}

struct Lines<'a> {
    snapshot: &'a Snapshot,
    texts: Texts,
    known: HashMap<LinesId, bool>,
}

impl Lines<'_> {
    fn match_any(&mut self, id: LinesId) -> bool {
        if let Some(&known) = self.known.get(&id) {
            return known;
        }
        let mut lines = self.snapshot.contexts.forward_lines(Some(id));
        // Lines may be stored with their newline.
        let text = |line| clip(self.snapshot.strings.get(line), TEXT_LIMIT_BYTES).trim_end();
        let found = lines.any(|line| self.texts.matches(line, text(line)));
        self.known.insert(id, found);
        found
    }
}
