//! Replaces the names in a snapshot by keyed hashes, and keeps everything else.
//!
//! The same name has the same hash, also in other files with the same key. So equal code stays recognisable as
//! equal, paths keep their shared folders, and every analysis of the result gives the same numbers and shape.
//!
//! [`RULES`] list what stays, with examples. Everything else is hashed: a name that no rule covers becomes less
//! readable, but never reveals anything private.
//!
//! *Left out*: settings that no torch has, unknown keys, and warnings other than those of damage.

mod functions;
mod keep;
mod labels;
mod numbers;
mod paths;
mod public;
mod rules;
#[cfg(test)]
mod tests;
mod words;

use std::borrow::Cow;

use crate::Snapshot;
use crate::analysis::code::frames::is_python_source;
use crate::analysis::memory::capture;
use crate::analysis::memory::settings::is_known;
use crate::decode::producer;
use crate::model::{
    BlockState, CAPTURE_KEY, DRY_RUN_KEY, DeviceIndex, Profile, SegmentKind, Stage, cut_off,
    note_cut_off,
};
use crate::transfer::{Rename, Role, Transfer};
use functions::is_signature;
pub use keep::Pattern;
use paths::Place;
pub use rules::{Kind, RULES, Rule};

/// Hashes names.
#[derive(Clone)]
pub struct Anonymiser {
    key: [u8; 32],
    /// Names to keep although no rule does.
    keep: Vec<Pattern>,
}

impl Anonymiser {
    /// Hashes with this key. If the key is random and then discarded, nobody can test guesses of a name against a hash.
    #[must_use]
    pub fn new(key: [u8; 32]) -> Self {
        Self {
            key,
            keep: Vec::new(),
        }
    }

    /// Hashes with a key made from a text, so that files hashed separately have the same hashes. Anyone who knows the
    /// text can test guesses.
    #[must_use]
    pub fn salted(salt: &str) -> Self {
        let context = "vramscope 2026 names in anonymous snapshots";
        Self::new(blake3::derive_key(context, salt.as_bytes()))
    }

    /// Also keeps everything that matches one of the patterns: files by their whole path, together with their functions;
    /// functions by their whole name; annotations and other labels by their whole text.
    #[must_use]
    pub fn keeping(self, keep: Vec<Pattern>) -> Self {
        Self { keep, ..self }
    }

    fn keeps(&self, text: &str) -> bool {
        self.keep.iter().any(|pattern| pattern.matches(text))
    }

    /// The replacement of a name: its kind (`fn`, `dir`), `_`, and 40 bits written as consonants, which form neither words
    /// nor numbers.
    fn tag(&self, kind: &str, name: &str) -> String {
        const LETTERS: &[u8; 16] = b"bcdfghjklmnpqrst";
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(kind.as_bytes()).update(b"\0");
        let hash = hasher.update(name.as_bytes()).finalize();
        let halves = hash.as_bytes().iter().take(5);
        let letters = halves.flat_map(|byte| [byte >> 4, byte & 15]);
        let letters = letters.map(|half| char::from(LETTERS[usize::from(half)]));
        format!("{kind}_{}", letters.collect::<String>())
    }
}

impl Rename for Anonymiser {
    fn text<'t>(&self, role: Role, text: &'t str) -> Cow<'t, str> {
        match role {
            Role::Label => self.label(text).into(),
            Role::Function => self.function(text, "", false).into(),
            Role::Trace => self.trace(text).into(),
        }
    }

    fn frame<'t>(&self, name: &'t str, file: &'t str) -> [Cow<'t, str>; 2] {
        let path = self.path(file);
        // The arguments of a public template may be private.
        let stays = path.place == Place::Public && (is_python_source(file) || !is_signature(name))
            || self.keeps(file);
        let name = if stays {
            name.into()
        } else {
            self.function(name, file, path.place == Place::Likely)
                .into()
        };
        [name, path.text.into()]
    }
}

