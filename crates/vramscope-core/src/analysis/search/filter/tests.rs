//! Compares filters with a slow reference, and checks how texts are parsed and printed.

use proptest::prelude::*;
use vramscope_synth::scenario;
use vramscope_synth::snapshot::{Producer, Snapshot as Synthetic, WriteOptions};

use super::*;
use crate::analysis::properties::Property;
use crate::analysis::recording::{Device, Recording};
use crate::analysis::report::details::{AllocationDetails, allocation_details};
use crate::analysis::roles::Role;
use crate::analysis::time::history::NEVER;
use crate::ids::AllocationId;
use crate::model::Action;
use crate::units::Bytes;

/// A device, with a cursor and a selected range.
#[derive(Clone, Copy)]
struct Subject<'a> {
    device: Device<'a>,
    pointed: Pointed,
}

impl<'a> Subject<'a> {
    fn of(device: Device<'a>) -> Self {
        let events = device.history.event_count;
        let pointed = Pointed {
            cursor: Some(events / 2),
            range: Some((events / 4, events / 2)),
        };
        Self { device, pointed }
    }

    fn first(recording: &'a Recording) -> Self {
        Self::of(recording.devices().next().unwrap())
    }

    fn matches(&self, filter: &Filter) -> Matches {
        matches(filter, self.device, self.pointed)
    }

    fn found(&self, filter: &str) -> Vec<usize> {
        let filter = Filter::parse(filter).unwrap();
        self.matches(&filter).set.iter().collect()
    }
}

fn synthetic(model: &Synthetic, producer: Producer) -> Recording {
    let bytes = model.to_pickle(&WriteOptions::new(producer));
    Recording::of(crate::decode(&bytes[..]).unwrap())
}

/// The reference: decides from an allocation's details whether it matches.
fn slow(expression: &Expression, subject: &Subject<'_>, known: &Known<'_>) -> bool {
    match expression {
        Expression::All => true,
        Expression::Term(term) => slow_term(term, subject, known),
        Expression::Not(inner) => !slow(inner, subject, known),
        Expression::And(parts) => parts.iter().all(|part| slow(part, subject, known)),
        Expression::Or(parts) => parts.iter().any(|part| slow(part, subject, known)),
    }
}

struct Known<'a> {
    id: AllocationId,
    details: AllocationDetails,
    site: &'a str,
}

fn slow_term(term: &Term, subject: &Subject<'_>, known: &Known<'_>) -> bool {
    let (history, details) = (subject.device.history, &known.details);
    let row = known.id.index();
    let (born, died) = (history.allocations.born[row], history.allocations.died[row]);
    let at = |moment: u64| u64::from(born) <= moment && moment < u64::from(died);
    match term {
        Term::Text(field, pattern) => slow_text(*field, pattern, known),
        Term::Address(address) => slow_address(*address, details),
        Term::Stream(stream) => {
            details.stream_index.map(i64::from) == Some(*stream)
                || (*stream >= subject.device.recording.streams().handles().len() as i64
                    && details.stream == Some(*stream))
        }
        Term::Pool(pool) => details.pool.is_some_and(|id| match *pool {
            PoolMatch::Default | PoolMatch::Number(0) => id == crate::model::PoolId(0, 0),
            PoolMatch::Private => id != crate::model::PoolId(0, 0),
            PoolMatch::Id(meant) => id == meant,
            PoolMatch::Number(number) => id.0 == number || id.1 == number,
        }),
        Term::Number(property, test) => slow_counted(*property, *test, subject, known),
        Term::Length(field, unit, test) => slow_length(*field, *unit, *test, subject, known),
        Term::When(field, test) => {
            let moment = match field {
                WhenField::Born => born,
                WhenField::Died => died,
            };
            moment != NEVER && slow_when(*test, u64::from(moment), subject)
        }
        Term::Range(field) => {
            let (from, to) = subject.pointed.range.unwrap();
            match field {
                None => (from..=to).any(|moment| at(u64::from(moment))),
                Some(WhenField::Born) => (from + 1..=to).contains(&born),
                Some(WhenField::Died) => (from + 1..=to).contains(&died),
            }
        }
        Term::Live(Live::At(when)) => slow_moment(*when, subject).is_some_and(at),
        Term::Live(Live::Oom) | Term::Flag(keys::Flag::Oom) => {
            let events = subject.device.snapshot().trace(history.device);
            (1_u64..).zip(events).any(|(moment, event)| {
                subject.device.snapshot().events.action[event as usize] == Action::Oom && at(moment)
            })
        }
        Term::Live(Live::Range) => slow_term(&Term::Range(None), subject, known),
        Term::Live(Live::Named(pattern)) => slow_named(pattern, subject, at),
        Term::Flag(keys::Flag::Freed) => details.life.free_completed.is_some() || died != NEVER,
        Term::Flag(keys::Flag::Live) => at(u64::from(history.event_count)),
        Term::Flag(keys::Flag::Before) => details.life.alloc.is_none(),
        Term::Flag(keys::Flag::Pending) => {
            died == NEVER && history.allocations.free_requested[row] != NEVER
        }
    }
}

