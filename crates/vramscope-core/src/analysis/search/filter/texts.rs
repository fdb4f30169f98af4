//! Evaluates terms that search for text. Each distinct text of the file is compared once; frames, stacks and
//! contexts then use the results.

use std::collections::HashMap;

use super::address::AddressMatch;
use super::moments;
use super::pattern::{Anchor, Matcher, Pattern};
use super::term::TextField;
use crate::Snapshot;
use crate::analysis::code::frames::{Location, clip};
use crate::analysis::recording::Device;
use crate::analysis::roles::Role;
use crate::bitset::BitSet;
use crate::ids::{FrameId, StackId, StringId};
use crate::model::{Context, LinesId};

/// How many bytes of a text are searched. A damaged or hostile file may have a text of gigabytes.
const TEXT_LIMIT_BYTES: usize = 64 << 10;

/// The allocations with a text in this field that matches the pattern.
pub(super) fn matching(device: Device<'_>, field: TextField, pattern: &Pattern) -> BitSet {
    let rows = device.history.allocations.len();
    if field == TextField::Role {
        return by_role(device, pattern);
    }
    let mut found = BitSet::new(rows);
    let anywhere = field == TextField::Anywhere;
    if matches!(
        field,
        TextField::Anywhere | TextField::Frame | TextField::File | TextField::Function
    ) {
        let stacks = stacks(device.snapshot(), field, pattern);
        add(&mut found, &stacks, |row| device.stack_of()[row].index());
    }
    if anywhere || field == TextField::Site {
        let mut matcher = Matcher::new(pattern);
        let sites = device.call_sites().sites();
        let sites = BitSet::from_fn(sites.len(), |site| matcher.matches(&sites[site].label));
        add(&mut found, &sites, |row| device.site_of()[row].index());
    }
    if anywhere || field == TextField::Operator {
        let mut matcher = Matcher::new(pattern);
        let labels = device.call_sites().operators().labels();
        // The first label is empty: no operator.
        let operators =
            BitSet::from_fn(labels.len(), |row| row > 0 && matcher.matches(&labels[row]));
        add(&mut found, &operators, |row| {
            device.operator_of()[row].index()
        });
    }
    if !matches!(
        field,
        TextField::Site
            | TextField::Operator
            | TextField::File
            | TextField::Function
            | TextField::Annotation
    ) {
        found.union_with(&by_context(device, field, pattern));
    }
    if anywhere || field == TextField::Annotation {
        let (stretches, _) = moments::named(pattern, device);
        if !stretches.is_empty() {
            let born = &device.history.allocations.born;
            found.union_with(&BitSet::from_fn(rows, |row| {
                moments::holds(&stretches, born[row])
            }));
        }
    }
    if anywhere && let Some(address) = AddressMatch::of_word(&pattern.text) {
        found.union_with(&by_address(device, address));
    }
    found
}

/// Adds the rows whose value is among those looked for. Often there are none.
fn add(found: &mut BitSet, values: &BitSet, value_of: impl Fn(usize) -> usize) {
    if values.count() > 0 {
        let rows = BitSet::from_fn(found.len(), |row| values.contains(value_of(row)));
        found.union_with(&rows);
    }
}

/// The allocations for whose role the word matches.
fn by_role(device: Device<'_>, pattern: &Pattern) -> BitSet {
    let mut matcher = Matcher::new(pattern);
    let roles = Role::ALL.map(|role| matcher.matches(role.word()));
    let rules = device.rule_of();
    BitSet::from_fn(rules.len(), |row| roles[rules[row].role().ordinal()])
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

    /// Whether `text` matches, where `text` is always the same part of the text with this id.
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
            in_nodes: matches!(field, TextField::Anywhere | TextField::Frame).then(texts),
            at_line: (field != TextField::Function)
                .then(|| FileLine::of(snapshot, pattern))
                .flatten(),
        }
    }

    fn matches(&mut self, id: FrameId) -> bool {
        let frame = self.snapshot.frames.get(id);
        let location = Location::of(self.snapshot, frame);
        // Files written by a profiler keep file and function in one text. Their parts have no id of their own,
        // so results cannot be kept by id.
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

/// The allocations whose context, block or `annotate` events have a text that matches.
fn by_context(device: Device<'_>, field: TextField, pattern: &Pattern) -> BitSet {
    let snapshot = device.snapshot();
    let mut looked = Contexts {
        snapshot,
        field,
        texts: Texts::new(snapshot, Matcher::new(pattern)),
        lines_of: Texts::new(snapshot, Matcher::new(pattern)),
        lines: HashMap::new(),
    };
    let rows = snapshot.contexts.rows();
    let contexts = BitSet::from_fn(rows.len(), |row| looked.matches(&rows[row]));
    let mut found = BitSet::new(device.history.allocations.len());
    add(&mut found, &contexts, |row| {
        device.context_of()[row].index()
    });
    if looked.has(TextField::Metadata) {
        for &(allocation, text) in device.notes() {
            if looked.texts.holds(snapshot, text) {
                found.insert(allocation.index());
            }
        }
    }
    if looked.has(TextField::Frame) {
        for &(allocation, block) in &device.history.final_blocks {
            let lines = snapshot.blocks.get(block).forward_lines;
            if lines.is_some_and(|lines| looked.line_matches(lines)) {
                found.insert(allocation.index());
            }
        }
    }
    found
}

/// Matches contexts.
struct Contexts<'a> {
    snapshot: &'a Snapshot,
    field: TextField,
    texts: Texts,
    lines_of: Texts,
    lines: HashMap<LinesId, bool>,
}

impl Contexts<'_> {
    fn has(&self, field: TextField) -> bool {
        self.field == field || self.field == TextField::Anywhere
    }

    fn matches(&mut self, context: &Context) -> bool {
        let snapshot = self.snapshot;
        let candidates = [
            (TextField::Metadata, context.user_metadata),
            (TextField::Metadata, context.internal_metadata),
            (TextField::Category, context.category),
            (TextField::Compile, context.compile_context),
        ];
        for (field, text) in candidates {
            let Some(text) = text.filter(|&text| self.has(field) && text != StringId(0)) else {
                continue;
            };
            let is_outside = field == TextField::Compile && snapshot.strings.get(text) == "N/A";
            if !is_outside && self.texts.holds(snapshot, text) {
                return true;
            }
        }
        self.has(TextField::Frame)
            && context
                .forward_lines
                .is_some_and(|lines| self.line_matches(lines))
    }

    fn line_matches(&mut self, id: LinesId) -> bool {
        if let Some(&known) = self.lines.get(&id) {
            return known;
        }
        let mut lines = self.snapshot.contexts.forward_lines(Some(id));
        // Lines may be stored with their newline.
        let text = |line| clip(self.snapshot.strings.get(line), TEXT_LIMIT_BYTES).trim_end();
        let found = lines.any(|line| self.lines_of.matches(line, text(line)));
        self.lines.insert(id, found);
        found
    }
}
