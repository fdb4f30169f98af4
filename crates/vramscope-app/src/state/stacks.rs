//! Stacks as they are shown: the user's frames, with those between them folded away.

use vramscope_core::analysis::code::call_sites::short_function;
use vramscope_core::analysis::code::frames::FrameClass;
use vramscope_core::analysis::report::details::FrameDetails;
use vramscope_core::invisible;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StackRow {
    /// The frame of that number.
    Frame(usize),
    /// Frames of PyTorch, other libraries and Python that are folded away.
    Folded {
        /// The number of the first.
        first: usize,
        /// How many there are.
        count: usize,
    },
}

/// The rows to show: all frames, or only the user's. A stack without frames of the user shows those of libraries, and
/// one without either shows all.
#[must_use]
pub fn rows(frames: &[FrameDetails], show_all: bool) -> Vec<StackRow> {
    let has_user = frames.iter().any(is_user);
    let is_shown = |frame: &FrameDetails| {
        if has_user {
            is_user(frame)
        } else {
            frame.class != FrameClass::Runtime
        }
    };
    if show_all || !frames.iter().any(is_shown) {
        return (0..frames.len()).map(StackRow::Frame).collect();
    }
    let mut rows = Vec::new();
    for (number, frame) in frames.iter().enumerate() {
        match (is_shown(frame), rows.last_mut()) {
            (true, _) => rows.push(StackRow::Frame(number)),
            (false, Some(StackRow::Folded { count, .. })) => *count += 1,
            (false, _) => rows.push(StackRow::Folded {
                first: number,
                count: 1,
            }),
        }
    }
    rows
}

/// Whether it is the user's own code, not that of PyTorch or another installed package.
#[must_use]
pub fn is_user(frame: &FrameDetails) -> bool {
    frame.class == FrameClass::User
}

/// The number of frames that [`rows`] folds away if not asked for all.
#[must_use]
pub fn foldable(frames: &[FrameDetails]) -> usize {
    let folded = |row: &StackRow| match row {
        StackRow::Folded { count, .. } => *count,
        StackRow::Frame(_) => 0,
    };
    rows(frames, false).iter().map(folded).sum()
}

/// The function; of C++ its name without arguments and template arguments.
#[must_use]
pub fn function(frame: &FrameDetails) -> String {
    short_function(&frame.function)
}

/// `file:line`, or the known part of it.
#[must_use]
pub fn place(frame: &FrameDetails) -> String {
    match (frame.file.as_str(), frame.line) {
        ("" | "??", _) => String::new(),
        (file, 0) => file.to_owned(),
        (file, line) => format!("{file}:{line}"),
    }
}

/// A path cut into its folder, with the closing slash, and its name.
#[must_use]
pub fn split_path(place: &str) -> (&str, &str) {
    place
        .rfind(['/', '\\'])
        .map_or(("", place), |slash| place.split_at(slash + 1))
}

/// `file:line` cut into `file` and `:line`.
#[must_use]
pub fn split_line(file: &str) -> (&str, &str) {
    file.split_at(file.rfind(':').unwrap_or(file.len()))
}

/// `file:line function` cut into `file:line` and the function; a label without a line is no place.
#[must_use]
pub fn split_site(label: &str) -> (&str, &str) {
    for (at, _) in label.match_indices(':') {
        let digits = label[at + 1..]
            .bytes()
            .take_while(u8::is_ascii_digit)
            .count();
        let (place, rest) = label.split_at(at + 1 + digits);
        if digits > 0 && (rest.is_empty() || rest.starts_with(' ')) {
            return (place, rest.trim_start());
        }
    }
    ("", label)
}

/// All of a stack as text for the clipboard, innermost frame first, each on one line whatever its names hold.
#[must_use]
pub fn text(frames: &[FrameDetails]) -> String {
    let mut text = String::new();
    for frame in frames {
        let line = format!("{} {}", place(frame), frame.function);
        text.push_str(&invisible::escaped_line(line.trim_start()));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use vramscope_core::ids::FrameId;

    fn frames(kinds: &str) -> Vec<FrameDetails> {
        let frame = |kind| FrameDetails {
            frame: FrameId(0),
            class: match kind {
                'r' => FrameClass::Runtime,
                'u' => FrameClass::User,
                _ => FrameClass::Library,
            },
            function: format!("f{kind}"),
            file: "/home/me/train.py".into(),
            line: 7,
            fx: None,
        };
        kinds.chars().map(frame).collect()
    }

    #[test]
    fn a_copied_stack_has_a_line_per_frame() {
        let mut frames = frames("uu");
        frames[0].function = "f\nrm -rf ~/x #\u{1b}".to_owned();
        frames[1].file = String::new();
        let lines = text(&frames);
        assert_eq!(lines.lines().count(), 2, "{lines}");
        assert!(lines.starts_with("/home/me/train.py:7 f\\u000arm -rf ~/x #\\u001b\n"));
    }

    #[test]
    fn folds_runs_of_others_frames() {
        use StackRow::{Folded, Frame};
        let folded = |first, count| Folded { first, count };
        assert_eq!(
            rows(&frames("rlulu"), false),
            [folded(0, 2), Frame(2), folded(3, 1), Frame(4)]
        );
        assert_eq!(
            rows(&frames("rlr"), false),
            [folded(0, 1), Frame(1), folded(2, 1)]
        );
        assert_eq!(rows(&frames("ru"), true), [Frame(0), Frame(1)]);
        assert_eq!(foldable(&frames("rruru")), 3);
    }

    #[test]
    fn shows_all_of_a_stack_without_user_frames() {
        assert_eq!(
            rows(&frames("rr"), false),
            [StackRow::Frame(0), StackRow::Frame(1)]
        );
        assert_eq!(foldable(&frames("rr")), 0);
        assert_eq!(rows(&[], false), []);
    }

    #[test]
    fn a_site_is_a_place_and_a_function() {
        assert_eq!(split_site("/a b/c.py:12 f"), ("/a b/c.py:12", "f"));
        assert_eq!(split_site("C:/a.py:3"), ("C:/a.py:3", ""));
        assert_eq!(split_site("no stack recorded"), ("", "no stack recorded"));
        assert_eq!(split_site("x.py:: é:"), ("", "x.py:: é:"));
    }

    #[test]
    fn places() {
        let mut frame = frames("u").remove(0);
        assert_eq!(place(&frame), "/home/me/train.py:7");
        assert_eq!(
            split_path("/home/me/train.py:7"),
            ("/home/me/", "train.py:7")
        );
        assert_eq!(split_path("train.py"), ("", "train.py"));
        assert_eq!(split_line("train.py:7"), ("train.py", ":7"));
        assert_eq!(split_line("train.py"), ("train.py", ""));
        frame.line = 0;
        assert_eq!(place(&frame), "/home/me/train.py");
        frame.file = "??".into();
        assert_eq!(place(&frame), "");
    }
}
