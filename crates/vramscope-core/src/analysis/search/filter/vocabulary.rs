//! Words of one device's recording that completions offer.

use std::collections::HashMap;
use std::hash::Hash;

use foldhash::fast::RandomState;

use super::keys::{self, KeyKind};
use super::term::TextField;
use crate::analysis::code::frames::{FrameClass, Location, clip};
use crate::analysis::properties::{Property, names};
use crate::analysis::recording::Device;
use crate::ids::{FrameId, StackId};
use crate::sorting::{SortFew, counts};

/// Maximum number of words of each kind.
const WORDS_LIMIT: usize = 200;
/// Maximum length of a word; longer texts are left out.
const WORD_LIMIT_BYTES: usize = 120;

/// A value that a filter can search for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Word {
    /// The value as it is written in a filter.
    pub text: String,
    /// Number of allocations that have it, after its label if the label says more; empty if unknown.
    pub help: String,
}

/// The words by kind, those of the most allocations first; streams are in the order of their numbers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Vocabulary {
    /// Functions of user code.
    pub functions: Vec<Word>,
    /// Files of user code.
    pub files: Vec<Word>,
    /// The names of each property that is searched for by name.
    names: Vec<(Property, Vec<Word>)>,
}

impl Vocabulary {
    /// Collects the words of a device's allocations.
    #[must_use]
    pub fn of(device: Device<'_>) -> Self {
        let (functions, files) = code(device);
        let searched = keys::all().filter_map(|key| match key.kind {
            KeyKind::Text(TextField::Of(property)) => Some(property),
            KeyKind::Stream => Some(Property::Stream),
            KeyKind::Pool => Some(Property::Pool),
            _ => None,
        });
        let names = searched.map(|property| match property {
            Property::Annotation => (property, annotations(device)),
            _ => (property, named(device, property)),
        });
        Self {
            functions,
            files,
            names: names.collect(),
        }
    }

    /// The words of a property's names.
    #[must_use]
    pub fn names(&self, property: Property) -> &[Word] {
        let of = self.names.iter().find(|(of, _)| *of == property);
        of.map_or(&[], |(_, words)| words)
    }
}

/// The names that allocations have.
fn named(device: Device<'_>, property: Property) -> Vec<Word> {
    let Some(names) = names(device, property) else {
        return Vec::new();
    };
    let places = names.labels.len();
    // Allocations without a name are counted last.
    let rows = 0..device.history.allocations.len();
    let used = rows.map(|row| ((names.of)(row) as usize).min(places));
    let used = (0..)
        .zip(counts(places + 1, used))
        .filter(|&(place, count)| count > 0 && (place < places || names.is_unknown_a_word));
    let mut used: Vec<(usize, u64)> = used.collect();
    if property != Property::Stream {
        used.sort_few_by_key(|&(_, count)| std::cmp::Reverse(count));
    }
    // Streams and pools are numbered.
    let says_more = matches!(property, Property::Stream | Property::Pool);
    let text = |place: usize| names.words().get(place).unwrap_or(&names.unknown);
    let help = |place: usize, count: u64| match names.labels.get(place) {
        Some(label) if says_more => format!("{label}, {}", allocations(count)),
        _ => allocations(count),
    };
    let words = used.into_iter().map(|(place, count)| Word {
        text: text(place).clone().into_owned(),
        help: help(place, count),
    });
    offered(words)
}

/// The distinct values with the sums of their counts, the greatest first, without values that never occur.
fn summed<T: Copy + Eq + Hash + Ord>(values: impl Iterator<Item = (T, u64)>) -> Vec<(T, u64)> {
    let mut sums: HashMap<T, u64, RandomState> = HashMap::default();
    for (value, count) in values.filter(|&(_, count)| count > 0) {
        *sums.entry(value).or_default() += count;
    }
    let mut sums: Vec<(T, u64)> = sums.into_iter().collect();
    sums.sort_few_by_key(|&(value, count)| (std::cmp::Reverse(count), value));
    sums
}

fn allocations(count: u64) -> String {
    match count {
        1 => "1 allocation".to_owned(),
        count => format!("{} allocations", crate::units::Count(count)),
    }
}

