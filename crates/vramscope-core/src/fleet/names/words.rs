//! Words with numbers that many use in names, such as `rank3`, `step_100` and `node-4`.

use super::Named;

/// Endings of snapshots and of what compresses them.
const ENDINGS: [&str; 12] = [
    ".pickle", ".pkl", ".pt", ".vram", ".json", ".html", ".gz", ".zst", ".zstd", ".zip", ".raw",
    ".vset",
];

/// What the number or text after a word is.
#[derive(Clone, Copy)]
enum Means {
    Rank,
    LocalRank,
    Step,
    Host,
    Job,
}

/// The words. Longer ones come before those in them.
const WORDS: [(&str, Means); 18] = [
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
];

/// A path without the endings of its file.
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

/// Adds what a part of a path says, unless it is said already. `tells_job`: the name of a file says a job only beside a rank,
/// as `run-4711.pickle` is one of many processes.
pub(super) fn tell(part: &str, tells_job: bool, said: &mut Named) {
    let lower = part.to_ascii_lowercase();
    let mut at = 0;
    while at < lower.len() {
        let begins = !lower[..at].ends_with(|before: char| before.is_ascii_alphabetic());
        let found = WORDS
            .iter()
            .filter(|_| begins)
            .find_map(|(word, means)| Some((after(&lower[at..], word)?, *means, word.len())));
        if let Some((value, means, word)) = found {
            let whole = &part[at..at + word + value.begin + value.length];
            if tells_job || !matches!(means, Means::Job) {
                value.tell(means, &lower[at + word..], whole, said);
            }
            at += word + value.begin + value.length;
        } else {
            at += lower[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
}

/// A number after a word.
struct Value {
    /// Where it begins, behind the word.
    begin: usize,
    length: usize,
}

/// The number after `word`, which may stand behind a separator.
fn after(text: &str, word: &str) -> Option<Value> {
    let rest = text.strip_prefix(word)?;
    let begin = usize::from(rest.starts_with(['-', '_', '=', '.', ' ', ':']));
    let digits = rest[begin..].bytes().take_while(u8::is_ascii_digit);
    let length = digits.count();
    (length > 0).then_some(Value { begin, length })
}

impl Value {
    fn tell(&self, means: Means, rest: &str, whole: &str, said: &mut Named) {
        let digits = &rest[self.begin..self.begin + self.length];
        let keep = |known: &mut String| {
            if known.is_empty() {
                whole.clone_into(known);
            }
        };
        match means {
            Means::Rank => said.rank = said.rank.or_else(|| digits.parse().ok()),
            Means::LocalRank => said.local_rank = said.local_rank.or_else(|| digits.parse().ok()),
            Means::Step => said.step = said.step.or_else(|| digits.parse().ok()),
            Means::Host => keep(&mut said.host),
            Means::Job => keep(&mut said.job),
        }
    }
}
