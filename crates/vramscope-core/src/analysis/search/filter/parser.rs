//! Parses a filter into a tree. Errors say what to write instead.

use std::ops::Range;

use super::address::AddressMatch;
use super::keys::{self, Key, KeyKind};
use super::lexer::{Operator, Token, TokenKind, Word, tokens};
use super::number::{self, Instead};
use super::pattern::Pattern;
use super::term::{Expression, LengthField, Live, PoolMatch, Term, Test, TextField, WhenField};
use super::{FilterError, TEXT_LIMIT_BYTES};
use crate::analysis::properties::Kind;
use crate::invisible;
use crate::model::PoolId;

/// Maximum depth of nested parentheses, because parsing and evaluating recurse.
const DEPTH_LIMIT: usize = 32;
/// Maximum number of tokens, because each term costs a pass over all allocations.
const TOKENS_LIMIT: usize = 256;

type Parsed<T> = Result<T, FilterError>;

/// Parses a filter; an empty text is [`Expression::All`].
pub(super) fn parse(text: &str) -> Parsed<Expression> {
    if text.len() > TEXT_LIMIT_BYTES {
        let start = text.ceil_char_boundary(TEXT_LIMIT_BYTES);
        return Err(FilterError::new(
            start..text.len(),
            "This filter is too long: keep it below 4,096 letters.",
        ));
    }
    let tokens = tokens(text)?;
    if let Some(token) = tokens.get(TOKENS_LIMIT) {
        return Err(FilterError::new(
            token.span.start..text.len(),
            "This filter has too many parts: keep to 256 words.",
        ));
    }
    let mut parser = Parser {
        text,
        tokens: &tokens,
        next: 0,
        depth: 0,
    };
    let expression = parser.either()?;
    match parser.peek() {
        None => Ok(expression),
        Some(token) => Err(FilterError::new(
            token.span.clone(),
            "There is no ( that this ) closes: leave it out, or put the text in quotes.",
        )),
    }
}

struct Parser<'a> {
    text: &'a str,
    tokens: &'a [Token],
    next: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a Token> {
        self.tokens.get(self.next)
    }

    fn take(&mut self, kind: &TokenKind) -> Option<&'a Token> {
        let token = self.peek().filter(|token| token.kind == *kind)?;
        self.next += 1;
        Some(token)
    }

    /// Parses one or more alternatives.
    fn either(&mut self) -> Parsed<Expression> {
        let mut parts = Vec::new();
        let mut sign: Option<&Token> = None;
        loop {
            let before = sign;
            let part = self.both()?;
            sign = self.take(&TokenKind::Or);
            if part == Expression::All
                && let Some(token) = before.or(sign)
            {
                return Err(FilterError::new(
                    token.span.clone(),
                    "Something is missing beside this: write a | b to find either of two.",
                ));
            }
            match part {
                Expression::Or(inner) => parts.extend(inner),
                part => parts.push(part),
            }
            if sign.is_none() {
                return Ok(one_or(parts, Expression::Or));
            }
        }
    }

    /// Parses terms that must all match. Returns [`Expression::All`] if there are none.
    fn both(&mut self) -> Parsed<Expression> {
        let mut parts = Vec::new();
        loop {
            while self.take(&TokenKind::And).is_some() {}
            match self.peek().map(|token| &token.kind) {
                None | Some(TokenKind::Close | TokenKind::Or) => break,
                _ => match self.one()? {
                    Expression::And(inner) => parts.extend(inner),
                    part => parts.push(part),
                },
            }
        }
        Ok(match parts.is_empty() {
            true => Expression::All,
            false => one_or(parts, Expression::And),
        })
    }

    fn one(&mut self) -> Parsed<Expression> {
        let mut negated = false;
        let mut sign = None;
        while let Some(token) = self.take(&TokenKind::Not) {
            negated = !negated;
            sign = Some(token.span.clone());
        }
        let missing = |span: Range<usize>| {
            FilterError::new(
                span,
                "Say what to leave out after this: !freed, -frame:optimizer.",
            )
        };
        let Some(token) = self.peek() else {
            return Err(missing(sign.unwrap_or(self.text.len()..self.text.len())));
        };
        let inner = match &token.kind {
            TokenKind::Open => self.brackets(token.span.clone())?,
            TokenKind::Word(word) => {
                self.next += 1;
                term(self.text, token, word)?
            }
            _ => return Err(missing(sign.unwrap_or(token.span.clone()))),
        };
        Ok(if negated { not(inner) } else { inner })
    }

    fn brackets(&mut self, open: Range<usize>) -> Parsed<Expression> {
        self.next += 1;
        self.depth += 1;
        if self.depth > DEPTH_LIMIT {
            return Err(FilterError::new(
                open,
                "Too many brackets within brackets: 32 is the most.",
            ));
        }
        let inner = self.either()?;
        if self.take(&TokenKind::Close).is_none() {
            return Err(FilterError::new(
                open,
                "This bracket is not closed: write ) where it ends, or put the text in quotes.",
            ));
        }
        if inner == Expression::All {
            let message = "There is nothing between these brackets.";
            return Err(FilterError::new(open, message));
        }
        self.depth -= 1;
        Ok(inner)
    }
}