fn slow_named(pattern: &Pattern, subject: &Subject<'_>, at: impl Fn(u64) -> bool) -> bool {
    let history = subject.device.history;
    let ranges = subject.device.recording.ranges().iter().filter(|range| {
        range.device == history.device as i32
            && slow_find(pattern, subject.device.snapshot().strings.get(range.name))
    });
    let mut ranges = ranges;
    ranges.any(|range| {
        // An annotation covers its events, and the moment before its first event.
        let times = || history.moment_start_us.iter().enumerate().skip(1);
        let before = times()
            .filter(|&(_, time)| range.start_us.is_some_and(|start| time < start))
            .map(|(moment, _)| moment as u64)
            .max()
            .unwrap_or(0);
        let mut inside = times().filter(|&(_, time)| range.contains(time));
        !history.moment_start_us.is_empty()
            && (at(before) || inside.any(|(moment, _)| at(moment as u64)))
    })
}

fn slow_find(pattern: &Pattern, text: &str) -> bool {
    fn go(pattern: &[char], text: &[char]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some(('\u{1}', rest)) => (0..=text.len()).any(|skip| go(rest, &text[skip..])),
            Some((first, rest)) => text.first() == Some(first) && go(rest, &text[1..]),
        }
    }
    let mut wanted = pattern.text.to_lowercase();
    if !pattern.is_literal {
        wanted = wanted.replace('*', "\u{1}");
    }
    if !pattern.is_whole {
        wanted = format!("\u{1}{wanted}\u{1}");
    }
    let characters = |text: &str| text.chars().collect::<Vec<_>>();
    go(&characters(&wanted), &characters(&text.to_lowercase()))
}

fn slow_text(field: TextField, pattern: &Pattern, known: &Known<'_>) -> bool {
    let details = &known.details;
    let any = field == TextField::Anywhere;
    let found = |text: &str| slow_find(pattern, text);
    let line = pattern.text.rsplit_once(':').and_then(|(file, line)| {
        let line: u32 = line.parse().ok()?;
        (!file.is_empty()).then(|| (file.to_lowercase(), line))
    });
    let frames = details.stack.iter().any(|frame| {
        let function =
            field != TextField::File && !frame.function.is_empty() && found(&frame.function);
        let file = field != TextField::Function
            && ((!frame.file.is_empty() && found(&frame.file))
                || line.as_ref().is_some_and(|(file, line)| {
                    let path = frame.file.to_lowercase();
                    let whole = pattern.is_whole && path != *file;
                    frame.line == *line && path.ends_with(file) && !whole
                }));
        let nodes = frame.fx.iter().flat_map(|fx| {
            [&fx.op, &fx.name, &fx.target, &fx.original_trace]
                .into_iter()
                .filter(|text| !text.is_empty())
        });
        let in_frame = any || field == TextField::Frame;
        function || file || (in_frame && nodes.clone().any(|text| found(text)))
    });
    let texts = |wanted: TextField, texts: &[&Option<String>]| {
        (any || field == wanted) && texts.iter().any(|text| text.as_deref().is_some_and(found))
    };
    let code = [TextField::Frame, TextField::File, TextField::Function].contains(&field) || any;
    (code && frames)
        || ((any || field == TextField::Frame)
            && details.forward_frames.iter().any(|text| found(text)))
        || ((any || field == TextField::Of(Property::CallSite)) && found(known.site))
        || ((any || field == TextField::Of(Property::Operator))
            && !details.operator.is_empty()
            && found(&details.operator))
        || texts(
            TextField::Of(Property::Metadata),
            &[&details.user_metadata, &details.internal_metadata],
        )
        || ((any || field == TextField::Of(Property::Metadata))
            && details.annotations.iter().any(|text| found(text)))
        || texts(TextField::Of(Property::Category), &[&details.category])
        || (field == TextField::Of(Property::Role) && found(details.role.role.word()))
        || texts(
            TextField::Of(Property::Compile),
            &[&details.compile_context],
        )
        || ((any || field == TextField::Of(Property::Annotation))
            && details.ranges.iter().any(|text| found(text)))
        || (any
            && AddressMatch::of_word(&pattern.text)
                .is_some_and(|address| slow_address(address, details)))
}

