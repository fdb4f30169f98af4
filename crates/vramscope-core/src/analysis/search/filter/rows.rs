//! Filters that select the allocations of a row in a legend, flame graph or table. They are built from the row's ids
//! and values, never by parsing its label.

use super::keys::Flag;
use super::pattern::Pattern;
use super::term::{Expression, PoolMatch, Term, Test, TextField, When, WhenField};
use super::{AddressMatch, Filter};
use crate::Snapshot;
use crate::analysis::code::call_sites::{short_function, short_path};
use crate::analysis::code::frame_groups::names::{namespaces, python_module, python_package};
use crate::analysis::code::frame_groups::{FrameGrouping, FrameGroups, GroupId, GroupTable};
use crate::analysis::code::frames::{FrameClass, Location, is_python_source, is_torch_name};
use crate::analysis::properties::{Kind, Names, Property};
use crate::analysis::recording::Device;
use crate::model::PoolId;

/// For each of a property's names, and for allocations without a name, a filter that selects exactly its allocations.
/// Empty without such filters: the property has no key, or its key finds more.
#[must_use]
pub fn of_names(device: Device<'_>, property: Property, names: &Names<'_>) -> Vec<Filter> {
    let places = 0..names.labels.len();
    let (each, without): (Vec<Expression>, Expression) = match property {
        _ if !is_exact(property) => return Vec::new(),
        Property::Stream => {
            let each: Vec<_> = places.map(stream).collect();
            let without = all(each.iter().cloned().map(not));
            (each, without)
        }
        Property::Pool => {
            let pools = device.recording.pools().all().iter();
            let one = |pool| Expression::Term(Term::Pool(pool));
            let known = [PoolMatch::Default, PoolMatch::Private];
            let without = all(known.map(|pool| not(one(pool))));
            (
                pools.map(|pool| one(PoolMatch::of(pool.id))).collect(),
                without,
            )
        }
        _ if property.kind() == Kind::Number => {
            let number = |test| Expression::Term(Term::Number(property, test));
            let numbers = names.words().iter().filter_map(|word| word.parse().ok());
            let each = numbers.map(|value| number(Test::Equal(value))).collect();
            (each, not(number(Test::AtLeast(0))))
        }
        _ => {
            let words = names.words().iter();
            let words = words.map(|word| text(TextField::Of(property), word, true));
            (words.collect(), unnamed(property, names))
        }
    };
    each.into_iter()
        .chain([without])
        .map(Filter::from)
        .collect()
}

/// Selects the allocations without any of a property's names, if they are searched for as texts and [`of_name`] selects
/// exactly those with each name.
#[must_use]
pub fn without_name(property: Property, names: &Names<'_>) -> Option<Filter> {
    let is_name = property.kind() == Kind::Name && is_exact(property);
    is_name.then(|| unnamed(property, names).into())
}

/// Whether a search by the property's own key finds exactly the allocations with a name. Searches of metadata and
/// annotations find more.
fn is_exact(property: Property) -> bool {
    let finds_more = matches!(property, Property::Metadata | Property::Annotation);
    property.row().key.is_some() && !finds_more
}

fn unnamed(property: Property, names: &Names<'_>) -> Expression {
    let field = TextField::Of(property);
    match names.is_unknown_a_word {
        true => text(field, &names.unknown, true),
        false => not(Expression::Term(Term::Text(field, anything()))),
    }
}

/// Selects allocations that match any of these filters; `None` without filters.
pub(crate) fn any(filters: Vec<Filter>) -> Option<Filter> {
    let mut each = filters.into_iter().map(|filter| filter.expression);
    let first = each.next()?;
    let rest: Vec<Expression> = each.collect();
    Some(match rest.is_empty() {
        true => first.into(),
        false => Expression::Or([first].into_iter().chain(rest).collect()).into(),
    })
}

/// Selects the allocations with this name of a property with a text key.
#[must_use]
pub fn of_name(property: Property, word: &str) -> Filter {
    text(TextField::Of(property), word, true).into()
}

/// Selects the allocations of a memory pool.
#[must_use]
pub fn of_pool(pool: PoolId) -> Filter {
    Expression::Term(Term::Pool(PoolMatch::of(pool))).into()
}

/// Selects the allocations in the `bytes` bytes from an address.
#[must_use]
pub fn of_addresses(from: u64, bytes: u64) -> Filter {
    let to = from.saturating_add(bytes.saturating_sub(1));
    Expression::Term(Term::Address(AddressMatch::Between { from, to })).into()
}