/// Functions and files of user code, by the number of allocations with them on their stack.
fn code(device: Device<'_>) -> (Vec<Word>, Vec<Word>) {
    let (snapshot, classes) = (device.snapshot(), device.recording.classes());
    let mut by_frame = vec![0_u64; snapshot.frames.len()];
    let stacks = device.stack_of().iter().map(|stack| stack.index());
    let stacks = (0..)
        .map(StackId)
        .zip(counts(snapshot.stacks.len(), stacks));
    for (stack, count) in stacks.filter(|&(_, count)| count > 0) {
        for frame in snapshot.stacks.frames(stack) {
            by_frame[frame.index()] = by_frame[frame.index()].saturating_add(count);
        }
    }
    let mut functions: HashMap<&str, u64> = HashMap::new();
    let mut files: HashMap<&str, u64> = HashMap::new();
    for (row, &count) in by_frame.iter().enumerate().filter(|(_, count)| **count > 0) {
        let id = FrameId::from_index(row);
        if classes.get(id) != FrameClass::User {
            continue;
        }
        let location = Location::of(snapshot, snapshot.frames.get(id));
        // A stack may contain several lines of a function, so a sum over frames would count allocations twice. The
        // largest count is a lower bound.
        for (words, text) in [
            (&mut functions, location.function),
            (&mut files, location.file),
        ] {
            let most = words.entry(text).or_default();
            *most = count.max(*most);
        }
    }
    let sorted = |words: HashMap<&str, u64>| {
        let mut words: Vec<(String, u64)> = words
            .into_iter()
            .map(|(text, count)| (text.to_owned(), count))
            .collect();
        words.sort_few_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        offered(words.into_iter().map(|(text, _)| Word {
            text,
            help: String::new(),
        }))
    };
    (sorted(functions), sorted(files))
}

fn offered(words: impl Iterator<Item = Word>) -> Vec<Word> {
    let short = words.filter(|word| !word.text.is_empty() && word.text.len() <= WORD_LIMIT_BYTES);
    short.take(WORDS_LIMIT).collect()
}

/// The names of annotated ranges, which may contain no allocation.
fn annotations(device: Device<'_>) -> Vec<Word> {
    let names = summed(device.ranges().map(|range| (range.name, 1)));
    let words = names.into_iter().map(|(name, count)| Word {
        text: clip(device.snapshot().strings.get(name), WORD_LIMIT_BYTES + 1).to_owned(),
        help: allocations(count).replace("allocation", "range"),
    });
    offered(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::recording::Recording;

    /// With stacks of frees, also from before the recording, and with pools and streams.
    const FILES: [&[u8]; 2] = [
        include_bytes!("../../../../../../tests/fixtures/torch-2.15.0/named_ranges.pickle"),
        include_bytes!("../../../../../../tests/fixtures/synth/torch-2.10-py-p4.pickle"),
    ];

    /// The words of a property, counted allocation by allocation.
    fn one_by_one<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<Word> {
        let mut counts: HashMap<&str, u64> = HashMap::new();
        for text in texts.filter(|text| !text.is_empty() && text.len() <= WORD_LIMIT_BYTES) {
            *counts.entry(text).or_default() += 1;
        }
        let word = |(text, count): (&str, u64)| Word {
            text: text.to_owned(),
            help: allocations(count),
        };
        let mut words: Vec<Word> = counts.into_iter().map(word).collect();
        words.sort_by(|a, b| a.text.cmp(&b.text));
        words
    }

    fn by_text(words: &[Word]) -> Vec<Word> {
        let mut words = words.to_vec();
        words.sort_by(|a, b| a.text.cmp(&b.text));
        words
    }

    #[test]
    fn words_are_counted_as_one_by_one() {
        for file in FILES {
            let recording = Recording::of(crate::decode(file).unwrap());
            for device in recording.devices() {
                let found = Vocabulary::of(device);
                let found = |property| by_text(found.names(property));
                let labels = device.operators();
                let operators = device.operator_of().iter().map(|&id| labels.label(id));
                assert_eq!(found(Property::Operator), one_by_one(operators));
                let sites = device.site_of().iter();
                let sites = sites.map(|&id| &*device.call_sites().get(id).label);
                assert_eq!(found(Property::CallSite), one_by_one(sites));
                let roles = device.rule_of().iter().map(|rule| rule.role().word());
                assert_eq!(found(Property::Role), one_by_one(roles));
                let contexts = device.allocations().filter_map(|id| device.context(id));
                let texts = contexts.filter_map(|context| context.user_metadata);
                let texts = texts.map(|id| device.snapshot().strings.get(id));
                assert_eq!(found(Property::Metadata), one_by_one(texts));
            }
        }
    }
}
