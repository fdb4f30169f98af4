//! Recognises names made only of words that occur in the names of PyTorch, Python, C++ and CUDA.
//!
//! Such names stay in public places: PyTorch's and C++'s namespaces, PyTorch's folders, C functions with a public
//! beginning. A single unknown word makes the whole name hashed.

use std::collections::HashSet;
use std::sync::LazyLock;

static WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let lines = include_str!("words.txt").lines();
    let lines = lines.filter(|line| !line.starts_with('#'));
    lines.flat_map(|line| line.split(' ')).collect()
});

/// Most digits in a name. More could be a private number.
const MOST_DIGITS: usize = 4;

/// Whether an identifier consists of public words (`structured_cat_out_cuda`, `AddmmBackward0`) and at most
/// [`MOST_DIGITS`] digits.
pub(super) fn are_all_public(identifier: &str) -> bool {
    let digits = identifier.bytes().filter(u8::is_ascii_digit).count();
    digits <= MOST_DIGITS
        && identifier.bytes().any(|byte| byte.is_ascii_alphabetic())
        && identifier
            .split('_')
            .all(|part| part.is_empty() || is_public(part))
}

/// Whether the part of an identifier between two `_` is public. Digits may stand once, after a word: `conv2d`.
fn is_public(part: &str) -> bool {
    if is_word(part) {
        return true;
    }
    let is_digit = |character: char| character.is_ascii_digit();
    let Some((before, rest)) = part.find(is_digit).map(|at| part.split_at(at)) else {
        return consists_of_words(part);
    };
    let after = rest.trim_start_matches(is_digit);
    let is_after_public = after.is_empty() || after == "d" || after.len() > 1;
    let is_bare_number = before.is_empty() && after.is_empty();
    is_bare_number
        || before.len() > 1
            && is_after_public
            && consists_of_words(before)
            && (after.is_empty() || consists_of_words(after))
}

fn is_word(text: &str) -> bool {
    // Most words are in lower case already.
    WORDS.contains(text) || WORDS.contains(text.to_ascii_lowercase().as_str())
}

/// Whether letters are one word, or words that begin with capitals: `CUDACachingAllocator`.
fn consists_of_words(letters: &str) -> bool {
    if is_word(letters) {
        return true;
    }
    let bytes = letters.as_bytes();
    let is_start = |at: usize| {
        let is_upper = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_uppercase);
        let is_lower = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_lowercase);
        is_upper(at) && (!is_upper(at - 1) || is_lower(at + 1))
    };
    let mut from = 0;
    for at in 1..=bytes.len() {
        if at == bytes.len() || is_start(at) {
            let is_public = letters.get(from..at).is_some_and(is_word);
            if !is_public {
                return false;
            }
            from = at;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::are_all_public;

    #[test]
    fn a_name_is_public_if_each_of_its_words_is() {
        for name in [
            "wrapper_CUDA_add_Tensor",
            "structured_cat_out_cuda_functional",
            "AddmmBackward0_apply_functional",
            "CUDACachingAllocator",
            "_M_invoke",
            "conv2d",
            "c10",
            "add_",
        ] {
            assert!(are_all_public(name), "{name}");
        }
        for name in [
            "acme",
            "add_acme",
            "AddAcme",
            "addacme",
            "b4e2",
            "c4d1",
            "4111",
            "add_4111_1111",
            "add41111",
            "é",
            "Add東",
            "",
            "_",
        ] {
            assert!(!are_all_public(name), "{name}");
        }
    }
}