/// Selects the allocations with a requested size of `from_bytes` or more, and below `below_bytes` if given.
#[must_use]
pub fn of_size(from_bytes: u64, below_bytes: Option<u64>) -> Filter {
    let size = |test| Expression::Term(Term::Number(Property::Size, test));
    let from = (from_bytes > 0).then(|| size(Test::AtLeast(from_bytes)));
    let below = below_bytes.map(|below| size(Test::Below(below)));
    all(from.into_iter().chain(below)).into()
}

/// Selects the allocations from before the recording.
#[must_use]
pub fn born_before() -> Filter {
    Expression::Term(Term::Flag(Flag::Before)).into()
}

/// Selects the allocations born in `first ..= last`.
#[must_use]
pub fn born_in(first: u32, last: u32) -> Filter {
    let test = Test::Between(When::Event(first.into()), When::Event(last.into()));
    Expression::Term(Term::When(WhenField::Born, test)).into()
}

/// Selects the allocations with a frame of this group on their stack. `None` if the group is not code, or no filter can
/// express it.
#[must_use]
pub fn of_group(
    snapshot: &Snapshot,
    (table, groups): (&GroupTable, &FrameGroups),
    grouping: FrameGrouping,
    group: GroupId,
) -> Option<Filter> {
    let label = &table.get(group).label;
    if groups.operator(group).is_some() {
        return Some(of_name(Property::Operator, label));
    }
    let frame = groups.frame_of(group).filter(|_| group.is_code())?;
    let location = Location::of(snapshot, snapshot.frames.get(frame));
    of_frame(grouping, &location, table.get(group).class)
}

/// Selects the allocations with a frame on their stack in the same group as `location`. `None` if the frames of that
/// group have no text in common. `class`: the class of the group's frames.
#[must_use]
pub fn of_frame(
    grouping: FrameGrouping,
    location: &Location<'_>,
    class: FrameClass,
) -> Option<Filter> {
    let file = short_path(location.file);
    let of_file = || (!file.is_empty()).then(|| path(TextField::File, &file));
    let function = short_function(location.function);
    let of_function =
        || (!function.is_empty()).then(|| text(TextField::Function, &function, false));
    let found = match grouping {
        FrameGrouping::Line if !file.is_empty() && location.line > 0 => {
            Some(path(TextField::Frame, &format!("{file}:{}", location.line)))
        }
        FrameGrouping::Line | FrameGrouping::Function => match (of_file(), of_function()) {
            (None, None) => None,
            (file, function) => Some(all(file.into_iter().chain(function))),
        },
        FrameGrouping::File => of_file(),
        FrameGrouping::Module | FrameGrouping::Package if !is_python_source(location.file) => {
            let levels = if grouping == FrameGrouping::Module {
                2
            } else {
                1
            };
            match namespaces(location.function, levels) {
                Some(spaces) => Some(text(TextField::Function, &format!("{spaces}::"), false)),
                None if is_torch_name(location.function) => None,
                None => of_file(),
            }
        }
        FrameGrouping::Module => Some(path(TextField::File, python_module(&file))),
        FrameGrouping::Package => {
            python_package(location, class).map(|package| path(TextField::Frame, &package))
        }
    };
    found.map(Filter::from)
}

impl From<Expression> for Filter {
    fn from(expression: Expression) -> Self {
        Self { expression }
    }
}

/// The pattern that matches any text.
fn anything() -> Pattern {
    Pattern {
        text: "*".to_owned(),
        is_literal: false,
        is_whole: false,
    }
}

fn stream(number: usize) -> Expression {
    // The number is an index into the list of streams, so it fits.
    Expression::Term(Term::Stream(i64::try_from(number).unwrap_or(i64::MAX)))
}

fn not(expression: Expression) -> Expression {
    Expression::Not(Box::new(expression))
}

fn all(parts: impl IntoIterator<Item = Expression>) -> Expression {
    let mut parts: Vec<_> = parts.into_iter().collect();
    match parts.len() {
        0 => Expression::All,
        1 => parts.remove(0),
        _ => Expression::And(parts),
    }
}

/// A text term that matches `text` literally, asterisks included.
fn text(field: TextField, text: &str, is_whole: bool) -> Expression {
    let pattern = Pattern {
        text: text.to_owned(),
        is_literal: text.contains('*'),
        is_whole,
    };
    Expression::Term(Term::Text(field, pattern))
}

