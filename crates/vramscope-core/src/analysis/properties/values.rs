//! The values of each property.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use super::places::nested_names;
use super::{Kind, Property};
use crate::analysis::code::frames::clip;
use crate::analysis::memory::pools::Pool;
use crate::analysis::recording::Device;
use crate::analysis::roles::Role;
use crate::analysis::time::history::NEVER;
use crate::analysis::time::lifetime::lifetime;
use crate::ids::{AllocationId, StringId};
use crate::model::{Context, PoolId};
use crate::sorting::SortFew;

/// The values of a property for all allocations of a device.
pub enum Values<'a> {
    /// By row of the allocation table, its number; `None` if unknown.
    Numbers(Box<dyn Fn(usize) -> Option<u64> + 'a>),
    /// Names that rows share.
    Names(Names<'a>),
}

/// Names that allocations share.
pub struct Names<'a> {
    /// The displayed names, in the order of the values if they have one. Two may be the same.
    pub labels: Vec<Cow<'a, str>>,
    /// Each name as a search term, if different; else empty.
    pub words: Vec<Cow<'a, str>>,
    /// By row of the allocation table, the index of its name; [`Self::UNKNOWN`] if it has none.
    pub of: Box<dyn Fn(usize) -> u32 + 'a>,
    /// The label of allocations without a name.
    pub unknown: Cow<'a, str>,
    /// Whether `unknown` is also a search term that finds them.
    pub is_unknown_a_word: bool,
}

/// Maximum length of a text. A damaged or hostile file may have a text of gigabytes.
pub(crate) const TEXT_LIMIT_BYTES: usize = 64 << 10;

/// The label of allocations for which the file has no value.
pub const NOT_RECORDED: &str = "not recorded";

impl<'a> Names<'a> {
    /// The index for rows without a known name.
    pub const UNKNOWN: u32 = u32::MAX;

    pub(super) fn of<T: Into<Cow<'a, str>>>(
        labels: impl IntoIterator<Item = T>,
        of: impl Fn(usize) -> u32 + 'a,
    ) -> Self {
        Self {
            labels: labels.into_iter().map(T::into).collect(),
            words: Vec::new(),
            of: Box::new(of),
            unknown: NOT_RECORDED.into(),
            is_unknown_a_word: false,
        }
    }

    /// The names as search terms.
    #[must_use]
    pub fn words(&self) -> &[Cow<'a, str>] {
        match self.words.is_empty() {
            true => &self.labels,
            false => &self.words,
        }
    }

    /// The label of a row; `None` if it has no name.
    #[must_use]
    pub fn label(&self, row: usize) -> Option<&str> {
        let place = (self.of)(row) as usize;
        self.labels.get(place).map(|label| &**label)
    }
}

