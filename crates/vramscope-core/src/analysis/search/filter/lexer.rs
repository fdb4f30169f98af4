//! Splits a filter's text into tokens. The only possible error is an unclosed quote.

use std::ops::Range;

use super::FilterError;
use super::keys::{self, KeyKind};
use super::number;
use crate::analysis::properties::Kind;

/// A token and its position.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Token {
    /// Range of bytes of the filter's text.
    pub(super) span: Range<usize>,
    pub(super) kind: TokenKind,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum TokenKind {
    Open,
    Close,
    Or,
    And,
    Not,
    Word(Word),
}

/// A term as written.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Word {
    /// Position of the key, and the operator after it; `None` for a word without a key.
    pub(super) key: Option<(Range<usize>, Operator)>,
    /// The value after the operator, or the whole word. Without quotes and escapes.
    pub(super) value: String,
    /// Whether the value was in quotes.
    pub(super) is_quoted: bool,
    /// Position of the value, quotes included.
    pub(super) value_span: Range<usize>,
}

/// The operator between a key and its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operator {
    Colon,
    At,
    Equal,
    NotEqual,
    Below,
    AtMost,
    Above,
    AtLeast,
}

/// The operators' signs, longest first.
const OPERATORS: [(&str, Operator); 8] = [
    ("<=", Operator::AtMost),
    (">=", Operator::AtLeast),
    ("!=", Operator::NotEqual),
    ("<", Operator::Below),
    (">", Operator::Above),
    ("=", Operator::Equal),
    (":", Operator::Colon),
    ("@", Operator::At),
];