fn slow_address(address: AddressMatch, details: &AllocationDetails) -> bool {
    let text = format!("{:x}", details.address);
    let last = details.address + details.requested_bytes.max(1) - 1;
    let digits = |value: u64, digits: u8| format!("{value:0width$x}", width = usize::from(digits));
    match address {
        AddressMatch::Digits { value, digits: n } => text.contains(&digits(value, n)),
        AddressMatch::At { value, digits: n } => {
            text.starts_with(&digits(value, n)) || (details.address..=last).contains(&value)
        }
        AddressMatch::Named { address, version } => match version {
            Some(version) => details.name == format!("b{address:x}_{version}"),
            None => details.address == address,
        },
        AddressMatch::Between { from, to } => details.address <= to && last >= from,
    }
}

fn slow_bytes(test: Test<u64>, bytes: u64) -> bool {
    match test {
        Test::Shown(wanted) => Bytes(bytes).to_string() == Bytes(wanted).to_string(),
        test => slow_number(test, bytes),
    }
}

fn slow_counted(
    property: Property,
    test: Test<u64>,
    subject: &Subject<'_>,
    known: &Known<'_>,
) -> bool {
    let details = &known.details;
    let block = details.block.as_ref();
    match property {
        Property::Size => slow_bytes(test, details.requested_bytes),
        Property::Block => block.is_some_and(|block| slow_bytes(test, block.bytes)),
        Property::Rounding => block.is_some_and(|block| slow_bytes(test, block.rounding_bytes)),
        Property::AgeSteps => subject.device.steps().is_some_and(|steps| {
            let table = &subject.device.history.allocations;
            let row = known.id.index();
            let lived = table.born[row]..table.died[row];
            let begins = steps.steps.iter().map(|step| step.moments.0);
            let begun = begins.filter(|begin| lived.contains(begin)).count();
            slow_number(test, begun as u64)
        }),
        other => panic!("{other:?} has no key of numbers"),
    }
}

fn slow_number(test: Test<u64>, number: u64) -> bool {
    match test {
        Test::Shown(wanted) | Test::Equal(wanted) => number == wanted,
        Test::Below(wanted) => number < wanted,
        Test::AtMost(wanted) => number <= wanted,
        Test::Above(wanted) => number > wanted,
        Test::AtLeast(wanted) => number >= wanted,
        Test::Between(from, to) => from <= number && number <= to,
    }
}

fn slow_length(
    field: LengthField,
    unit: LengthUnit,
    test: Test<u64>,
    subject: &Subject<'_>,
    known: &Known<'_>,
) -> bool {
    let (history, row) = (subject.device.history, known.id.index());
    let table = &history.allocations;
    let (born, freed, died) = (table.born[row], table.free_requested[row], table.died[row]);
    let (from, to, is_exact) = match field {
        LengthField::Lifetime => (born, died, born > 0 && died != NEVER),
        LengthField::Age => (born, subject.pointed.cursor.unwrap(), born > 0),
        LengthField::Pending => (freed, died, freed > 0 && died != NEVER),
    };
    if from == NEVER || from > to {
        return false;
    }
    let to = to.min(history.event_count);
    let length = match unit {
        LengthUnit::Events => u64::from(to - from),
        LengthUnit::Us => {
            let times = &history.moment_start_us;
            let Some((to, from)) = times.get(to).zip(times.get(from)) else {
                return false;
            };
            (to - from) as u64
        }
    };
    let shown = match (test, unit) {
        (Test::Shown(wanted), LengthUnit::Us) => shown_alike(length, wanted),
        _ => slow_number(test, length),
    };
    // If only a lower bound is known, every greater length must pass, too.
    shown && (is_exact || matches!(test, Test::Above(_) | Test::AtLeast(_)))
}

fn shown_alike(a: u64, b: u64) -> bool {
    let digits = |us: u64| {
        let unit: u64 = match us {
            0..1_000 => return (0, us * 100),
            1_000..1_000_000 => 1_000,
            _ => 1_000_000,
        };
        let steps = match us / unit {
            0..10 => 100,
            10..100 => 10,
            _ => 1,
        };
        (unit, us * steps / unit * (100 / steps))
    };
    digits(a) == digits(b)
}

fn slow_moment(when: When, subject: &Subject<'_>) -> Option<u64> {
    let history = subject.device.history;
    let moment = match when {
        When::Peak => u64::from(history.peak_moment),
        When::End => u64::from(history.event_count),
        When::Start => 0,
        When::Cursor => u64::from(subject.pointed.cursor.unwrap()),
        When::Event(number) => number,
        When::Us(us) => {
            let start = history.moment_start_us.first()?;
            let times = history.moment_start_us.iter().enumerate().skip(1);
            let passed = times.filter(|&(_, time)| (time - start) as u64 <= us);
            passed.map(|(moment, _)| moment as u64).max().unwrap_or(0)
        }
    };
    (moment <= u64::from(history.event_count)).then_some(moment)
}