fn one_or(mut parts: Vec<Expression>, many: fn(Vec<Expression>) -> Expression) -> Expression {
    match parts.len() {
        1 => parts.swap_remove(0),
        _ => many(parts),
    }
}

fn not(inner: Expression) -> Expression {
    match inner {
        Expression::Not(inner) => *inner,
        inner => Expression::Not(Box::new(inner)),
    }
}

/// Parses a word into a condition.
fn term(text: &str, token: &Token, word: &Word) -> Parsed<Expression> {
    let Some((name_span, operator)) = &word.key else {
        if !word.is_quoted
            && let Some(flag) = keys::flag(&word.value)
        {
            return Ok(Expression::Term(Term::Flag(flag.flag)));
        }
        if word.value.is_empty() {
            return Err(FilterError::new(
                token.span.clone(),
                "There is nothing between these quotes: write what to look for.",
            ));
        }
        let pattern = pattern(word, false);
        return Ok(Expression::Term(Term::Text(TextField::Anywhere, pattern)));
    };
    let name = &text[name_span.clone()];
    let key = keys::find(name).ok_or_else(|| unknown_key(text, token, name_span, name))?;
    if word.value.is_empty() {
        let message = format!(
            "Say what after this, such as {}: {}.",
            key.example, key.help
        );
        return Err(FilterError {
            is_unfinished: token.span.end == text.len() && !word.is_quoted,
            ..FilterError::new(token.span.clone(), message)
        });
    }
    let is_negated = *operator == Operator::NotEqual;
    let operator = if is_negated {
        Operator::Equal
    } else {
        *operator
    };
    let term = Expression::Term(keyed(token, word, key, operator)?);
    Ok(if is_negated { not(term) } else { term })
}

fn unknown_key(text: &str, token: &Token, span: &Range<usize>, name: &str) -> FilterError {
    let written = &text[token.span.clone()];
    let message = match keys::similar(name) {
        Some(meant) => format!("There is no key {name}; did you mean {meant}?"),
        None => format!(
            "There is no key {name}. To look for this text write \"{written}\"; keys are frame, size, \
             live, site, stream, pool and more."
        ),
    };
    FilterError::new(span.clone(), message)
}

fn keyed(token: &Token, word: &Word, key: Key, operator: Operator) -> Parsed<Term> {
    let value = word.value.as_str();
    let instead = |instead: Instead| {
        let message = format!("“{value}” does not fit {}: write {instead}.", key.name);
        FilterError::new(word.value_span.clone(), message)
    };
    let is_equal = matches!(operator, Operator::Colon | Operator::Equal);
    let is_compared = matches!(
        key.kind,
        KeyKind::Number(_) | KeyKind::Length(_) | KeyKind::When(_)
    );
    if !is_equal && !is_compared && operator != Operator::At {
        let message = format!("{} is not a number: write {}.", key.name, key.example);
        return Err(FilterError::new(token.span.clone(), message));
    }
    match key.kind {
        KeyKind::Text(field) => Ok(Term::Text(
            field,
            pattern(word, operator == Operator::Equal),
        )),
        KeyKind::Address => AddressMatch::parse(&value.to_ascii_lowercase())
            .map(Term::Address)
            .ok_or_else(|| instead("hexadecimal digits, 0x7f5a00000200, or 0x7f00..0x7fff")),
        KeyKind::Stream => stream(value)
            .map(Term::Stream)
            .ok_or_else(|| instead("its number, such as 7, or default, or its handle")),
        KeyKind::Pool => pool(value)
            .map(Term::Pool)
            .ok_or_else(|| instead("default, private, or an id such as 0,3")),
        KeyKind::Number(property) if property.kind() == Kind::Bytes => {
            test(operator, value, number::bytes)
                .map(|test| Term::Number(property, test))
                .map_err(instead)
        }
        KeyKind::Number(property) => test(operator, value, count)
            .map(|test| Term::Number(property, test))
            .map_err(instead),
        KeyKind::Length(field) => length(field, operator, value).map_err(instead),
        KeyKind::When(field) if is_equal && value.eq_ignore_ascii_case("range") => {
            Ok(Term::Range(Some(field)))
        }
        KeyKind::When(field) => moments(field, operator, value).map_err(instead),
        KeyKind::Live => live(word).map(Term::Live).map_err(instead),
        KeyKind::In if value.eq_ignore_ascii_case("range") => Ok(Term::Range(None)),
        KeyKind::In => Err(instead("in:range, for what is live in the selected range")),
    }
}