/// The same snapshot with hashes for names.
#[must_use]
pub fn anonymise(snapshot: &Snapshot, anonymiser: &Anonymiser) -> Snapshot {
    let mut transfer = Transfer::new(snapshot, anonymiser);
    events(&mut transfer);
    segments(&mut transfer);
    blocks(&mut transfer);
    annotations(&mut transfer);
    let mut new = transfer.to;
    new.traces.clone_from(&snapshot.traces);
    new.host_trace.clone_from(&snapshot.host_trace);
    new.settings = known_settings(anonymiser, snapshot);
    let capture = capture::without_words(&snapshot.extras);
    new.extras
        .extend(capture.map(|capture| (CAPTURE_KEY.to_owned(), capture)));
    if snapshot.dry_run().is_some() {
        new.extras
            .insert(DRY_RUN_KEY.to_owned(), serde_json::Map::new().into());
    }
    // A profile holds only figures.
    if let Some(profile) = Profile::of(snapshot) {
        profile.put(&mut new.extras);
    }
    let devices = 0..new.traces.len() as DeviceIndex;
    let cut_off = devices.map(|device| (device, cut_off(&snapshot.extras, device)));
    note_cut_off(&mut new.extras, cut_off);
    new.keys = snapshot.keys;
    new.source.clone_from(&snapshot.source);
    new.warnings = snapshot.warnings.inherited();
    // The name of a captured file would name the program.
    new.producer = producer::of(&new);
    new
}

fn events(transfer: &mut Transfer<'_>) {
    let mut events = transfer.from.events.clone();
    for context in &mut events.context {
        *context = transfer.context(*context);
    }
    for stack in &mut events.stack {
        *stack = transfer.stack(*stack);
    }
    for name in &mut events.other_actions {
        *name = transfer.string(Role::Label, *name);
    }
    transfer.to.events = events;
}

fn segments(transfer: &mut Transfer<'_>) {
    let mut tables = [
        transfer.from.segments.clone(),
        transfer.from.host_segments.clone(),
    ];
    for segment in tables.iter_mut().flat_map(|table| &mut table.rows) {
        segment.stack = transfer.stack(segment.stack);
        if let Some(SegmentKind::Other(word)) = &mut segment.kind {
            *word = transfer.string(Role::Label, *word);
        }
    }
    [transfer.to.segments, transfer.to.host_segments] = tables;
}

fn blocks(transfer: &mut Transfer<'_>) {
    let mut blocks = transfer.from.blocks.clone();
    for block in &mut blocks.rows {
        block.stack = transfer.stack(block.stack);
        block.forward_lines = block.forward_lines.map(|lines| transfer.lines(lines));
        if let BlockState::Other(word) = &mut block.state {
            *word = transfer.string(Role::Label, *word);
        }
    }
    for tenant in &mut blocks.tenants {
        tenant.stack = transfer.stack(tenant.stack);
    }
    transfer.to.blocks = blocks;
}

fn annotations(transfer: &mut Transfer<'_>) {
    let mut annotations = transfer.from.annotations.clone();
    for mark in &mut annotations.rows {
        mark.name = transfer.string(Role::Label, mark.name);
        if let Stage::Other(word) = &mut mark.stage {
            *word = transfer.string(Role::Label, *word);
        }
        for text in [&mut mark.domain, &mut mark.category] {
            *text = text.map(|text| transfer.string(Role::Label, text));
        }
        // A number may reveal sizes or users of the program.
        mark.payload = None;
    }
    transfer.to.annotations = annotations;
}

/// The settings that torch knows, with their texts anonymised.
fn known_settings(
    anonymiser: &Anonymiser,
    snapshot: &Snapshot,
) -> serde_json::Map<String, serde_json::Value> {
    use serde_json::Value;
    let settings = snapshot.settings.iter().filter(|(key, _)| is_known(key));
    let settings = settings.filter_map(|(key, value)| {
        let value = match value {
            Value::String(text) => Value::String(anonymiser.setting(text)),
            // `roundup_power2_divisions`, the only setting that is not a plain value.
            Value::Object(entries) => {
                let is_plain = |(key, value): &(&String, &Value)| {
                    let size: Option<u64> = key.parse().ok();
                    value.is_number() && size.is_some_and(u64::is_power_of_two)
                };
                let entries = entries.iter().filter(is_plain);
                Value::Object(
                    entries
                        .map(|(key, value)| (key.clone(), value.clone()))
                        .collect(),
                )
            }
            Value::Array(_) => return None,
            plain => plain.clone(),
        };
        Some((key.clone(), value))
    });
    settings.collect()
}