/// A text term for a shortened path. Shortened paths have `/` even if the file has the `\` of Windows, so `*` takes its
/// place.
fn path(field: TextField, path: &str) -> Expression {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.:/".contains(c);
    if !path.chars().all(is_plain) {
        return text(field, path, false);
    }
    let pattern = Pattern {
        text: path.replace('/', "*"),
        is_literal: false,
        is_whole: false,
    };
    Expression::Term(Term::Text(field, pattern))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::code::frames::classify;
    use crate::analysis::properties::names;
    use crate::analysis::recording::Recording;

    fn of(grouping: FrameGrouping, function: &str, file: &str) -> Option<String> {
        let location = Location {
            function,
            file,
            line: 12,
        };
        let filter = of_frame(grouping, &location, classify(function, file))?;
        let text = filter.to_string();
        assert_eq!(Filter::parse(&text), Ok(filter), "{text}");
        Some(text)
    }

    #[test]
    fn frames_are_looked_for_by_what_makes_their_group() {
        use FrameGrouping::{File, Function, Line, Module, Package};
        let linear = "/v/site-packages/torch/nn/linear.py";
        let native = "at::native::mm(int)";
        for (grouping, function, file, text) in [
            (Line, "forward", "/run/models/a.py", "frame:models*a.py:12"),
            (Line, "at::_ops::mm::call(int)", "", "fn:at::_ops::mm::call"),
            (Function, "fn", "/run/models/a.py", "file:models*a.py fn:fn"),
            (File, "fn", "/run/models/a.py", "file:models*a.py"),
            (Module, "fn", linear, "file:torch*nn*linear"),
            (Module, native, "", "fn:at::native::"),
            (Package, "fn", "/run/models/a.py", "frame:models"),
            (Package, "fn", linear, "frame:torch"),
            (Package, native, "", "fn:at::"),
            (Line, "a \"b\"", "", r#"fn:"a \"b\"""#),
            (
                Line,
                "run",
                "<frozen runpy>",
                r#"frame:"<frozen runpy>:12""#,
            ),
        ] {
            assert_eq!(of(grouping, function, file).as_deref(), Some(text));
        }
    }

    #[test]
    fn what_no_text_tells_is_not_looked_for() {
        use FrameGrouping::{File, Line, Module, Package};
        for (grouping, function, file) in [
            (File, "at::mm(int)", ""),
            (Line, "", ""),
            (Module, "THPVariable_add(_object*)", ""),
            (Package, "run", "/usr/lib/python3.11/runpy.py"),
        ] {
            assert_eq!(of(grouping, function, file), None, "{function} {file}");
        }
    }

    #[test]
    fn what_has_no_name_is_selected_by_what_it_has_not() {
        let file = include_bytes!("../../../../../../tests/fixtures/synth/torch-2.10-py-p4.pickle");
        let recording = Recording::of(crate::decode(file.as_slice()).unwrap());
        let device = recording.device(0).unwrap();
        for (property, text) in [
            (Property::CallSite, "site=\"no stack recorded\""),
            (Property::Operator, "!op:*"),
            (Property::Role, "role=unknown"),
            (Property::Pool, "!pool:default !pool:private"),
            (Property::Category, "!category:*"),
        ] {
            let names = names(device, property).unwrap();
            let filters = of_names(device, property, &names);
            assert_eq!(filters.len(), names.labels.len() + 1);
            assert_eq!(filters.last().unwrap().to_string(), text);
        }
    }

    #[test]
    fn values_read_back() {
        let private = PoolId(0, 3);
        for (filter, text) in [
            (stream(3).into(), "stream:3"),
            (of_pool(PoolId(0, 0)), "pool:default"),
            (of_pool(private), "pool:0,3"),
            (
                of_name(Property::Category, "optimizer_state"),
                "category=optimizer_state",
            ),
            (
                any(["a_b", "a b"]
                    .map(|word| of_name(Property::Category, word))
                    .into())
                .unwrap(),
                r#"category=a_b | category="a b""#,
            ),
            (of_name(Property::Role, "kv_cache"), "role=kv_cache"),
            (of_size(1 << 30, None), "size>=1GiB"),
            (of_size(1 << 20, Some(64 << 20)), "size>=1MiB size<64MiB"),
            (of_size(0, Some(64 << 10)), "size<64KiB"),
            (of_addresses(0x7f00, 512), "addr:0x7f00..0x80ff"),
            (born_before(), "before"),
            (born_in(1201, 2400), "born:1201ev..2400ev"),
        ] {
            assert_eq!(filter.to_string(), text);
            assert_eq!(Filter::parse(text), Ok(filter), "{text}");
        }
    }
}