fn slow_when(test: Test<When>, moment: u64, subject: &Subject<'_>) -> bool {
    let history = subject.device.history;
    // The moment in the unit of the comparison, and the value to compare it with.
    let pair = |when: When| match when {
        When::Us(us) => {
            let start = history.moment_start_us.first()?;
            let time = history.moment_start_us.get(moment as u32)?;
            // Allocations from before the recording are older than any time.
            let own = if moment == 0 {
                -1
            } else {
                (time - start) as i128
            };
            Some((own, i128::from(us)))
        }
        When::Event(number) => Some((i128::from(moment), i128::from(number))),
        when => Some((i128::from(moment), i128::from(slow_moment(when, subject)?))),
    };
    let compare = |when, holds: fn(i128, i128) -> bool| {
        pair(when).is_some_and(|(own, wanted)| holds(own, wanted))
    };
    match test {
        Test::Shown(when) | Test::Equal(when) => compare(when, |own, wanted| own == wanted),
        Test::Below(when) => compare(when, |own, wanted| own < wanted),
        Test::AtMost(when) => compare(when, |own, wanted| own <= wanted),
        Test::Above(when) => compare(when, |own, wanted| own > wanted),
        Test::AtLeast(when) => compare(when, |own, wanted| own >= wanted),
        Test::Between(from, to) => {
            compare(from, |own, wanted| own >= wanted) && compare(to, |own, wanted| own <= wanted)
        }
    }
}

fn assert_as_slow(opened: &Recording, text: &str) {
    let filter = Filter::parse(text).unwrap();
    for device in opened.devices() {
        let subject = Subject::of(device);
        let found = subject.matches(&filter).set;
        for row in 0..subject.device.history.allocations.len() {
            let id = AllocationId::from_index(row);
            let known = Known {
                id,
                details: allocation_details(subject.device, id).unwrap(),
                site: &device.call_sites().get(device.site_of()[row]).label,
            };
            let expected = slow(&filter.expression, &subject, &known);
            assert_eq!(found.contains(row), expected, "{text}: {:?}", known.details);
        }
    }
}

fn opened() -> &'static [Recording] {
    thread_local! {
        static OPENED: &'static [Recording] = {
            let newest = Producer::Python(2, 15);
            let mut all: Vec<_> = scenario::ALL
                .iter()
                .filter(|(name, _)| *name != "fragmented")
                .map(|(_, make)| synthetic(&make(1), newest))
                .collect();
            all.push(synthetic(&(scenario::ALL[0].1)(2), Producer::Python(2, 0)));
            all.leak()
        };
    }
    OPENED.with(|opened| *opened)
}

#[expect(clippy::too_many_lines, reason = "lists of words")]
/// A single term, mostly with words that occur in the scenarios.
fn term() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("forward"),
        Just("train"),
        Just("*step*"),
        Just("a*e"),
        Just("\"model.py\""),
        Just("train.py:61"),
        Just("init"),
        Just("7f"),
        Just("0x7f00"),
        Just("b7f0000000000_0"),
        Just("grad"),
        Just("temporary"),
        Just("weight"),
        Just("é"),
        Just("e\u{202e}x"),
    ];
    let key = prop_oneof![
        Just(""),
        Just("frame:"),
        Just("fn:"),
        Just("fn="),
        Just("file:"),
        Just("site:"),
        Just("meta:"),
        Just("category:"),
        Just("role:"),
        Just("compile:"),
        Just("annotation:"),
        Just("frame="),
        Just("live@"),
    ];
    let sign = prop_oneof![
        Just("<"),
        Just("<="),
        Just(">"),
        Just(">="),
        Just("="),
        Just(":"),
        Just("!=")
    ];
    let bytes = prop_oneof![
        Just("0"),
        Just("512"),
        Just("1MiB"),
        Just("2.0MiB"),
        Just("20 MiB"),
        Just("1GB")
    ];
    let length = prop_oneof![
        Just("0ev"),
        Just("5ev"),
        Just("100ev"),
        Just("5us"),
        Just("1ms"),
        Just("0.5s")
    ];
    let when = prop_oneof![
        Just("peak"),
        Just("end"),
        Just("start"),
        Just("cursor"),
        Just("10"),
        Just("1,000"),
        Just("50us"),
        Just("1ms"),
    ];
    let fixed = prop_oneof![
        Just("freed"),
        Just("live"),
        Just("before"),
        Just("pending"),
        Just("oom"),
        Just("live@oom"),
        Just("in:range"),
        Just("born:range"),
        Just("died:range"),
        Just("live@range"),
        Just("stream:0"),
        Just("stream:1"),
        Just("stream:64"),
        Just("pool:private"),
        Just("pool:default"),
        Just("pool:0,1"),
        Just("pool:1"),
        Just("addr:7f"),
        Just("addr:0x7f0000000000..0x7f0000ffffff"),
        Just("size:1MiB..4MiB"),
        Just("size:..1KiB"),
        Just("lifetime:2ev..9ev"),
        Just("born:10..peak"),
        Just("died:1us.."),
    ];
    let measured = prop_oneof![Just("size"), Just("block"), Just("rounding")];
    let long = prop_oneof![Just("lifetime"), Just("age"), Just("pending")];
    let then = prop_oneof![Just("born"), Just("died")];
    prop_oneof![
        4 => (key, word)
            .prop_filter("no moment", |(key, word)| *key != "live@" || !word.starts_with(char::is_numeric))
            .prop_map(|(key, word)| format!("{key}{word}")),
        2 => (measured, sign.clone(), bytes).prop_map(|(key, sign, value)| format!("{key}{sign}{value}")),
        2 => (long, sign.clone(), length).prop_map(|(key, sign, value)| format!("{key}{sign}{value}")),
        2 => (then, sign, when.clone()).prop_map(|(key, sign, value)| format!("{key}{sign}{value}")),
        1 => when.prop_map(|when| format!("live@{when}")),
        3 => fixed.prop_map(str::to_owned),
    ]
}

