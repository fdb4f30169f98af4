//! Splits a line of text into words, options, sizes and stacks.

use crate::snapshot::{Frame, FxFrame, PoolId, Text};

/// A word, and the rest of the line from it on, since a stack runs to the end of its line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    pub(super) rest: &'a str,
}

/// Splits a line at spaces, keeping quoted parts whole and dropping comments.
pub(super) fn words(line: &str) -> Result<Vec<Word<'_>>, String> {
    let line = without_comment(line)?;
    let mut found = Vec::new();
    let mut start = None;
    let (mut quote, mut before) = (None, ' ');
    for (at, c) in line.char_indices() {
        quote = quote_after(quote, before, c);
        before = c;
        if c.is_whitespace() && quote.is_none() {
            if let Some(from) = start.take() {
                found.push(Word {
                    text: &line[from..at],
                    rest: line[from..].trim_end(),
                });
            }
        } else if start.is_none() {
            start = Some(at);
        }
    }
    if let Some(from) = start {
        found.push(Word {
            text: &line[from..],
            rest: &line[from..],
        });
    }
    Ok(found)
}

/// The quote that is open after `c`. A quote opens only at a word's start or after `=`: the names of
/// functions may contain quotes.
fn quote_after(open: Option<char>, before: char, c: char) -> Option<char> {
    match (open, c) {
        (Some(quote), _) if quote == c => None,
        (None, '"' | '\'') if before.is_whitespace() || before == '=' => Some(c),
        _ => open,
    }
}

fn without_comment(line: &str) -> Result<&str, String> {
    let (mut quote, mut before) = (None, ' ');
    for (at, c) in line.char_indices() {
        quote = quote_after(quote, before, c);
        if c == '#' && before.is_whitespace() && quote.is_none() {
            return Ok(&line[..at]);
        }
        before = c;
    }
    match quote {
        Some(_) => Err("a quote is not closed".to_owned()),
        None => Ok(line),
    }
}

/// The options that may follow a command's fixed words.
#[derive(Clone, Debug, Default)]
pub(super) struct Tail {
    pub(super) at: Option<u64>,
    pub(super) stream: Option<i64>,
    pub(super) pool: Option<PoolId>,
    pub(super) is_small: Option<bool>,
    pub(super) free: Option<u64>,
    pub(super) compile: Option<Text>,
    pub(super) meta: Option<Text>,
    pub(super) internal: Option<Text>,
    pub(super) category: Option<Text>,
    pub(super) forward: Vec<Text>,
    /// Outermost first, as written.
    pub(super) stack: Option<Vec<Frame>>,
}

impl Tail {
    pub(super) fn parse(words: &[Word<'_>]) -> Result<Self, String> {
        let mut tail = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.text {
                "at" => {
                    let addr = words.next().ok_or("an address must follow `at`")?;
                    tail.at = Some(address(addr.text)?);
                }
                "small" => tail.is_small = Some(true),
                "large" => tail.is_small = Some(false),
                text => match text.split_once('=') {
                    Some((key, value)) if is_option(key) => tail.option(key, unquoted(value))?,
                    _ => {
                        tail.stack = Some(stack(word.rest)?);
                        break;
                    }
                },
            }
        }
        Ok(tail)
    }

    fn option(&mut self, key: &str, value: &str) -> Result<(), String> {
        let text = || Some(Text::Owned(value.to_owned()));
        match key {
            "stream" => self.stream = Some(address(value)? as i64),
            "pool" => {
                let (a, b) = value
                    .split_once(',')
                    .ok_or("a pool is two numbers: pool=0,1")?;
                self.pool = Some((address(a)?, address(b)?));
            }
            "free" => self.free = Some(size(value)?),
            "compile" => self.compile = text(),
            "meta" => self.meta = text(),
            "internal" => self.internal = text(),
            "category" => self.category = text(),
            _ => {
                self.forward = value
                    .split('|')
                    .map(|l| Text::Owned(format!("{l}\n")))
                    .collect()
            }
        }
        Ok(())
    }
}

