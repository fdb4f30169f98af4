//! Records that fit templates, and all kinds that must not fit, compared with the machine.

use vramscope_synth::pickle::raw::Raw;

use super::super::pieces_tests::decode_both_ways;
use super::super::{Told, pickle};
use super::*;
use crate::Limits;
use crate::container::Counters;
use crate::model::Action;
use crate::open::now;

/// The texts that are memoised first: their memo numbers are their indexes.
const WORDS: [&str; 20] = [
    "action",
    "addr",
    "size",
    "stream",
    "time_us",
    "frames",
    "compile_context",
    "user_metadata",
    "pool_id",
    "alloc",
    "free_completed",
    "address",
    "requested_size",
    "state",
    "inactive",
    "name",
    "filename",
    "line",
    "custom",
    "device_free",
];
/// The memo numbers after the words: six frames, an empty list, and a list of frames that a record has used.
const FRAMES: u8 = WORDS.len() as u8;
const EMPTY: u8 = FRAMES + 6;
const USED: u8 = EMPTY + 1;

fn word(text: &str) -> u8 {
    WORDS.iter().position(|&word| word == text).unwrap() as u8
}

/// Random numbers below a bound: xorshift64*.
struct Rng(u64);

impl Rng {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % bound
    }
}

fn get(text: &str) -> Vec<u8> {
    vec![op::BINGET, word(text)]
}

fn raw(make: impl Fn(Raw) -> Raw) -> Vec<u8> {
    make(Raw::new()).cut()
}

/// `[frame, …]`, memoised; with each frame twice, so that it is long enough to become a known stack.
fn stack(first: u8) -> Vec<u8> {
    let start = Raw::new().op(op::EMPTY_LIST).op(op::MEMOIZE).op(op::MARK);
    let frames = (0..10).fold(start, |raw, frame| raw.binget(FRAMES + (first + frame) % 6));
    frames.op(op::APPENDS).cut()
}

/// The keys and values of a dict, in opcodes.
type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// An event as torch writes it.
fn event(addr: u8) -> Pairs {
    let text = |text: &str| raw(|raw| raw.text(text).op(op::MEMOIZE));
    vec![
        (
            get("action"),
            get(if addr.is_multiple_of(2) {
                "alloc"
            } else {
                "free_completed"
            }),
        ),
        (get("addr"), raw(|raw| raw.long1(&[addr, 0, 0, 0, 0x7f]))),
        (get("size"), raw(|raw| raw.int1(addr))),
        (get("stream"), raw(|raw| raw.int1(0))),
        (
            get("time_us"),
            raw(|raw| raw.op_u32(op::BININT, 1000 + u32::from(addr))),
        ),
        (get("compile_context"), text("N/A")),
        (get("user_metadata"), get("custom")),
        (get("frames"), stack(addr % 3)),
    ]
}

fn block(addr: u8) -> Pairs {
    vec![
        (get("address"), raw(|raw| raw.long1(&[addr, 0, 0, 0, 0x7f]))),
        (get("size"), raw(|raw| raw.int1(addr))),
        (get("requested_size"), raw(|raw| raw.int1(addr))),
        (get("state"), get("inactive")),
        (get("frames"), stack(addr % 3)),
    ]
}

fn dict(pairs: &Pairs) -> Vec<u8> {
    let start = Raw::new().op(op::EMPTY_DICT).op(op::MEMOIZE).op(op::MARK);
    let all = pairs
        .iter()
        .fold(start, |raw, (key, value)| raw.bytes(key).bytes(value));
    all.op(op::SETITEMS).cut()
}