fn filter() -> impl Strategy<Value = String> {
    term().prop_recursive(4, 24, 4, |inner| {
        let sign = prop_oneof![Just("!"), Just("-("), Just("(")];
        let between = prop_oneof![Just(" "), Just(" | "), Just(" and "), Just(" or ")];
        (prop::collection::vec((sign, inner), 1..4), between).prop_map(|(parts, between)| {
            let parts = parts.into_iter().map(|(sign, part)| match sign {
                "!" => format!("!({part})"),
                sign => format!("{sign}{part})"),
            });
            parts.collect::<Vec<_>>().join(between)
        })
    })
}

/// Random sequences of parts of filters; most are invalid.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        term(),
        "[ ()|&!\"<>=:@a*.-]{1,3}",
        "(size|frame|live|born|pending|MiB|5|not|or|in|sise)",
        any::<String>(),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn means_what_it_says(text in filter(), which in any::<prop::sample::Index>()) {
        assert_as_slow(which.get(opened()), &text);
    }

    #[test]
    fn prints_as_it_reads(text in prop_oneof![filter(), pieces()]) {
        match Filter::parse(&text) {
            Ok(filter) => {
                let printed = filter.to_string();
                prop_assert_eq!(Filter::parse(&printed), Ok(filter), "{} as {}", text, printed);
            }
            Err(error) => {
                prop_assert!(text.get(error.span.clone()).is_some(), "{:?} of {}", error, text);
                prop_assert!(!error.message.is_empty());
            }
        }
    }

    #[test]
    fn completions_can_be_written(text in pieces(), caret in 0..40_usize) {
        let opened = &opened()[0];
        let vocabulary = Vocabulary::of(Subject::first(opened).device);
        let completions = completions(&text, caret, &vocabulary);
        prop_assert!(text.get(completions.span.clone()).is_some());
        for candidate in completions.candidates {
            if candidate.kind == CandidateKind::Term {
                prop_assert!(Filter::parse(&candidate.text).is_ok(), "{}", candidate.text);
            }
        }
    }
}

#[test]
fn every_fixed_term_means_what_it_says() {
    for key in keys::all() {
        for opened in opened() {
            assert_as_slow(opened, key.example);
        }
    }
    let issue = "frame:attention size>100MiB live@peak stream:7 pool:private lifetime<5ms age>1000ev \
                 category:gradient !freed";
    let Expression::And(parts) = Filter::parse(issue).unwrap().expression else {
        panic!("not an And");
    };
    assert_eq!(parts.len(), 9);
}

#[test]
fn what_is_written_is_understood() {
    for (text, printed) in [
        ("", ""),
        ("  a   b ", "a b"),
        ("a or b c", "a | b c"),
        ("(a | b) c", "(a | b) c"),
        ("!(a b)", "!(a b)"),
        ("!!a", "a"),
        ("--a", "--a"),
        ("a -> b", "a -> b"),
        ("at::native::add", "at::native::add"),
        ("vector<int>", "vector<int>"),
        ("forward(x)", "forward(x)"),
        ("size > 100 MiB x", "size>100MiB x"),
        ("size:>1k", "size>1KiB"),
        ("bytes=1.5GiB", "size=1536MiB"),
        ("size:1MiB..", "size>=1MiB"),
        ("stack:foo", "frame:foo"),
        ("frame:\"foo\"", "frame:foo"),
        ("frame:\"a b\"", "frame:\"a b\""),
        ("\"freed\"", "\"freed\""),
        ("\"a*\"", "\"a*\""),
        ("category!=gradient", "!category=gradient"),
        ("pool:(0,3)", "pool:0,3"),
        ("live@Optimizer.step*", "live@Optimizer.step*"),
        ("live@\"peak\"", "live@\"peak\""),
        ("model.py:12", "model.py:12"),
        ("addr:0X7F", "addr:0x7f"),
        ("a\u{202e}b", "a\\u202eb"),
        ("\"a \u{202e}b\"", "\"a \\\\u202eb\""),
    ] {
        assert_eq!(Filter::parse(text).unwrap().to_string(), printed, "{text}");
    }
}