/// The values of a property. Names stand alone here; see [`nested_names`].
#[must_use]
pub fn values(device: Device<'_>, property: Property) -> Values<'_> {
    let history = device.history;
    let table = &history.allocations;
    let id = AllocationId::from_index;
    let block = move |row: usize| {
        let block = history.final_block(id(row))?;
        Some(device.snapshot().blocks.get(block).size)
    };
    match property {
        Property::Order => numbers(|row| Some(row as u64 + 1)),
        Property::Size => numbers(|row| Some(table.bytes[row])),
        Property::Block => numbers(block),
        Property::Rounding => {
            numbers(move |row| Some(block(row)?.saturating_sub(table.bytes[row])))
        }
        Property::Address => numbers(|row| Some(table.address[row])),
        Property::Born => numbers(|row| Some(table.born[row].into())),
        Property::Died => {
            numbers(|row| Some(table.died[row].into()).filter(|_| table.died[row] != NEVER))
        }
        Property::Lifetime => numbers(move |row| {
            let life = lifetime(history, id(row));
            let us = life.us.map(|us| us.max(0).cast_unsigned());
            Some(us.unwrap_or(life.events.into()))
        }),
        Property::AgeSteps => age_steps(device),
        Property::CallSite => Values::Names(call_sites(device)),
        Property::Operator => Values::Names(operators(device)),
        Property::Role => Values::Names(roles(device)),
        Property::Stream => Values::Names(streams(device)),
        Property::Pool => Values::Names(pools(device)),
        Property::Category => Values::Names(categories(device)),
        Property::Metadata => Values::Names(texts(device, |context| context.user_metadata)),
        Property::Compile => Values::Names(compiled(device)),
        Property::Function
        | Property::File
        | Property::Module
        | Property::Package
        | Property::Annotation => {
            let names = nested_names(device, property, 1);
            Values::Names(
                names.unwrap_or_else(|| Names::of([Cow::Borrowed(""); 0], |_| Names::UNKNOWN)),
            )
        }
    }
}

/// The names of a property's values; a small set of numbers counts as names. `None` for sizes, moments and other
/// measures.
#[must_use]
pub fn names(device: Device<'_>, property: Property) -> Option<Names<'_>> {
    match values(device, property) {
        Values::Names(names) => Some(names),
        Values::Numbers(number) if property.kind() == Kind::Number => {
            let rows = 0..device.history.allocations.len();
            let known: BTreeSet<u64> = rows.filter_map(&number).collect();
            let known: Vec<u64> = known.into_iter().collect();
            let labels: Vec<String> = known.iter().map(u64::to_string).collect();
            let place = move |row| known.binary_search(&number(row)?).ok();
            Some(Names::of(labels, move |row| of_place(place(row))))
        }
        Values::Numbers(_) => None,
    }
}

fn numbers<'a>(of: impl Fn(usize) -> Option<u64> + 'a) -> Values<'a> {
    Values::Numbers(Box::new(of))
}

fn of_place(place: Option<usize>) -> u32 {
    place.map_or(Names::UNKNOWN, |place| place as u32)
}

