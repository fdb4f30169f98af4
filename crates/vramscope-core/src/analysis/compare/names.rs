//! The distinguishing part of names.

/// Cuts the beginnings and ends that all names share, at whole words: `run_none.pickle` and `run_bf16.pickle` become
/// `none` and `bf16`. A number keeps the word before it: `rank 0`. If nothing would be left of a name, all stay whole.
#[must_use]
pub fn names_apart<'a>(names: &[&'a str]) -> Vec<&'a str> {
    let Some((first, rest)) = names.split_first().filter(|(_, rest)| !rest.is_empty()) else {
        return names.to_vec();
    };
    let is_common = |cut: &str, begins: bool| {
        rest.iter().all(|name| match begins {
            true => name.starts_with(cut),
            false => name.ends_with(cut),
        })
    };
    let is_separator = |letter: char| !letter.is_alphanumeric();
    // The end comes first: `run.pickle` and `run.1.pickle` share their ending.
    let ends = first
        .char_indices()
        .filter(|&(_, letter)| is_separator(letter));
    let end = ends
        .map(|(at, _)| &first[at..])
        .find(|end| is_common(end, false));
    let end = end.map_or(0, str::len);
    let begins = first[..first.len() - end].char_indices();
    let begins = begins.filter(|&(_, letter)| is_separator(letter));
    let begin = begins
        .map(|(at, letter)| &first[..at + letter.len_utf8()])
        .take_while(|begin| is_common(begin, true))
        .filter(|begin| {
            !names
                .iter()
                .any(|name| begins_with_digit(name, begin.len()))
        })
        .last();
    let begin = begin.map_or(0, str::len);
    let cut = |name: &&'a str| {
        name.get(begin..name.len() - end)
            .filter(|cut| !cut.is_empty())
    };
    let cuts: Option<Vec<_>> = names.iter().map(cut).collect();
    cuts.unwrap_or_else(|| names.to_vec())
}

fn begins_with_digit(name: &str, at: usize) -> bool {
    let rest = name.get(at..).unwrap_or_default();
    rest.starts_with(|letter: char| letter.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_left() {
        for (names, apart) in [
            (vec!["a_none.pickle", "a_bf16.pickle"], vec!["none", "bf16"]),
            (
                vec!["rank00_snapshot.pickle", "rank10_snapshot.pickle"],
                vec!["rank00", "rank10"],
            ),
            (vec!["run.pickle", "run.1.pickle"], vec!["run", "run.1"]),
            (
                vec!["xl_ctx512.pickle", "xl_ctx1024.pickle.gz"],
                vec!["ctx512.pickle", "ctx1024.pickle.gz"],
            ),
            (vec!["a/x.pickle", "b/x.pickle"], vec!["a", "b"]),
            (vec!["same", "same"], vec!["same", "same"]),
            (vec!["-a-", "-"], vec!["-a-", "-"]),
            (vec!["é_a", "é_b"], vec!["a", "b"]),
            (
                vec!["my rank 0.gz", "my rank 1.gz"],
                vec!["rank 0", "rank 1"],
            ),
            (vec!["alone.pickle"], vec!["alone.pickle"]),
            (vec![], vec![]),
        ] {
            assert_eq!(names_apart(&names), apart);
        }
    }
}
