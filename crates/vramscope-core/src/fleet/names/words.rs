//! Common words with numbers in names, such as `rank3`, `step_100` and `node-4`.

use std::iter;
use std::ops::Range;

use super::Named;

/// Extensions of snapshots and of compressed files.
const ENDINGS: [&str; 12] = [
    ".pickle", ".pkl", ".pt", ".vram", ".json", ".html", ".gz", ".zst", ".zstd", ".zip", ".raw",
    ".vset",
];

/// The meaning of the number or text after a word.
#[derive(Clone, Copy)]
enum Means {
    Rank,
    LocalRank,
    Step,
    Host,
    Job,
    Process,
}

/// The words. A word that contains another one precedes it.
const WORDS: [(&str, Means); 19] = [
    ("local_rank", Means::LocalRank),
    ("localrank", Means::LocalRank),
    ("local-rank", Means::LocalRank),
    ("global_rank", Means::Rank),
    ("rank", Means::Rank),
    ("gpu", Means::LocalRank),
    ("cuda", Means::LocalRank),
    ("device", Means::LocalRank),
    ("iteration", Means::Step),
    ("iter", Means::Step),
    ("step", Means::Step),
    ("hostname", Means::Host),
    ("host", Means::Host),
    ("node", Means::Host),
    ("worker", Means::Host),
    ("slurm", Means::Job),
    ("job", Means::Job),
    ("run", Means::Job),
    ("pid", Means::Process),
];

/// A path without the extensions of its file.
pub(super) fn bare(path: &str) -> &str {
    let mut path = path;
    while let Some(shorter) = ENDINGS
        .iter()
        .find_map(|ending| without_ending(path, ending))
    {
        path = shorter;
    }
    path
}

fn without_ending<'p>(path: &'p str, ending: &str) -> Option<&'p str> {
    let at = path.len().checked_sub(ending.len())?;
    let (begin, end) = path.split_at_checked(at)?;
    let has_name = !begin.is_empty() && !begin.ends_with('/');
    (has_name && end.eq_ignore_ascii_case(ending)).then_some(begin)
}

/// Adds the content of a part of a path to `said`, unless it is known already. `tells_job`: a job may be read. A file name
/// has one only next to a rank, since `run-4711.pickle` is one of many processes.
pub(super) fn tell(part: &str, tells_job: bool, said: &mut Named) {
    for value in values(part) {
        if tells_job || !matches!(value.means, Means::Job) {
            value.tell(part, said);
        }
    }
}

/// A path without process ids. If two paths differ in nothing else, they are the same rank and moment of different runs.
#[must_use]
pub fn without_processes(path: &str) -> String {
    let mut text = String::new();
    let mut at = 0;
    for value in values(path).filter(|value| matches!(value.means, Means::Process)) {
        text.push_str(&path[at..value.digits.start]);
        at = value.digits.end;
    }
    text + &path[at..]
}

struct Value {
    means: Means,
    /// Where the word begins.
    word: usize,
    digits: Range<usize>,
}

/// The words in a text with the numbers after them, in order.
fn values(text: &str) -> impl Iterator<Item = Value> {
    let lower = text.to_ascii_lowercase();
    let mut at = 0;
    iter::from_fn(move || {
        while at < lower.len() {
            let word = at;
            let begins = !lower[..at].ends_with(|before: char| before.is_ascii_alphabetic());
            let known = WORDS.iter().filter(|_| begins);
            let mut found =
                known.filter_map(|(word, means)| Some((digits(&lower, at, word)?, *means)));
            if let Some((digits, means)) = found.next() {
                at = digits.end;
                return Some(Value {
                    means,
                    word,
                    digits,
                });
            }
            at += lower[at..].chars().next().map_or(1, char::len_utf8);
        }
        None
    })
}

/// The number after `word` at this position of a text, with an optional separator between them.
fn digits(text: &str, at: usize, word: &str) -> Option<Range<usize>> {
    let rest = text[at..].strip_prefix(word)?;
    let begin = usize::from(rest.starts_with(['-', '_', '=', '.', ' ', ':']));
    let digits = rest[begin..].bytes().take_while(u8::is_ascii_digit);
    let length = digits.count();
    let begin = at + word.len() + begin;
    (length > 0).then_some(begin..begin + length)
}

impl Value {
    fn tell(&self, text: &str, said: &mut Named) {
        let digits = &text[self.digits.clone()];
        let whole = &text[self.word..self.digits.end];
        let keep = |known: &mut String| {
            if known.is_empty() {
                whole.clone_into(known);
            }
        };
        match self.means {
            Means::Rank => said.rank = said.rank.or_else(|| digits.parse().ok()),
            Means::LocalRank => said.local_rank = said.local_rank.or_else(|| digits.parse().ok()),
            Means::Step => said.step = said.step.or_else(|| digits.parse().ok()),
            Means::Process => said.process = said.process.or_else(|| digits.parse().ok()),
            Means::Host => keep(&mut said.host),
            Means::Job => keep(&mut said.job),
        }
    }
}
