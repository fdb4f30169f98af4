//! Words of one device's recording that completions offer.

use std::collections::HashMap;
use std::hash::Hash;

use foldhash::fast::RandomState;

use super::term::PoolMatch;
use crate::analysis::code::frames::{FrameClass, Location, clip};
use crate::analysis::code::operators::OperatorId;
use crate::analysis::recording::Device;
use crate::ids::{ContextId, FrameId, StringId};
use crate::sorting::SortFew;

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
        let used = device.context_of().iter().copied();
        let used = counted(used.filter(|&context| context != ContextId::ABSENT));
        let of_context = |text: fn(&crate::model::Context) -> Option<StringId>| {
            let used = used.iter();
            let texts =
                used.filter_map(|&(id, count)| Some((text(contexts.get(id.index())?)?, count)));
            strings(device, summed(texts))
        };
        let (functions, files) = code(device);
        let sites = counted(
            device
                .site_of()
                .iter()
                .copied()
                .filter(|site| site.index() > 0),
        );
        let operators = device.operator_of().iter().copied();
        let operators = counted(operators.filter(|&operator| operator != OperatorId::NONE));
        let labels = device.call_sites().operators();
        let mut compiled = of_context(|context| context.compile_context);
        compiled.retain(|word| word.text != "N/A");
        Self {
            functions,
            files,
            sites: words(sites, |site| device.call_sites().get(site).label.clone()),
            operators: words(operators, |operator| labels.label(operator).to_owned()),
            categories: of_context(|context| context.category),
            roles: words(
                counted(device.rule_of().iter().map(|rule| rule.role())),
                |role| role.word().to_owned(),
            ),
            metadata: of_context(|context| context.user_metadata),
            compiled,
            annotations: annotations(device),
            streams: streams(device),
            pools: pools(device),
        }
    }
}

/// The distinct values and how often each occurs, the most frequent first.
fn counted<T: Copy + Eq + Hash + Ord>(values: impl Iterator<Item = T>) -> Vec<(T, u64)> {
    summed(values.map(|value| (value, 1)))
}

/// The distinct values and the sums of their counts, the greatest first.
fn summed<T: Copy + Eq + Hash + Ord>(values: impl Iterator<Item = (T, u64)>) -> Vec<(T, u64)> {
    let mut counts: HashMap<T, u64, RandomState> = HashMap::default();
    // There may be millions of values, and neighbours are often equal.
    let mut run: Option<(T, u64)> = None;
    for (value, count) in values {
        match &mut run {
            Some((last, sum)) if *last == value => *sum += count,
            _ => {
                if let Some((last, sum)) = run.replace((value, count)) {
                    *counts.entry(last).or_default() += sum;
                }
            }
        }
    }
    if let Some((last, sum)) = run {
        *counts.entry(last).or_default() += sum;
    }
    let mut counts: Vec<(T, u64)> = counts.into_iter().collect();
    counts.sort_few_by_key(|&(value, count)| (std::cmp::Reverse(count), value));
    counts
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
    for (stack, count) in counted(device.stack_of().iter().copied()) {
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
    let mut words = strings(on, counted(here));
    for word in &mut words {
        word.help = word.help.replace("allocation", "range");
    }
    words
}

fn streams(on: Device<'_>) -> Vec<Word> {
    let used = counted(on.stream_of().iter().flatten().copied());
    let used: HashMap<i64, u64> = used.into_iter().collect();
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
    let used = counted(on.pool_of().iter().flatten().copied());
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
