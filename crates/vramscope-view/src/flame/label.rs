//! Shortens labels to fit into boxes.

use crate::scene::CHARACTER_EM;

/// Shorter texts are left out, because they say nothing.
const LEAST_CHARACTERS: usize = 3;

/// A label for a box of `width_px` with text of `font_px`: the whole label, else its function, else
/// the start of the function with an ellipsis. Empty if there is no room.
#[must_use]
pub fn fit(label: &str, width_px: f64, font_px: f64) -> String {
    let room = (width_px / (font_px * CHARACTER_EM)).max(0.0) as usize;
    let is_short = |text: &str| text.chars().nth(room).is_none();
    if is_short(label) {
        return label.to_owned();
    }
    let function = function(label);
    if is_short(function) {
        return function.to_owned();
    }
    if room < LEAST_CHARACTERS {
        return String::new();
    }
    function.chars().take(room - 1).chain(['…']).collect()
}

/// The most telling part: `forward` of `models/llama.py:12 forward`, `mm::call` of
/// `at::_ops::mm::call`, `linear.py` of `torch/nn/modules/linear.py`.
fn function(label: &str) -> &str {
    let is_named = |text: &&str| !text.is_empty();
    if let Some((place, function)) = label.split_once(' ') {
        let is_place = place.contains('/') || (place.contains('.') && !place.contains("::"));
        return if is_place {
            last_scopes(function)
        } else {
            label
        };
    }
    let last_part = label
        .rsplit_once('/')
        .map(|(_, file)| file)
        .filter(is_named);
    last_part.unwrap_or_else(|| last_scopes(label))
}

/// `b::c` of `a::b::c`.
fn last_scopes(name: &str) -> &str {
    let start = name.rmatch_indices("::").nth(1);
    start.map_or(name, |(at, separator)| &name[at + separator.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_lose_their_place_before_their_name() {
        let label = "models/llama.py:12 forward";
        let width = |characters: usize| 10.0 * CHARACTER_EM * characters as f64 + 0.1;
        let fitted = |characters| fit(label, width(characters), 10.0);
        assert_eq!(fitted(26), label);
        assert_eq!(fitted(25), "forward");
        assert_eq!(fitted(7), "forward");
        assert_eq!(fitted(5), "forw…");
        assert_eq!(fitted(2), "");
        assert_eq!(fit("at::_ops::mm::call", width(9), 10.0), "mm::call");
        assert_eq!(fit("torch/nn/linear.py", width(9), 10.0), "linear.py");
        assert_eq!(fit("no stack recorded", width(9), 10.0), "no stack…");
        let native = "Alloc.cpp c10::cuda::Alloc::malloc";
        assert_eq!(fit(native, width(20), 10.0), "Alloc::malloc");
        assert_eq!(fit(label, f64::NAN, 10.0), "");
        assert_eq!(fit(label, -1.0, 0.0), "");
    }
}
