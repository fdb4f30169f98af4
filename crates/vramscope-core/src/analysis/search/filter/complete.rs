//! Completions of a filter while it is typed: keys, their values, and words of the file.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::Filter;
use super::keys::{self, Key, KeyKind};
use super::lexer::{Operator, TokenKind, Word as WrittenWord, tokens};
use super::number;
use super::pattern::Pattern;
use super::term::{Term, TextField};
use super::vocabulary::{Vocabulary, Word};
use crate::analysis::properties::{Kind, Property};

/// Maximum number of candidates.
const CANDIDATES_LIMIT: usize = 40;
/// Maximum number of words of each kind that are offered together with keys.
const WORDS_LIMIT: usize = 8;

/// Candidates for replacing a part of the text.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Completions {
    /// The bytes of the text that a candidate replaces; empty if it is inserted.
    pub span: Range<usize>,
    /// The candidates, best first.
    pub candidates: Vec<Candidate>,
}

/// A possible completion.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Candidate {
    /// The text to insert.
    pub text: String,
    /// Its meaning, or the number of allocations that have it; may be empty.
    pub help: String,
    /// Whether a value must follow.
    pub kind: CandidateKind,
}

/// The kind of a candidate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CandidateKind {
    /// A key with its sign, to be followed by a value.
    Key,
    /// A complete term.
    Term,
}

/// Completions of the word at `caret`, which is a byte offset into `text`.
#[must_use]
pub fn completions(text: &str, caret: usize, vocabulary: &Vocabulary) -> Completions {
    let caret = text.floor_char_boundary(caret);
    let tokens = tokens(text).or_else(|_open| tokens(&text[..caret]));
    let Ok(tokens) = tokens else {
        return Completions::default();
    };
    let at = tokens
        .into_iter()
        .find(|token| token.span.start < caret && caret <= token.span.end);
    let (span, candidates) = match at {
        Some(token) => match token.kind {
            TokenKind::Word(word) => (token.span.clone(), of_word(text, &word, vocabulary)),
            _ => (caret..caret, all_keys("")),
        },
        None => (caret..caret, all_keys("")),
    };
    // Leave out candidates equal to the text, and those that are invalid with the operator, such as `in<range`.
    let can_be_written = |candidate: &Candidate| {
        candidate.text != text[span.clone()]
            && (candidate.kind != CandidateKind::Term || Filter::parse(&candidate.text).is_ok())
    };
    let candidates = candidates
        .into_iter()
        .filter(can_be_written)
        .take(CANDIDATES_LIMIT)
        .collect();
    Completions { span, candidates }
}

fn of_word(text: &str, word: &WrittenWord, vocabulary: &Vocabulary) -> Vec<Candidate> {
    if word.is_quoted {
        return Vec::new();
    }
    match &word.key {
        Some((name, operator)) => match keys::find(&text[name.clone()]) {
            Some(key) => values(key, *operator, &word.value, vocabulary),
            None => Vec::new(),
        },
        None => {
            let mut candidates = sizes(&word.value);
            candidates.extend(all_keys(&word.value));
            candidates.extend(anywhere(&word.value, vocabulary));
            candidates
        }
    }
}

/// Terms of sizes, for a size typed without a key: `100MiB`, `>1GiB`.
fn sizes(part: &str) -> Vec<Candidate> {
    let size = part.trim_start_matches(['<', '>', '=']);
    let sign = &part[..part.len() - size.len()];
    // A plain number may be anything.
    let has_unit = size.ends_with(|c: char| c.is_ascii_alphabetic());
    if number::bytes(size).is_err() || (sign.is_empty() && !has_unit) {
        return Vec::new();
    }
    let signs: &[(&str, &str)] = &[
        (">=", "at least so large"),
        ("<", "smaller"),
        ("=", "exactly so large"),
        (">", "larger"),
        ("<=", "at most so large"),
    ];
    let is_meant =
        |&&(of, _): &&(&str, &str)| of == sign || (sign.is_empty() && ![">", "<="].contains(&of));
    let term = |&(sign, help): &(&str, &str)| Candidate {
        text: format!("size{sign}{size}"),
        help: help.to_owned(),
        kind: CandidateKind::Term,
    };
    signs.iter().filter(is_meant).map(term).collect()
}

/// Keys whose name begins with `beginning`, then keys with an alias that does, then flags.
fn all_keys(beginning: &str) -> Vec<Candidate> {
    let beginning = beginning.to_ascii_lowercase();
    let by_name = keys::all().filter(|key| key.name.starts_with(&beginning));
    let by_alias = keys::all().filter(|key| {
        let mut aliases = key.aliases.iter();
        !key.name.starts_with(&beginning) && aliases.any(|alias| alias.starts_with(&beginning))
    });
    let flags = keys::FLAGS
        .into_iter()
        .filter(|flag| flag.name.starts_with(&beginning));
    let keys = by_name.chain(by_alias).map(|key| Candidate {
        text: format!("{}{}", key.name, sign_of(key.kind)),
        help: format!("{} \u{2014} {}", key.help, key.example),
        kind: CandidateKind::Key,
    });
    let flags = flags.map(|flag| Candidate {
        text: flag.name.to_owned(),
        help: flag.help.to_owned(),
        kind: CandidateKind::Term,
    });
    keys.chain(flags).collect()
}

fn sign_of(kind: KeyKind) -> &'static str {
    match kind {
        KeyKind::Number(_) | KeyKind::Length(_) | KeyKind::When(_) => ">",
        KeyKind::Live => "@",
        _ => ":",
    }
}