/// Everything before the first event of the first device.
fn prelude() -> Raw {
    let words = WORDS.iter().fold(Raw::proto(4), |raw, word| {
        raw.text(word).op(op::MEMOIZE).op(op::POP)
    });
    let frames = (0..6).fold(words, |raw, frame| {
        let raw = raw.op(op::EMPTY_DICT).op(op::MEMOIZE).op(op::MARK);
        let raw = raw.binget(word("name")).text(&frame.to_string());
        let raw = raw.binget(word("filename")).text("x.py");
        raw.binget(word("line"))
            .int1(frame)
            .op(op::SETITEMS)
            .op(op::POP)
    });
    let lists = frames
        .op(op::EMPTY_LIST)
        .op(op::MEMOIZE)
        .op(op::POP)
        .bytes(&stack(0))
        .op(op::POP);
    let top = lists
        .op(op::EMPTY_DICT)
        .op(op::MARK)
        .text("segments")
        .op(op::EMPTY_LIST);
    top.text("device_traces")
        .op(op::EMPTY_LIST)
        .op(op::EMPTY_LIST)
        .op(op::MARK)
}

/// A snapshot with these records, or other opcodes, as the trace of its only device. More events follow, because the last
/// bytes of a file never take the fast path.
fn snapshot(parts: &[Vec<u8>]) -> Vec<u8> {
    let all = parts.iter().fold(prelude(), |raw, part| raw.bytes(part));
    let all = (0..6).fold(all, |raw, addr| raw.bytes(&dict(&event(200 + addr))));
    all.op(op::APPENDS).op(op::APPEND).op(op::SETITEMS).stop()
}

#[test]
fn a_record_like_one_before_is_read_at_once() {
    for (first, second) in [(event(3), event(8)), (block(3), block(10))] {
        let mut machine = Machine::new(Limits::default(), None);
        let start = prelude().bytes(&dict(&first)).bytes(&[op::POP; 64]).cut();
        // The bytes end without STOP, so the machine keeps what it learned.
        let input = Box::new(&start[..]);
        let mut told = Told {
            counters: &Counters::default(),
            on_events: &mut |_| Ok(()),
        };
        let end = now(pickle::read(input, &mut machine, &mut told, &mut || None));
        assert!(end.fault.is_some());
        machine.make_room(1000).unwrap();
        let again = dict(&first);
        let mut other = dict(&second);
        let (lists, dicts) = (machine.lists.len(), machine.dicts.len());
        let memo = machine.memo.len();
        // The stack is not known yet.
        other.resize(other.len() + LEAST_BYTES, op::POP);
        assert_eq!(machine.push_known_record(&other), None);
        assert_eq!((machine.lists.len(), machine.memo.len()), (lists, memo));
        let padded = [&again[..], &[op::POP; LEAST_BYTES]].concat();
        assert_eq!(machine.push_known_record(&padded), Some(again.len()));
        assert_eq!(
            (machine.lists.len(), machine.dicts.len()),
            (lists + 1, dicts + 1)
        );
        // The dict, its text and its list.
        let texts = usize::from(first.len() == event(0).len());
        assert_eq!(machine.memo.len(), memo + 2 + texts);
        assert_eq!(
            machine.push_known_record(&again),
            None,
            "too few bytes ahead"
        );
        machine.known_records.forget();
        assert_eq!(machine.push_known_record(&padded), None);
    }
}

#[test]
fn plain_events_are_read() {
    let events: Vec<_> = (0..100).map(|addr| dict(&event(addr))).collect();
    let snapshot = decode_both_ways(&snapshot(&events)).unwrap();
    assert_eq!(snapshot.events.len(), 106);
    assert_eq!(snapshot.events.action[42], Action::Alloc);
    assert_eq!(snapshot.events.addr[43], 0x7f_0000_002b);
    assert_eq!(snapshot.events.size[43], 43);
    assert_eq!(snapshot.events.time_us.get(43), Some(1043));
    assert_eq!(snapshot.stacks.len(), 4);
}