#[test]
fn errors_say_where_and_what_instead() {
    for (text, wrong, message) in [
        ("size>", "size>", "Say what after this, such as size>100MiB"),
        ("a size>big", "big", "write a size such as 512, 20KiB"),
        ("sise>5", "sise", "did you mean size?"),
        ("colour:red", "colour", "write \"colour:red\""),
        ("a \"b", "\"b", "This quote is not closed"),
        ("(a", "(", "This bracket is not closed"),
        ("a)", ")", "There is no ("),
        ("a | ", "|", "Something is missing"),
        ("()", "(", "nothing between"),
        ("a !", "!", "Say what to leave out"),
        ("lifetime<5", "5", "write a length such as 5ms"),
        ("lifetime:1ms..5ev", "1ms..5ev", "same kind of unit"),
        ("frame>5", "frame>5", "frame is not a number"),
        ("in:step", "step", "in:range"),
        ("\"\"", "\"\"", "nothing between these quotes"),
    ] {
        let error = Filter::parse(text).unwrap_err();
        assert_eq!(&text[error.span.clone()], wrong, "{text}");
        assert!(error.message.contains(message), "{text}: {}", error.message);
    }
    let deep = "(".repeat(40) + "a" + &")".repeat(40);
    assert!(Filter::parse(&deep).unwrap_err().message.contains("32"));
    let long = "a ".repeat(300);
    assert!(Filter::parse(&long).unwrap_err().message.contains("256"));
    let endless = "é".repeat(4000);
    assert!(Filter::parse(&endless).is_err());
}

#[test]
fn terms_about_nothing_say_so() {
    let opened = &opened()[0];
    let subject = Subject {
        pointed: Pointed::default(),
        ..Subject::first(opened)
    };
    let notes = |text: &str| subject.matches(&Filter::parse(text).unwrap()).notes;
    assert_eq!(
        notes("in:range | in:range"),
        ["in:range finds nothing: no range is selected."]
    );
    assert!(notes("stream:99")[0].contains("stream:99 finds nothing"));
    assert!(notes("live@999999999")[0].contains("the recording ends with event"));
    assert_eq!(notes("size>1").len(), 0);
    let last = u64::MAX;
    for nothing in [
        format!("born>{last}"),
        format!("born:{last}"),
        format!("born>={last}"),
        format!("born:{last}..{last}"),
        format!("live@{last}"),
    ] {
        let filter = Filter::parse(&nothing).unwrap();
        assert_eq!(subject.matches(&filter).set.count(), 0, "{nothing}");
    }
    for all in [format!("born<{last}"), format!("born<={last}")] {
        let filter = Filter::parse(&all).unwrap();
        let recorded = Filter::parse("born>=0").unwrap();
        assert_eq!(
            subject.matches(&filter).set,
            subject.matches(&recorded).set,
            "{all}"
        );
    }
}

#[test]
fn filters_know_what_they_depend_on() {
    for (text, uses_cursor, uses_range) in [
        ("live@peak size>1", false, false),
        ("a | !(live@cursor)", true, false),
        ("born:10..cursor", true, false),
        ("age>5ev", true, false),
        ("(in:range a) | b", false, true),
        ("died:range", false, true),
    ] {
        let filter = Filter::parse(text).unwrap();
        assert_eq!(
            (filter.uses_cursor(), filter.uses_range()),
            (uses_cursor, uses_range),
            "{text}"
        );
    }
}

#[test]
fn totals_are_sums_over_the_set() {
    for opened in opened() {
        let history = &opened.histories[0];
        let everything = totals(history, None, history.peak_moment);
        assert_eq!(everything.count as usize, history.allocations.len());
        assert_eq!(everything.peak_bytes, everything.live_bytes);
        let peak = history.active_bytes[history.peak_moment as usize];
        assert_eq!(
            (everything.peak_bytes, everything.highest_bytes),
            (peak, peak)
        );
        assert_eq!(everything.highest_moment, history.peak_moment);
        let large = Subject::first(opened).found("size>=1MiB");
        let set =
            crate::bitset::BitSet::from_fn(history.allocations.len(), |row| large.contains(&row));
        let some = totals(history, Some(&set), 3);
        let bytes = |keep: &dyn Fn(usize) -> bool| -> u64 {
            let rows = large.iter().filter(|&&row| keep(row));
            rows.map(|&row| history.allocations.bytes[row]).sum()
        };
        let live = |row, moment| history.is_live(AllocationId::from_index(row), moment);
        assert_eq!(some.bytes, bytes(&|_| true));
        assert_eq!(some.live_bytes, bytes(&|row| live(row, 3)));
        let highest = (0..=history.event_count)
            .map(|moment| bytes(&|row| live(row, moment)))
            .max();
        assert_eq!(Some(some.highest_bytes), highest);
    }
}