/// Terms for words of the file that contain `part`, for a word typed without a key.
fn anywhere(part: &str, vocabulary: &Vocabulary) -> Vec<Candidate> {
    if part.len() < 2 {
        return Vec::new();
    }
    let fields = keys::all().filter_map(|key| match key.kind {
        KeyKind::Text(TextField::Frame) => None,
        KeyKind::Text(field) => Some(field),
        _ => None,
    });
    let terms = fields.flat_map(|field| {
        // A call site's label is long, so its beginning is enough.
        let is_whole = field != TextField::Of(Property::CallSite);
        let words = holding(words_of(field, vocabulary), part).take(WORDS_LIMIT);
        words.map(move |word| text_term(field, word, is_whole))
    });
    terms.collect()
}

/// The words of the file that can be searched for in a field.
fn words_of(field: TextField, vocabulary: &Vocabulary) -> &[Word] {
    match field {
        TextField::Function => &vocabulary.functions,
        TextField::File => &vocabulary.files,
        TextField::Of(property) => vocabulary.names(property),
        TextField::Frame | TextField::Anywhere => &[],
    }
}

fn holding<'a>(words: &'a [Word], part: &str) -> impl Iterator<Item = &'a Word> {
    let part = part.to_lowercase();
    let part = part.trim_matches('*').to_owned();
    words
        .iter()
        .filter(move |word| word.text.to_lowercase().contains(&part))
}

fn text_term(field: TextField, word: &Word, is_whole: bool) -> Candidate {
    let pattern = Pattern {
        text: word.text.clone(),
        is_literal: word.text.contains('*'),
        is_whole,
    };
    Candidate {
        text: Term::Text(field, pattern).to_string(),
        help: word.help.clone(),
        kind: CandidateKind::Term,
    }
}

/// Terms of `key` with values that contain `part`.
fn values(key: Key, operator: Operator, part: &str, vocabulary: &Vocabulary) -> Vec<Candidate> {
    let is_whole = operator == Operator::Equal;
    let words = |words: &[Word]| {
        holding(words, part)
            .map(|word| match key.kind {
                KeyKind::Text(field) => text_term(field, word, is_whole),
                _ => plain(key, operator, &word.text, &word.help),
            })
            .collect()
    };
    match key.kind {
        KeyKind::Text(TextField::Frame | TextField::Anywhere) => {
            let mut found: Vec<_> = words(&vocabulary.functions);
            found.extend(words(&vocabulary.files));
            found
        }
        KeyKind::Text(field) => words(words_of(field, vocabulary)),
        KeyKind::Stream => words(vocabulary.names(Property::Stream)),
        KeyKind::Pool => {
            let mut found = fixed(key, operator, part);
            let part = part.to_lowercase();
            let named = vocabulary.names(Property::Pool).iter().filter(|word| {
                word.text != "default"
                    && (word.text.contains(&part) || word.help.to_lowercase().contains(&part))
            });
            found.extend(named.map(|word| plain(key, operator, &word.text, &word.help)));
            found
        }
        KeyKind::Live => {
            let mut found = fixed(key, operator, part);
            found.extend(
                holding(vocabulary.names(Property::Annotation), part).map(|word| {
                    let pattern = Pattern {
                        text: word.text.clone(),
                        is_literal: word.text.contains('*'),
                        is_whole: false,
                    };
                    Candidate {
                        text: Term::Live(super::term::Live::Named(pattern)).to_string(),
                        help: word.help.clone(),
                        kind: CandidateKind::Term,
                    }
                }),
            );
            found
        }
        KeyKind::Address
        | KeyKind::Number(_)
        | KeyKind::Length(_)
        | KeyKind::When(_)
        | KeyKind::In => fixed(key, operator, part),
    }
}

/// Terms of `key` with values that do not depend on the file and begin with `part`.
fn fixed(key: Key, operator: Operator, part: &str) -> Vec<Candidate> {
    const MOMENTS: [(&str, &str); 4] = [
        ("peak", "the first moment of the most active memory"),
        ("end", "after the last event"),
        ("start", "before the first event"),
        ("cursor", "where the cursor is"),
    ];
    let values: &[(&str, &str)] = match key.kind {
        KeyKind::Live => &[
            MOMENTS[0],
            MOMENTS[1],
            MOMENTS[2],
            MOMENTS[3],
            ("oom", "when an allocation failed"),
            ("range", "at any time in the selected range"),
        ],
        KeyKind::When(_) if operator == Operator::Colon => {
            &[("range", "in the selected range"), MOMENTS[0], MOMENTS[3]]
        }
        KeyKind::When(_) => &MOMENTS,
        KeyKind::Number(property) if property.kind() == Kind::Bytes => {
            &[("1MiB", ""), ("10MiB", ""), ("100MiB", ""), ("1GiB", "")]
        }
        KeyKind::Length(_) => &[
            ("1ms", "milliseconds"),
            ("1s", "seconds"),
            ("1000ev", "events"),
        ],
        KeyKind::Pool => &[
            ("default", "the pool of everything that asks for no other"),
            ("private", "pools of graphs and of MemPool"),
        ],
        KeyKind::In => &[("range", "the selected range")],
        _ => &[],
    };
    let begun = |&&(value, _): &&(&str, &str)| value.starts_with(&part.to_lowercase());
    values
        .iter()
        .filter(begun)
        .map(|&(value, help)| plain(key, operator, value, help))
        .collect()
}

fn plain(key: Key, operator: Operator, value: &str, help: &str) -> Candidate {
    let sign = match operator {
        Operator::Colon => ":",
        Operator::At => "@",
        Operator::Equal => "=",
        Operator::NotEqual => "!=",
        Operator::Below => "<",
        Operator::AtMost => "<=",
        Operator::Above => ">",
        Operator::AtLeast => ">=",
    };
    Candidate {
        text: format!("{}{sign}{value}", key.name),
        help: help.to_owned(),
        kind: CandidateKind::Term,
    }
}