/// The tokens of a filter's text.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, FilterError> {
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens = Vec::new();
    while let Some(token) = lexer.token()? {
        tokens.push(token);
    }
    Ok(tokens)
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_spaces(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn token(&mut self) -> Result<Option<Token>, FilterError> {
        self.skip_spaces();
        let start = self.at;
        let sign = |length, kind| (length, kind);
        let rest = self.rest();
        let (length, kind) = match rest.chars().next() {
            None => return Ok(None),
            Some('(') => sign(1, TokenKind::Open),
            Some(')') => sign(1, TokenKind::Close),
            Some('|') => sign(if rest.starts_with("||") { 2 } else { 1 }, TokenKind::Or),
            Some('&') => sign(if rest.starts_with("&&") { 2 } else { 1 }, TokenKind::And),
            Some('!') => sign(1, TokenKind::Not),
            Some('-') if negates(rest) => sign(1, TokenKind::Not),
            Some(_) => {
                let kind = self.word()?;
                let span = start..self.at;
                return Ok(Some(Token { span, kind }));
            }
        };
        self.at += length;
        let span = start..self.at;
        Ok(Some(Token { span, kind }))
    }

    fn word(&mut self) -> Result<TokenKind, FilterError> {
        let key = self.key();
        if key
            .as_ref()
            .is_some_and(|(.., operator)| *operator != Operator::At)
        {
            self.skip_spaces_before_number(key.as_ref());
        }
        let start = self.at;
        let (value, is_quoted) = self.value()?;
        let value = match &key {
            Some((name, _)) if !is_quoted => self.with_unit(&self.text[name.clone()], value),
            _ => value,
        };
        if key.is_none() && !is_quoted {
            match &*value.to_ascii_lowercase() {
                "or" => return Ok(TokenKind::Or),
                "and" => return Ok(TokenKind::And),
                "not" => return Ok(TokenKind::Not),
                _ => {}
            }
        }
        Ok(TokenKind::Word(Word {
            key,
            value,
            is_quoted,
            value_span: start..self.at,
        }))
    }

    /// Reads a key and its operator; `None`, without moving on, if the next word has none.
    fn key(&mut self) -> Option<(Range<usize>, Operator)> {
        let rest = self.rest();
        let length = rest
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(rest.len());
        let (name, after) = rest.split_at(length);
        let known = keys::find(name);
        let spaces = after.len() - after.trim_start().len();
        // Spaces may surround the operator of a number: `size > 5` is one term, but `frame : x` is three words.
        let spaced = known.is_some_and(|key| is_measured(key.kind)) && spaces > 0;
        let after = if spaced { after.trim_start() } else { after };
        let (sign, operator) = OPERATORS
            .into_iter()
            .find(|(sign, _)| after.starts_with(sign))?;
        let value = &after[sign.len()..];
        let is_key = match operator {
            Operator::Colon if spaced => false,
            // `at::native` is a C++ name, not a key `at`.
            Operator::Colon => !name.is_empty() && !value.starts_with(':'),
            Operator::At => known.is_some_and(|key| key.kind == KeyKind::Live),
            // `vector<int>` is text, but `sise<5` is a misspelt key, which the parser reports.
            _ => known.is_some() || (keys::similar(name).is_some() && starts_with_digit(value)),
        };
        if !is_key {
            return None;
        }
        let start = self.at;
        self.at += length + if spaced { spaces } else { 0 } + sign.len();
        let operator = self.sign_after_colon(operator);
        Some((start..start + length, operator))
    }

    /// Reads a second sign after a colon, because `size:>5` means `size>5`.
    fn sign_after_colon(&mut self, operator: Operator) -> Operator {
        let rest = self.rest();
        let sign = OPERATORS[..6]
            .iter()
            .find(|(sign, _)| rest.starts_with(sign));
        match sign {
            Some(&(sign, second)) if operator == Operator::Colon => {
                self.at += sign.len();
                second
            }
            _ => operator,
        }
    }

    fn skip_spaces_before_number(&mut self, key: Option<&(Range<usize>, Operator)>) {
        let measured = key.is_some_and(|(name, operator)| {
            *operator != Operator::Colon
                && keys::find(&self.text[name.clone()]).is_some_and(|key| is_measured(key.kind))
        });
        if measured {
            self.skip_spaces();
        }
    }

    /// Reads a bare word or a quoted text, and returns whether it was quoted.
    fn value(&mut self) -> Result<(String, bool), FilterError> {
        if self.rest().starts_with('"') {
            return Ok((self.quoted()?, true));
        }
        let rest = self.rest();
        let mut open = 0_usize;
        let mut end = rest.len();
        for (at, character) in rest.char_indices() {
            match character {
                '(' => open += 1,
                // This parenthesis was opened before the word, so it ends the word.
                ')' if open == 0 => end = at,
                ')' => open -= 1,
                '|' | '"' => end = at,
                _ if character.is_whitespace() => end = at,
                _ => {}
            }
            if end < rest.len() {
                break;
            }
        }
        self.at += end;
        Ok((rest[..end].to_owned(), false))
    }

    fn quoted(&mut self) -> Result<String, FilterError> {
        let start = self.at;
        let mut text = String::new();
        let mut characters = self.rest().char_indices().skip(1);
        while let Some((at, character)) = characters.next() {
            match character {
                '"' => {
                    self.at = start + at + 1;
                    return Ok(text);
                }
                '\\' => text.extend(characters.next().map(|(_, escaped)| escaped)),
                _ => text.push(character),
            }
        }
        let message = "This quote is not closed: end the text with a second \".";
        Err(FilterError::new(start..self.text.len(), message))
    }

    /// Adds a unit after a space, because sizes are printed as `100 MiB`.
    fn with_unit(&mut self, name: &str, value: String) -> String {
        let is_number = !value.is_empty()
            && value
                .bytes()
                .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b','));
        let is_unit = match keys::find(name).map(|key| key.kind) {
            Some(KeyKind::Number(property)) if property.kind() == Kind::Bytes => {
                number::is_byte_unit
            }
            Some(KeyKind::Length(_) | KeyKind::When(_)) => number::is_time_unit,
            _ => return value,
        };
        let rest = self.rest();
        let Some(after) = rest.strip_prefix(' ').filter(|_| is_number) else {
            return value;
        };
        let ends = |c: char| c.is_whitespace() || matches!(c, ')' | '|');
        let unit = &after[..after.find(ends).unwrap_or(after.len())];
        if !is_unit(unit) {
            return value;
        }
        self.at += 1 + unit.len();
        format!("{value} {unit}")
    }
}

fn is_measured(kind: KeyKind) -> bool {
    matches!(
        kind,
        KeyKind::Number(_) | KeyKind::Length(_) | KeyKind::When(_)
    )
}

fn starts_with_digit(text: &str) -> bool {
    text.trim_start().starts_with(|c: char| c.is_ascii_digit())
}

/// Whether a leading `-` negates the next term. In `->` and before a number it does not.
fn negates(text: &str) -> bool {
    text[1..].starts_with(|c: char| c.is_alphabetic() || matches!(c, '"' | '(' | '!'))
}