#[test]
fn completions_offer_keys_then_what_the_file_has() {
    let opened = &opened()[0];
    let vocabulary = Vocabulary::of(Subject::first(opened).device);
    let offered = |text: &str| {
        let completions = completions(text, text.len(), &vocabulary);
        let texts = completions
            .candidates
            .into_iter()
            .map(|candidate| candidate.text);
        (text[completions.span].to_owned(), texts.collect::<Vec<_>>())
    };
    let (span, all) = offered("");
    assert_eq!((&*span, &*all[0]), ("", "frame:"));
    assert!(all.len() > keys::all().count());
    let (span, sizes) = offered("a si");
    assert_eq!(
        (&*span, &sizes[..2]),
        ("si", &["size>".to_owned(), "site:".to_owned()][..])
    );
    let (span, sizes) = offered("100MiB");
    assert_eq!((&*span, &*sizes[0]), ("100MiB", "size>=100MiB"));
    assert_eq!(offered(">1GiB").1, ["size>1GiB"]);
    assert_eq!(offered("<>1GiB").1, [""; 0]);
    let (_, live) = offered("live@");
    assert_eq!(&live[..2], ["live@peak", "live@end"]);
    assert!(!vocabulary.functions.is_empty());
    let function = &vocabulary.functions[0].text;
    assert!(offered("fn=").1.contains(&format!("fn={function}")));
    assert!(offered("stream:").1.contains(&"stream:0".to_owned()));
}

#[test]
fn a_filter_is_narrowed_to_a_pool_and_back() {
    let parse = |text: &str| Filter::parse(text).unwrap();
    let pool = |text: &str| parse(text).pool().map(|pool| pool.to_string());
    let cases = [
        ("", None, "pool:0,2", ""),
        ("softmax", None, "pool:0,2 softmax", "softmax"),
        ("a | b", None, "pool:0,2 (a | b)", "a | b"),
        ("!pool:1", None, "pool:0,2 !pool:1", "!pool:1"),
        ("pool:1 | b", None, "pool:0,2 (pool:1 | b)", "pool:1 | b"),
        ("pool:private", Some("private"), "pool:0,2", ""),
        ("a pool:default b", Some("default"), "pool:0,2 a b", "a b"),
        ("pool:0,2 (a | b)", Some("0,2"), "pool:0,2 (a | b)", "a | b"),
    ];
    let meant = parse("pool:0,2").pool();
    for (text, known, inside, outside) in cases {
        assert_eq!(pool(text).as_deref(), known, "{text}");
        assert_eq!(parse(text).in_pool(meant).to_string(), inside, "{text}");
        assert_eq!(parse(text).in_pool(None).to_string(), outside, "{text}");
    }
}

mod table {
    //! Tests the table of allocations with the same files.

    use super::*;
    use crate::analysis::report::allocations::{
        Cell, Permutations, columns_with_values, place_of, rows, sorted,
    };
    use crate::tables::{append_csv, csv_header};

    fn value(device: Device<'_>, id: AllocationId, column: Property) -> Option<(u64, String)> {
        let number = |number: u64| Some((number, String::new()));
        let mut rows = rows(device, &[column], std::slice::from_ref(&id.0));
        match rows.next()?.cells.remove(0) {
            Cell::Unknown => None,
            Cell::Number(value) | Cell::Bytes(value) => number(value),
            Cell::Moment { moment, .. } => number(moment.into()),
            Cell::Address { address, .. } => number(address),
            Cell::Lifetime(life) => number(life.us.map_or(life.events.into(), |us| us as u64)),
            Cell::Name(name) => match column {
                Property::Pool => {
                    let pool = device.pool_of()[id.index()]?;
                    number(device.recording.pools().number(pool)?.into())
                }
                Property::Role => {
                    let role = device.rule_of()[id.index()].role();
                    number(role.ordinal() as u64).filter(|_| role != Role::Unknown)
                }
                Property::CallSite if name == "no stack recorded" => None,
                Property::Category => {
                    let known = [
                        "parameter",
                        "gradient",
                        "optimizer_state",
                        "input",
                        "activation",
                        "temporary",
                        "autograd_detail",
                        "unknown",
                    ];
                    let place = known.iter().position(|known| *known == name);
                    Some((place.unwrap_or(known.len()) as u64, name))
                }
                _ => Some((0, name)),
            },
        }
    }