/// The value as a pattern. Quotes only matter if there is a `*` in them.
fn pattern(word: &Word, is_whole: bool) -> Pattern {
    Pattern {
        is_literal: word.is_quoted && word.value.contains('*'),
        text: invisible::escaped(&word.value).into_owned(),
        is_whole,
    }
}

fn count(value: &str) -> Result<u64, Instead> {
    let number = number::integer(value).and_then(|number| u64::try_from(number).ok());
    number.ok_or("a whole number such as 2")
}

fn stream(value: &str) -> Option<i64> {
    if value.eq_ignore_ascii_case("default") {
        return Some(0);
    }
    number::integer(value)
}

fn pool(value: &str) -> Option<PoolMatch> {
    let inner = value
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'));
    let value = inner.unwrap_or(value);
    match &*value.to_ascii_lowercase() {
        "default" => return Some(PoolMatch::Default),
        "private" => return Some(PoolMatch::Private),
        _ => {}
    }
    if let Some((a, b)) = value.split_once([',', '.']) {
        let number = |text: &str| text.trim().parse().ok();
        return Some(PoolMatch::Id(PoolId(number(a)?, number(b)?)));
    }
    value.parse().ok().map(PoolMatch::Number)
}

/// Parses a comparison, or a range `a..b` after `:` or `=`.
fn test<T>(
    operator: Operator,
    value: &str,
    mut read: impl FnMut(&str) -> Result<T, Instead>,
) -> Result<Test<T>, Instead> {
    let is_equal = matches!(operator, Operator::Colon | Operator::Equal);
    if let Some((from, to)) = value.split_once("..").filter(|_| is_equal) {
        return match (from.trim(), to.trim()) {
            ("", to) => read(to).map(Test::AtMost),
            (from, "") => read(from).map(Test::AtLeast),
            (from, to) => Ok(Test::Between(read(from)?, read(to)?)),
        };
    }
    let number = read(value)?;
    Ok(match operator {
        Operator::Colon | Operator::At => Test::Shown(number),
        Operator::Equal | Operator::NotEqual => Test::Equal(number),
        Operator::Below => Test::Below(number),
        Operator::AtMost => Test::AtMost(number),
        Operator::Above => Test::Above(number),
        Operator::AtLeast => Test::AtLeast(number),
    })
}

fn length(field: LengthField, operator: Operator, value: &str) -> Result<Term, Instead> {
    let mut unit = None;
    let test = test(operator, value, |text| {
        let (this, number) = number::length(text)?;
        if unit.is_some_and(|unit| unit != this) {
            return Err("both ends in the same kind of unit, such as 1ms..5ms");
        }
        unit = Some(this);
        Ok(number)
    })?;
    let unit = unit.ok_or("a length such as 5ms")?;
    Ok(Term::Length(field, unit, test))
}

fn moments(field: WhenField, operator: Operator, value: &str) -> Result<Term, Instead> {
    let test = test(operator, value, number::when)?;
    // Moments are compared exactly; only rounded numbers can look the same.
    let test = match test {
        Test::Shown(when) => Test::Equal(when),
        test => test,
    };
    Ok(Term::When(field, test))
}

fn live(word: &Word) -> Result<Live, Instead> {
    if !word.is_quoted {
        if word.value.eq_ignore_ascii_case("oom") {
            return Ok(Live::Oom);
        }
        if word.value.eq_ignore_ascii_case("range") {
            return Ok(Live::Range);
        }
        if let Ok(when) = number::when(&word.value) {
            return Ok(Live::At(when));
        }
        if word.value.starts_with(|c: char| c.is_ascii_digit()) {
            return Err("an event's number, a time such as 2.5s, or peak, end, start, cursor, oom");
        }
    }
    Ok(Live::Named(pattern(word, false)))
}
