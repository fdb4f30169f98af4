//! Words of one device's recording that completions offer.

use std::collections::HashMap;
use std::hash::Hash;

use foldhash::fast::RandomState;

use super::term::PoolMatch;
use crate::analysis::code::call_sites::CallSiteId;
use crate::analysis::code::frames::{FrameClass, Location, clip};
use crate::analysis::code::operators::OperatorId;
use crate::analysis::recording::Device;
use crate::analysis::roles::Role;
use crate::ids::{FrameId, StackId, StringId};
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
    /// How many allocations have it, and of streams the handle, of pools the name; empty if unknown.
    pub help: String,
}

/// The words by kind. In each kind, those of the most allocations come first; streams are in the order of their
/// numbers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Vocabulary {
    /// Functions of user code.
    pub functions: Vec<Word>,
    /// Files of user code.
    pub files: Vec<Word>,
    /// Labels of call sites.
    pub sites: Vec<Word>,
    /// Labels of operators.
    pub operators: Vec<Word>,
    /// The profiler's categories.
    pub categories: Vec<Word>,
    /// Inferred roles.
    pub roles: Vec<Word>,
    /// Metadata that the program attached to allocations.
    pub metadata: Vec<Word>,
    /// `torch.compile` regions.
    pub compiled: Vec<Word>,
    /// Names of this device's annotated ranges.
    pub annotations: Vec<Word>,
    /// Numbers of streams.
    pub streams: Vec<Word>,
    /// Memory pools: `default`, or an id such as `0,3`.
    pub pools: Vec<Word>,
}

impl Vocabulary {
    /// Collects the words of a device's allocations.
    #[must_use]
    pub fn of(device: Device<'_>) -> Self {
        let contexts = device.snapshot().contexts.rows();
        let used = device.context_of().iter().map(|context| context.index());
        let used = counts(contexts.len(), used);
        let of_context = |text: fn(&crate::model::Context) -> Option<StringId>| {
            let used = contexts.iter().zip(&used);
            let texts = used.filter_map(|(context, &count)| Some((text(context)?, count)));
            strings(device, summed(texts))
        };
        let (functions, files) = code(device);
        let sites = device.call_sites();
        let used = device.site_of().iter().map(|site| site.index());
        let used = (0..).map(CallSiteId).zip(counts(sites.sites().len(), used));
        let used_sites = summed(used.filter(|&(site, _)| site != CallSiteId::NONE));
        let operators = operators(device);
        let labels = device.call_sites().operators();
        let roles = device.rule_of().iter().map(|rule| rule.role().ordinal());
        let roles = Role::ALL.into_iter().zip(counts(Role::ALL.len(), roles));
        let mut compiled = of_context(|context| context.compile_context);
        compiled.retain(|word| word.text != "N/A");
        Self {
            functions,
            files,
            sites: words(used_sites, |site| sites.get(site).label.clone()),
            operators: words(operators, |operator| labels.label(operator).to_owned()),
            categories: of_context(|context| context.category),
            roles: words(summed(roles), |role| role.word().to_owned()),
            metadata: of_context(|context| context.user_metadata),
            compiled,
            annotations: annotations(device),
            streams: streams(device),
            pools: pools(device),
        }
    }
}

/// The distinct values and the sums of their counts, the greatest first; without those that never occur.
fn summed<T: Copy + Eq + Hash + Ord>(values: impl Iterator<Item = (T, u64)>) -> Vec<(T, u64)> {
    let mut sums: HashMap<T, u64, RandomState> = HashMap::default();
    for (value, count) in values.filter(|&(_, count)| count > 0) {
        *sums.entry(value).or_default() += count;
    }
    let mut sums: Vec<(T, u64)> = sums.into_iter().collect();
    sums.sort_few_by_key(|&(value, count)| (std::cmp::Reverse(count), value));
    sums
}

/// The operators with the number of allocations that each made, the most first. It goes by stacks, of which there are few.
fn operators(device: Device<'_>) -> Vec<(OperatorId, u64)> {
    let stacks = device.snapshot().stacks.len();
    // Of an allocation from before the recording, the stack may be that of its free, which tells no operator.
    let before = device.history.before_recording as usize;
    let recorded = device.stack_of().get(before..).unwrap_or(&[]);
    let recorded = counts(stacks, recorded.iter().map(|stack| stack.index()));
    let recorded = (0..).map(StackId).zip(recorded);
    let operators = device.call_sites().operators();
    let recorded = recorded.map(|(stack, count)| (operators.of_stack(stack), count));
    let earlier = device.allocations().take(before);
    let earlier = earlier.map(|id| (device.operator(id), 1));
    let mut all = summed(recorded.chain(earlier));
    all.retain(|&(operator, _)| operator != OperatorId::NONE);
    all
}