/// Unknown if there are no steps.
fn age_steps(device: Device<'_>) -> Values<'_> {
    let table = &device.history.allocations;
    let steps = device.steps().map(|steps| &steps.steps[..]);
    let begins: Vec<u32> = steps
        .unwrap_or_default()
        .iter()
        .map(|step| step.moments.0)
        .collect();
    let before = move |moment: u32| begins.partition_point(|&begin| begin < moment);
    numbers(move |row| {
        steps
            .is_some()
            .then(|| before(table.died[row]).saturating_sub(before(table.born[row])) as u64)
    })
}

/// Row 0 of the sites stands for allocations without a stack.
fn call_sites(device: Device<'_>) -> Names<'_> {
    let sites = device.call_sites().sites();
    let site_of = device.site_of();
    Names {
        unknown: sites[0].label.as_str().into(),
        is_unknown_a_word: true,
        ..Names::of(
            sites.iter().skip(1).map(|site| site.label.as_str()),
            |row| site_of[row].0.wrapping_sub(1),
        )
    }
}

/// Row 0 of the operators stands for none.
fn operators(device: Device<'_>) -> Names<'_> {
    let labels = device.operators().labels();
    let operator_of = device.operator_of();
    let labels = labels.iter().skip(1).map(String::as_str);
    Names::of(labels, |row| operator_of[row].0.wrapping_sub(1))
}

fn roles(device: Device<'_>) -> Names<'_> {
    // The last is `Unknown`.
    let known = || Role::ALL.into_iter().filter(|&role| role != Role::Unknown);
    let rule_of = device.rule_of();
    let of = move |row: usize| match rule_of[row].role() {
        Role::Unknown => Names::UNKNOWN,
        role => role.ordinal() as u32,
    };
    Names {
        words: known().map(|role| role.word().into()).collect(),
        unknown: Role::Unknown.word().into(),
        is_unknown_a_word: true,
        ..Names::of(known().map(|role| Cow::Borrowed(role.label())), of)
    }
}

/// In the order of [`Snapshot::streams`](crate::Snapshot::streams).
fn streams(device: Device<'_>) -> Names<'_> {
    let streams = device.recording.streams();
    let stream_of = device.stream_of();
    let numbers = streams.numbers();
    let words = (0..numbers.len()).map(|number| number.to_string().into());
    Names {
        words: words.collect(),
        ..Names::of(streams.labels(), move |row| {
            let number = stream_of[row].and_then(|stream| numbers.get(&stream).copied());
            number.unwrap_or(Names::UNKNOWN)
        })
    }
}

/// Ascending.
fn pools(device: Device<'_>) -> Names<'_> {
    let pools = device.recording.pools();
    let pool_of = device.pool_of();
    let word = |id: PoolId| match id.is_private() {
        true => format!("{},{}", id.0, id.1).into(),
        false => "default".into(),
    };
    Names {
        words: pools.all().iter().map(|pool| word(pool.id)).collect(),
        ..Names::of(pools.all().iter().map(Pool::label), |row| {
            let number = pool_of[row].and_then(|pool| pools.number(pool));
            number.unwrap_or(Names::UNKNOWN)
        })
    }
}

/// PyTorch's categories, in the order in which memory is usually stacked.
const CATEGORIES: [&str; 8] = [
    "parameter",
    "gradient",
    "optimizer_state",
    "input",
    "activation",
    "temporary",
    "autograd_detail",
    "unknown",
];

/// PyTorch's categories in a fixed order, then others by name.
fn categories(device: Device<'_>) -> Names<'_> {
    let of = texts(device, |context| context.category);
    let mut others = of.labels.clone();
    others.retain(|word| !CATEGORIES.contains(&&**word));
    others.sort_few_by(Ord::cmp);
    let labels = CATEGORIES.into_iter().map(Cow::Borrowed);
    let labels: Vec<Cow<'_, str>> = labels.chain(others).collect();
    let known: HashMap<&str, u32> = labels.iter().map(|label| &**label).zip(0..).collect();
    let places: Vec<u32> = of.labels.iter().map(|label| known[&**label]).collect();
    let place = move |row| places.get((of.of)(row) as usize).copied();
    Names::of(labels, move |row| place(row).unwrap_or(Names::UNKNOWN))
}

/// Outside of all regions PyTorch writes `N/A`.
fn compiled(device: Device<'_>) -> Names<'_> {
    let names = texts(device, |context| context.compile_context);
    let outside = names.labels.iter().position(|label| label == "N/A");
    let outside = of_place(outside);
    let mut labels = names.labels;
    if let Some(label) = labels.get_mut(outside as usize) {
        *label = "".into();
    }
    let of = names.of;
    Names::of(labels, move |row| match of(row) {
        place if place == outside => Names::UNKNOWN,
        place => place,
    })
}

/// Texts of the contexts of allocations, in the order of the contexts. Empty texts count as none.
fn texts(device: Device<'_>, text: fn(&Context) -> Option<StringId>) -> Names<'_> {
    let strings = &device.snapshot().strings;
    let mut places: HashMap<StringId, u32> = HashMap::new();
    let mut labels = Vec::new();
    let contexts = device.snapshot().contexts.rows().iter();
    let of_context = contexts.map(|context| {
        let id = text(context).filter(|&id| !strings.get(id).is_empty());
        let place = |id| {
            *places.entry(id).or_insert_with(|| {
                labels.push(clip(strings.get(id), TEXT_LIMIT_BYTES));
                labels.len() as u32 - 1
            })
        };
        id.map_or(Names::UNKNOWN, place)
    });
    let of_context: Vec<u32> = of_context.collect();
    let context_of = device.context_of();
    Names::of(labels, move |row| {
        let place = of_context.get(context_of[row].index());
        place.copied().unwrap_or(Names::UNKNOWN)
    })
}
