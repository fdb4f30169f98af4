//! Shortens labels to fit into boxes.

use crate::scene::CHARACTER_EM;

/// Shorter texts are left out, because they say nothing.
const LEAST_CHARACTERS: usize = 3;

/// Like [`fit`], with a mark that shows that the box stands for several and can be opened.
#[must_use]
pub(super) fn fit_opening(label: &str, width_px: f64, font_px: f64) -> String {
    const MARK: &str = " ▸";
    let mark_px = 2.0 * font_px * CHARACTER_EM;
    match fit(label, width_px - mark_px, font_px) {
        text if text.is_empty() => text,
        text => text + MARK,
    }
}

/// A label for a box of `width_px` with text of `font_px`: the whole label, else without its folder, else its `file:line`
/// (or its function, if it has no line), else its start with an ellipsis. Empty if there is no room.
#[must_use]
pub fn fit(label: &str, width_px: f64, font_px: f64) -> String {
    let room = (width_px / (font_px * CHARACTER_EM)).max(0.0) as usize;
    let is_short = |text: &str| text.chars().nth(room).is_none();
    if is_short(label) {
        return label.to_owned();
    }
    let telling = match file_line(label) {
        Some((file, _)) if is_short(file) => return file.to_owned(),
        Some((_, place)) => place,
        None => function(label),
    };
    if is_short(telling) {
        return telling.to_owned();
    }
    if room < LEAST_CHARACTERS {
        return String::new();
    }
    telling.chars().take(room - 1).chain(['…']).collect()
}

/// The label without its folder, and its place: `llama.py:12 forward` and `llama.py:12` for
/// `models/llama.py:12 forward`. `None` for labels without a line.
fn file_line(label: &str) -> Option<(&str, &str)> {
    let place = label.split(' ').next()?;
    let (file, line) = place.rsplit_once(':')?;
    let is_line = !line.is_empty() && line.bytes().all(|digit| digit.is_ascii_digit());
    let start = file.rfind('/').map_or(0, |slash| slash + 1);
    (is_line && start < file.len()).then(|| (&label[start..], &place[start..]))
}

/// The most informative part: `forward` of `models/llama.py:12 forward`, `mm::call` of `at::_ops::mm::call`, `linear.py` of
/// `torch/nn/modules/linear.py`.
fn function(label: &str) -> &str {
    let is_named = |text: &&str| !text.is_empty();
    if let Some((place, function)) = label.split_once(' ') {
        let extension = place
            .rsplit_once('.')
            .map_or("", |(_, extension)| extension);
        let has_extension = extension.starts_with(|first: char| first.is_ascii_alphabetic());
        let is_place = place.contains('/') || (has_extension && !place.contains("::"));
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

fn last_scopes(name: &str) -> &str {
    let start = name.rmatch_indices("::").nth(1);
    start.map_or(name, |(at, separator)| &name[at + separator.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_lose_their_folder_then_their_function() {
        let label = "models/llama.py:12 forward";
        let width = |characters: usize| 10.0 * CHARACTER_EM * characters as f64 + 0.1;
        let fitted = |characters| fit(label, width(characters), 10.0);
        assert_eq!(fitted(26), label);
        assert_eq!(fitted(25), "llama.py:12 forward");
        assert_eq!(fitted(18), "llama.py:12");
        assert_eq!(fitted(5), "llam…");
        assert_eq!(fitted(2), "");
        assert_eq!(fit_opening(label, width(14), 10.0), "llama.py:12 ▸");
        assert_eq!(fit_opening(label, width(3), 10.0), "");
        assert_eq!(fit("models/llama.py forward", width(9), 10.0), "forward");
        assert_eq!(fit("at::_ops::mm::call", width(9), 10.0), "mm::call");
        assert_eq!(fit("torch/nn/linear.py", width(9), 10.0), "linear.py");
        assert_eq!(fit("no stack recorded", width(9), 10.0), "no stack…");
        let segment = "20.0 MiB segment at 0x7f2001400000";
        assert_eq!(fit(segment, width(9), 10.0), "20.0 MiB…");
        let native = "Alloc.cpp c10::cuda::Alloc::malloc";
        assert_eq!(fit(native, width(20), 10.0), "Alloc::malloc");
        assert_eq!(fit(label, f64::NAN, 10.0), "");
        assert_eq!(fit(label, -1.0, 0.0), "");
    }
}