/// Values to put in place of another, as opcodes.
fn strange_values() -> Vec<Vec<u8>> {
    let pair = |raw: Raw| raw.int1(0).int1(3).op(op::TUPLE2).op(op::MEMOIZE);
    let long = [0xff; 12];
    vec![
        vec![op::NONE],
        vec![op::NEWTRUE],
        raw(|raw| raw.int1(7)),
        raw(|raw| raw.op_u32(op::BININT, u32::MAX)),
        raw(|raw| raw.long1(&[])),
        raw(|raw| raw.long1(&long[..8])),
        raw(|raw| raw.long1(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0])),
        raw(|raw| raw.long1(&long[..9])),
        raw(|raw| raw.op_u64(op::BINFLOAT, 0)),
        raw(|raw| raw.text("new")),
        raw(|raw| raw.text("N/A").op(op::MEMOIZE)),
        raw(|raw| {
            raw.op(op::SHORT_BINUNICODE)
                .bytes(b"\x02\xff\xfe")
                .op(op::MEMOIZE)
        }),
        get("alloc"),
        get("inactive"),
        get("custom"),
        vec![op::BINGET, FRAMES],
        vec![op::BINGET, EMPTY],
        vec![op::BINGET, USED],
        vec![op::BINGET, 255],
        raw(|raw| raw.op_u32(op::LONG_BINGET, u32::from(word("alloc")))),
        raw(pair),
        raw(|raw| pair(raw).op(op::POP).int1(1).int1(2).op(op::TUPLE2)),
        vec![op::EMPTY_DICT],
        vec![op::EMPTY_DICT, op::MEMOIZE],
        vec![op::EMPTY_LIST],
        vec![op::EMPTY_LIST, op::MEMOIZE],
        raw(|raw| {
            raw.op(op::EMPTY_LIST)
                .op(op::MEMOIZE)
                .binget(FRAMES)
                .op(op::APPEND)
        }),
        stack(4),
        [&[op::FRAME, 9, 9, 9, 9, 9, 9, 9, 9][..], &get("alloc")].concat(),
        [&get("alloc")[..], &[op::DUP, op::POP]].concat(),
        // A word that gets another value from here on.
        raw(|raw| raw.text("size").binput(word("addr"))),
        raw(|raw| raw.binget(word("alloc")).binput(word("free_completed"))),
        raw(|raw| raw.op(op::EMPTY_LIST).binput(USED)),
    ]
}

#[test]
fn strange_values_are_what_the_machine_makes_of_them() {
    let plain = |addr: u8| [dict(&event(addr)), dict(&block(addr)), vec![op::POP]].concat();
    let cases = [(event as fn(u8) -> Pairs, &[][..]), (block, &[op::POP])];
    for value in strange_values() {
        for place in 0..9 {
            for (make, end) in cases {
                let mut pairs = make(5);
                if let Some(pair) = pairs.get_mut(place) {
                    pair.1.clone_from(&value);
                } else {
                    pairs.push((get("pool_id"), value.clone()));
                }
                // Three times, because the first one is learned, with ordinary ones before and after.
                let strange = [&dict(&pairs)[..], end].concat().repeat(3);
                let _ = decode_both_ways(&snapshot(&[plain(1), plain(2), strange, plain(4)]));
            }
        }
    }
}

#[test]
fn strange_keys_are_what_the_machine_makes_of_them() {
    let plain = |addr: u8| dict(&event(addr));
    for place in 0..8 {
        let mut cases = Vec::new();
        let mut pairs = event(6);
        pairs.remove(place);
        cases.push(pairs);
        for key in [
            get("custom"),
            get("state"),
            get("device_free"),
            get("size"),
            raw(|raw| raw.text("size")),
            raw(|raw| raw.int1(3)),
        ] {
            let mut pairs = event(6);
            pairs[place].0.clone_from(&key);
            cases.push(pairs);
            let mut pairs = event(6);
            pairs.insert(place, (key, raw(|raw| raw.int1(1))));
            cases.push(pairs);
        }
        let mut pairs = event(6);
        pairs.rotate_left(place);
        cases.push(pairs);
        for pairs in cases {
            let parts = [
                plain(0),
                plain(1),
                dict(&pairs),
                dict(&pairs),
                dict(&pairs),
                plain(2),
            ];
            let _ = decode_both_ways(&snapshot(&parts));
        }
    }
}