fn words<T>(counts: Vec<(T, u64)>, text: impl Fn(T) -> String) -> Vec<Word> {
    let words = counts.into_iter().map(|(value, count)| Word {
        text: text(value),
        help: allocations(count),
    });
    let short = words.filter(|word| !word.text.is_empty() && word.text.len() <= WORD_LIMIT_BYTES);
    short.take(WORDS_LIMIT).collect()
}

fn allocations(count: u64) -> String {
    match count {
        1 => "1 allocation".to_owned(),
        count => format!("{} allocations", crate::units::Count(count)),
    }
}

fn strings(device: Device<'_>, counts: Vec<(StringId, u64)>) -> Vec<Word> {
    words(counts, |id| {
        let text = device.snapshot().strings.get(id);
        clip(text, WORD_LIMIT_BYTES + 1).to_owned()
    })
}

/// Functions and files of user code, sorted by the number of allocations whose stack contains them.
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
        // A stack may contain several lines of a function, so a sum over frames would count allocations twice.
        // The largest count is a lower bound.
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
        words
            .into_iter()
            .map(|(text, _)| Word {
                text,
                help: String::new(),
            })
            .filter(|word| !word.text.is_empty() && word.text.len() <= WORD_LIMIT_BYTES)
            .take(WORDS_LIMIT)
            .collect()
    };
    (sorted(functions), sorted(files))
}

fn annotations(on: Device<'_>) -> Vec<Word> {
    let here = on.ranges().map(|range| range.name);
    let mut words = strings(on, summed(here.map(|name| (name, 1))));
    for word in &mut words {
        word.help = word.help.replace("allocation", "range");
    }
    words
}

fn streams(on: Device<'_>) -> Vec<Word> {
    let used: HashMap<i64, u64> = summed(on.stream_of().counts()).into_iter().collect();
    let streams = on.recording.streams();
    let numbered = (0..).zip(streams.handles());
    let present = numbered.filter_map(|(number, &handle)| {
        let count = *used.get(&handle)?;
        let name = streams.label(handle);
        Some(Word {
            text: number.to_string(),
            help: format!("{name}, {}", allocations(count)),
        })
    });
    present.take(WORDS_LIMIT).collect()
}

fn pools(on: Device<'_>) -> Vec<Word> {
    let used = summed(on.pool_of().counts());
    let words = used.into_iter().map(|(pool, count)| Word {
        text: PoolMatch::of(pool).to_string(),
        help: format!(
            "{}, {}",
            on.recording.pools().label(pool),
            allocations(count)
        ),
    });
    words.take(WORDS_LIMIT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::recording::Recording;

    /// With stacks of frees, from before the recording too, and with pools and streams.
    const FILES: [&[u8]; 2] = [
        include_bytes!("../../../../../../tests/fixtures/torch-2.15.0/named_ranges.pickle"),
        include_bytes!("../../../../../../tests/fixtures/synth/torch-2.10-py-p4.pickle"),
    ];

    /// The words of a column, counted allocation by allocation.
    fn one_by_one<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<Word> {
        let mut counts: HashMap<&str, u64> = HashMap::new();
        for text in texts.filter(|text| !text.is_empty()) {
            *counts.entry(text).or_default() += 1;
        }
        words(counts.into_iter().collect(), str::to_owned)
    }

    fn by_text(words: &[Word]) -> Vec<&Word> {
        let mut words: Vec<&Word> = words.iter().collect();
        words.sort_by(|a, b| a.text.cmp(&b.text));
        words
    }

    #[test]
    fn words_are_counted_as_one_by_one() {
        for file in FILES {
            let recording = Recording::of(crate::decode(file).unwrap());
            for device in recording.devices() {
                let found = Vocabulary::of(device);
                let labels = device.call_sites().operators();
                let operators = device.operator_of().iter();
                let operators = one_by_one(operators.map(|&id| labels.label(id)));
                assert_eq!(by_text(&found.operators), by_text(&operators));
                let sites = device.site_of().iter();
                let sites = sites.filter(|&&site| site != CallSiteId::NONE);
                let sites = one_by_one(sites.map(|&id| &*device.call_sites().get(id).label));
                assert_eq!(by_text(&found.sites), by_text(&sites));
                let roles = one_by_one(device.rule_of().iter().map(|rule| rule.role().word()));
                assert_eq!(by_text(&found.roles), by_text(&roles));
                let contexts = device.allocations().filter_map(|id| device.context(id));
                let texts = contexts.filter_map(|context| context.user_metadata);
                let texts = one_by_one(texts.map(|id| device.snapshot().strings.get(id)));
                assert_eq!(by_text(&found.metadata), by_text(&texts));
            }
        }
    }
}