    #[test]
    fn every_column_sorts_both_ways_and_the_unknown_come_last() {
        for opened in opened() {
            for device in opened.devices() {
                let subject = Subject::of(device);
                let all = subject.device.history.allocations.len();
                let set = crate::bitset::BitSet::from_fn(all, |row| row % 3 != 0);
                for (column, is_descending) in Property::all().flat_map(|c| [(c, false), (c, true)])
                {
                    let order = sorted(subject.device, column);
                    for matches in [None, Some(&set)] {
                        let shown = order.shown(is_descending, matches);
                        let mut ids = shown.clone();
                        ids.sort_unstable();
                        let expected =
                            (0..all).filter(|&row| matches.is_none_or(|set| set.contains(row)));
                        assert!(
                            ids.into_iter().eq(expected.map(|row| row as u32)),
                            "{column:?}"
                        );
                        let ids = shown.iter().map(|&row| AllocationId(row));
                        let values: Vec<_> =
                            ids.map(|id| value(subject.device, id, column)).collect();
                        let is_sorted = values.windows(2).all(|pair| match (&pair[0], &pair[1]) {
                            (Some(a), Some(b)) if is_descending => a >= b,
                            (Some(a), Some(b)) => a <= b,
                            (None, Some(_)) => false,
                            (_, None) => true,
                        });
                        assert!(is_sorted, "{column:?} {is_descending}");
                    }
                }
            }
        }
    }

    #[test]
    fn rows_say_what_details_say() {
        for opened in opened() {
            let subject = Subject::first(opened);
            let shown: Vec<u32> = (0..subject.device.history.allocations.len() as u32).collect();
            const COLUMNS: [Property; 9] = [
                Property::Size,
                Property::Block,
                Property::Stream,
                Property::Pool,
                Property::Category,
                Property::Metadata,
                Property::Role,
                Property::Lifetime,
                Property::Born,
            ];
            for row in rows(subject.device, &COLUMNS, &shown) {
                let details = allocation_details(subject.device, row.allocation).unwrap();
                let name = |name: Option<String>| name.map_or(Cell::Unknown, Cell::Name);
                let pools = subject.device.recording.pools();
                let born = details.life.alloc;
                let expected = [
                    Cell::Bytes(details.requested_bytes),
                    details
                        .block
                        .map_or(Cell::Unknown, |block| Cell::Bytes(block.bytes)),
                    details
                        .stream_index
                        .map_or(Cell::Unknown, |stream| Cell::Number(stream.into())),
                    name(details.pool.map(|pool| pools.label(pool))),
                    name(details.category),
                    name(details.user_metadata),
                    Cell::Name(details.role.role.label().to_owned()),
                    Cell::Lifetime(details.life.lifetime),
                    Cell::Moment {
                        moment: born.map_or(0, |mark| mark.number + 1),
                        since_start_us: born.and_then(|mark| mark.since_start_us),
                    },
                ];
                assert_eq!(row.cells, expected);
            }
            assert_eq!(
                place_of(&shown, AllocationId(0)),
                (!shown.is_empty()).then_some(0)
            );
            assert_eq!(rows(subject.device, &COLUMNS, &[u32::MAX]).count(), 0);
            assert!(columns_with_values(subject.device).contains(&Property::Size));
            let mut kept = Permutations::default();
            for column in Property::all().chain(Property::all()) {
                let known = kept.get(subject.device, column);
                assert_eq!(*known, sorted(subject.device, column));
            }
        }
    }

    #[test]
    fn csv_has_a_field_per_column_and_a_line_per_row() {
        for opened in opened() {
            let subject = Subject::first(opened);
            let shown: Vec<u32> = (0..subject.device.history.allocations.len() as u32).collect();
            let mut text = csv_header();
            append_csv(subject.device, &shown, &mut text);
            let lines = parse(&text);
            assert_eq!(lines.len(), shown.len() + 1);
            assert!(lines.iter().all(|line| line.len() == lines[0].len()));
            let column = lines[0]
                .iter()
                .position(|name| name == "requested_bytes")
                .unwrap();
            let sum: u64 = lines[1..]
                .iter()
                .map(|line| line[column].parse::<u64>().unwrap())
                .sum();
            assert_eq!(sum, totals(subject.device.history, None, 0).bytes);
        }
    }

    /// Parses CSV according to RFC 4180.
    fn parse(text: &str) -> Vec<Vec<String>> {
        let (mut lines, mut line, mut field, mut quoted) =
            (Vec::new(), Vec::new(), String::new(), false);
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                '"' if quoted && characters.peek() == Some(&'"') => {
                    field.push('"');
                    characters.next();
                }
                '"' => quoted = !quoted,
                ',' if !quoted => line.push(std::mem::take(&mut field)),
                '\n' if !quoted => {
                    line.push(std::mem::take(&mut field));
                    lines.push(std::mem::take(&mut line));
                }
                character => field.push(character),
            }
        }
        assert!(field.is_empty() && line.is_empty());
        lines
    }
}