#[test]
fn records_in_strange_places_are_what_the_machine_makes_of_them() {
    let plain = || [dict(&event(1)), dict(&event(1)), dict(&event(2))].concat();
    // Under a key, with and without a mark; nested to the limit; changed and fetched after use.
    let under_key = [
        &[op::EMPTY_DICT, op::MARK][..],
        &get("custom"),
        &dict(&event(1)),
        &[op::SETITEMS],
    ]
    .concat();
    let alone = [
        &[op::EMPTY_DICT][..],
        &get("custom"),
        &dict(&event(1)),
        &[op::SETITEM],
    ]
    .concat();
    let changed = [
        &dict(&event(1))[..],
        &[op::MARK],
        &get("custom"),
        &get("custom"),
        &[op::SETITEMS],
    ]
    .concat();
    let grown = [&[op::BINGET, USED, op::MARK, op::BINGET, FRAMES, op::APPENDS][..]].concat();
    for strange in [
        under_key,
        alone,
        changed,
        grown,
        vec![op::MARK],
        vec![op::DUP],
        vec![op::POP_MARK],
    ] {
        let _ = decode_both_ways(&snapshot(&[plain(), strange.clone(), plain()]));
    }
    for depth in 50..70 {
        let nested = [op::EMPTY_LIST, op::MARK].repeat(depth);
        let ends = [op::APPENDS].repeat(depth);
        let _ = decode_both_ways(&snapshot(&[
            plain(),
            nested,
            plain(),
            plain(),
            ends,
            plain(),
        ]));
    }
}

#[test]
fn templates_take_turns() {
    let mut without_time = event(1);
    without_time.remove(4);
    let mut without_frames = event(2);
    without_frames.pop();
    let mut other_stream = event(4);
    other_stream[3].1 = raw(|raw| raw.int1(9));
    let mut no_frames = event(3);
    no_frames[7].1 = vec![op::EMPTY_LIST, op::MEMOIZE];
    let mut fetched = event(3);
    fetched[7].1 = vec![op::BINGET, EMPTY];
    let kinds = [
        event(7),
        without_time,
        without_frames,
        other_stream,
        no_frames,
        fetched,
    ];
    let mut rng = Rng(7);
    let parts: Vec<_> = (0..300).map(|_| dict(&kinds[rng.below(6)])).collect();
    let snapshot = decode_both_ways(&snapshot(&parts)).unwrap();
    assert_eq!(snapshot.events.len(), 306);
    assert!(snapshot.events.time_us.iter().any(|time| time == NO_TIME));
    assert!(snapshot.events.stack.contains(&StackId::ABSENT));
}

/// Bytes that are cut, repeated and replaced at random.
#[test]
fn damage_is_what_the_machine_makes_of_it() {
    let mut rng = Rng(1);
    let mut parts: Vec<_> = (0..12).map(|addr| dict(&event(addr % 4))).collect();
    parts.extend((0..12).map(|addr| [dict(&block(addr % 4)), vec![op::POP]].concat()));
    let values = strange_values();
    let mut accepted = 0;
    for _ in 0..3000 {
        let mut bytes = snapshot(&parts);
        let start = prelude().cut().len();
        for _ in 0..=rng.below(3) {
            let at = start + rng.below(bytes.len() - start);
            match rng.below(5) {
                0 => bytes[at] = rng.below(256) as u8,
                1 => drop(bytes.remove(at)),
                2 => {
                    let value = &values[rng.below(values.len())];
                    drop(bytes.splice(at..at, value.iter().copied()));
                }
                3 => bytes[at] ^= 1 << rng.below(8),
                _ => {
                    let end = (at + 1 + rng.below(200)).min(bytes.len());
                    let copy = bytes[at..end].to_vec();
                    drop(bytes.splice(at..at, copy));
                }
            }
        }
        accepted += usize::from(decode_both_ways(&bytes).is_ok());
    }
    assert!((100..2900).contains(&accepted), "{accepted}");
}
