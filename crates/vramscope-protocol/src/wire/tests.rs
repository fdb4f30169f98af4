//! Values survive the journey, and bytes that are no message are an error.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use proptest::prelude::*;
use serde::Deserialize;

use super::*;
use crate::{Answer, Failure, Question, Reply, Request};

fn arrived<T: Serialize + DeserializeOwned>(message: &T) -> T {
    from_bytes(&to_bytes(message)).unwrap()
}

fn there_and_back<T: Serialize + DeserializeOwned + PartialEq + Debug>(message: &T) {
    assert_eq!(&arrived(message), message);
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
enum Kind {
    Unit,
    New(Box<Record>),
    Tuple(u8, Option<String>),
    Record { x: f64, flags: [bool; 3] },
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
struct Record {
    small: (u8, i8, u16, i16),
    large: (u32, i32, u64, i64),
    size: usize,
    letter: char,
    texts: Vec<String>,
    by_name: BTreeMap<String, Option<Option<u32>>>,
    nothing: (),
    unit: Unit,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
struct Unit;

fn kinds() -> Vec<Kind> {
    let record = Record {
        small: (u8::MAX, i8::MIN, u16::MAX, i16::MIN),
        large: (u32::MAX, i32::MIN, u64::MAX, i64::MIN),
        size: usize::MAX,
        letter: '\u{10ffff}',
        texts: vec![String::new(), "Größe\0\u{202e}".into()],
        by_name: [
            ("none".into(), None),
            ("null".into(), Some(None)),
            ("one".into(), Some(Some(1))),
        ]
        .into(),
        nothing: (),
        unit: Unit,
    };
    vec![
        Kind::Unit,
        Kind::New(Box::new(record)),
        Kind::New(Box::default()),
        Kind::Tuple(7, None),
        Kind::Tuple(7, Some("x".into())),
        Kind::Record {
            x: -0.0,
            flags: [true, false, true],
        },
    ]
}

#[test]
fn every_kind_of_value_arrives() {
    there_and_back(&kinds());
}

#[test]
fn what_is_cut_off_or_too_long_is_no_message() {
    let bytes = to_bytes(&kinds());
    for end in 0..bytes.len() {
        assert_eq!(from_bytes::<Vec<Kind>>(&bytes[..end]), Err(Unreadable));
    }
    let longer = [&bytes[..], &[0]].concat();
    assert_eq!(from_bytes::<Vec<Kind>>(&longer), Err(Unreadable));
}

#[test]
fn what_reorders_text_arrives_as_its_escape() {
    let arrived = |message: &str| {
        let reply = Reply::Failed(Box::new(Failure {
            message: message.to_owned(),
            ..Failure::default()
        }));
        match from_bytes(&reply_bytes(&reply)) {
            Ok(Reply::Failed(failure)) => failure.message,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(arrived("a\u{202e}yp.\u{2066}é\\"), "a\\u202eyp.\\u2066é\\");
    assert_eq!(arrived("\u{e0001}"), "\\udb40\\udc01");
    for plain in ["", "Größe › \"x\" \\u202e", "a\tb\n\u{1b}\u{9b}"] {
        assert_eq!(arrived(plain), plain);
    }
}

#[test]
fn escapes_stand_in_names_and_lists_too() {
    let hostile = "\u{200b}".to_owned();
    let message = BTreeMap::from([(hostile.clone(), vec![Some(hostile)])]);
    let arrived: BTreeMap<String, Vec<Option<String>>> =
        from_bytes(&reply_bytes(&message)).unwrap();
    let shown = "\\u200b".to_owned();
    assert_eq!(arrived, [(shown.clone(), vec![Some(shown)])].into());
}

proptest! {
    #[test]
    fn numbers_are_exact(bits in any::<u64>(), small in any::<u32>()) {
        prop_assert_eq!(arrived(&f64::from_bits(bits)).to_bits(), bits);
        prop_assert_eq!(arrived(&f32::from_bits(small)).to_bits(), small);
        there_and_back(&(bits, bits.cast_signed(), small, Some(small as u16)));
    }

    /// Neither a panic nor more memory than the bytes are worth.
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(kinds) = from_bytes::<Vec<Kind>>(&bytes) {
            there_and_back(&kinds.len());
        }
        let _ = from_bytes::<Reply>(&bytes);
        let _ = from_bytes::<Request>(&bytes);
    }
}

/// A value of a variant with anything in it: noise that can be read as one, if it can. Zeros and ones are frequent, so that
/// lists are short and flags are flags.
fn anything<T: DeserializeOwned>(variant: u8, noise: &mut impl FnMut() -> u32) -> Option<T> {
    let mut bytes = vec![variant];
    bytes.extend((0..2_000).map(|_| match noise() % 16 {
        0 => (noise() % 128) as u8,
        1 => (noise() % 12) as u8,
        2..5 => 1,
        _ => 0,
    }));
    postcard::take_from_bytes(&bytes)
        .ok()
        .map(|(value, _)| value)
}

/// Asserts that values of all variants arrive, and returns how many of them there are.
fn variants_arriving<T: Serialize + DeserializeOwned + Debug>() -> usize {
    let mut state = 1_u64;
    let mut noise = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (state >> 33) as u32
    };
    let mut names = BTreeSet::new();
    for round in 0..64 * 300 {
        let Some(sent) = anything::<T>(round as u8 % 64, &mut noise) else {
            continue;
        };
        let bytes = to_bytes(&sent);
        // Compared as bytes: a NaN is not equal to itself.
        assert!(to_bytes(&arrived(&sent)) == bytes, "{sent:?}");
        let text = format!("{sent:?}");
        let name = text.split(|c: char| !c.is_alphanumeric()).next();
        names.insert(name.unwrap().to_owned());
    }
    names.len()
}

#[test]
fn every_question_and_answer_arrives() {
    assert_eq!(variants_arriving::<Question>(), Question::KINDS.len());
    assert_eq!(variants_arriving::<Answer>(), Question::KINDS.len());
    assert_eq!(variants_arriving::<Request>(), 7);
    assert_eq!(variants_arriving::<Reply>(), 11);
}