fn is_option(key: &str) -> bool {
    let known = [
        "stream", "pool", "free", "compile", "meta", "internal", "category", "forward",
    ];
    known.contains(&key)
}

/// A text without its quotes.
pub(super) fn unquoted(text: &str) -> &str {
    let between = |quote| text.strip_prefix(quote).and_then(|t| t.strip_suffix(quote));
    between('"').or_else(|| between('\'')).unwrap_or(text)
}

/// A number, decimal or `0x`.
pub(super) fn address(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(&hex.replace('_', ""), 16),
        None => text.replace('_', "").parse(),
    };
    parsed.map_err(|_wrong| format!("{text:?} is not a number"))
}

/// A size in bytes.
pub(super) fn size(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u64); 5] = [
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
        ("B", 1),
    ];
    let unit = UNITS
        .iter()
        .find_map(|&(unit, bytes)| Some((text.strip_suffix(unit)?, bytes)));
    scaled(text, unit).ok_or_else(|| format!("{text:?} is not a size: say 512, 4KiB or 1.5MiB"))
}

/// A time in microseconds.
pub(super) fn duration_us(text: &str) -> Result<i64, String> {
    const UNITS: [(&str, u64); 3] = [("us", 1), ("ms", 1000), ("s", 1_000_000)];
    let unit = UNITS
        .iter()
        .find_map(|&(unit, us)| Some((text.strip_suffix(unit)?, us)));
    let time = unit.and_then(|unit| scaled(text, Some(unit)));
    let time = time.and_then(|us| i64::try_from(us).ok());
    time.ok_or_else(|| format!("{text:?} is not a time: say 5us, 2ms or 1s"))
}

fn scaled(text: &str, unit: Option<(&str, u64)>) -> Option<u64> {
    let (number, factor) = unit.unwrap_or((text, 1));
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor);
    }
    let product = number.parse::<f64>().ok()? * factor as f64;
    (0.0..1e18).contains(&product).then_some(product as u64)
}

fn stack(text: &str) -> Result<Vec<Frame>, String> {
    text.split(" > ").map(|part| frame(part.trim())).collect()
}

fn frame(text: &str) -> Result<Frame, String> {
    let (text, fx) = match text.strip_suffix(')').and_then(|t| t.split_once("@fx(")) {
        Some((frame, fx)) => (frame.trim_end(), Some(fx)),
        None => (text, None),
    };
    let wrong = || format!("{text:?} is not understood here (a frame is FILE:LINE:NAME)");
    // A file's name may contain colons: the line is the first part that is a number.
    for (at, _) in text.match_indices(':') {
        let Some((number, name)) = text[at + 1..].split_once(':') else {
            continue;
        };
        let Ok(line) = number.parse() else { continue };
        let mut frame = Frame::new(name.to_owned(), text[..at].to_owned(), line);
        frame.fx = fx.map(fx_frame);
        return Ok(frame);
    }
    Err(wrong())
}

fn fx_frame(text: &str) -> FxFrame {
    let mut parts = text
        .splitn(4, ',')
        .map(|part| Text::Owned(part.trim().to_owned()));
    FxFrame {
        node_op: parts.next().unwrap_or_default(),
        node_name: parts.next().unwrap_or_default(),
        node_target: parts.next().unwrap_or_default(),
        original_trace: parts.next().unwrap_or_default(),
    }
}

/// The word at `index`.
pub(super) fn word<'a>(words: &[Word<'a>], index: usize) -> Result<&'a str, String> {
    words
        .get(index)
        .map(|w| w.text)
        .ok_or_else(|| "the line ends too early".to_owned())
}

/// The word at `index` as a number.
pub(super) fn number(words: &[Word<'_>], index: usize) -> Result<u64, String> {
    address(word(words, index)?)
}
