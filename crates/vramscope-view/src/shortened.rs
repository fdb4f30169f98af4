//! Shortens texts to fit.

/// A text, or as much of its start as fits, with an ellipsis.
pub(crate) fn cut_end(text: &str, fits: impl Fn(&str) -> bool) -> String {
    longest(text.chars().count(), fits, |kept, all| {
        if kept == all {
            return text.to_owned();
        }
        let start: String = text.chars().take(kept).collect();
        format!("{}…", start.trim_end())
    })
}

/// A text, or as much of its end as fits, with an ellipsis.
fn cut_start(text: &str, fits: impl Fn(&str) -> bool) -> String {
    longest(text.chars().count(), fits, |kept, all| {
        if kept == all {
            return text.to_owned();
        }
        let end: String = text.chars().skip(all - kept).collect();
        format!("…{end}")
    })
}

/// The name of a call site, shortened as on the page: first the folder loses its front, then the
/// function its end. File and line are kept as long as possible.
pub(crate) fn cut_site(label: &str, fits: impl Fn(&str) -> bool) -> String {
    if fits(label) {
        return label.to_owned();
    }
    let (place, function) = label.split_once(' ').unwrap_or((label, ""));
    let Some((folder, file)) = place.rsplit_once('/') else {
        return cut_end(label, fits);
    };
    let rest = format!("/{file} {function}");
    let rest = rest.trim_end();
    if fits(&format!("…{rest}")) {
        let folder = cut_start(folder, |folder| fits(&format!("{folder}{rest}")));
        return format!("{folder}{rest}");
    }
    cut_end(rest.trim_start_matches('/'), fits)
}

/// `made(kept, all)` for the largest `kept` with which the text fits; for 0 if none fits.
fn longest(
    all: usize,
    fits: impl Fn(&str) -> bool,
    made: impl Fn(usize, usize) -> String,
) -> String {
    let whole = made(all, all);
    if fits(&whole) {
        return whole;
    }
    // The text grows with every character, so this is a bisection.
    let (mut enough, mut too_many) = (0, all);
    while too_many - enough > 1 {
        let middle = usize::midpoint(enough, too_many);
        if fits(&made(middle, all)) {
            enough = middle;
        } else {
            too_many = middle;
        }
    }
    made(enough, all.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within(most: usize) -> impl Fn(&str) -> bool {
        move |text| text.chars().count() <= most
    }

    #[test]
    fn folders_give_way_before_functions() {
        let label = "models/big/llama.py:12 forward";
        for (most, expected) in [
            (30, label),
            (25, "…ig/llama.py:12 forward"),
            (21, "…/llama.py:12 forward"),
            (19, "llama.py:12 forward"),
            (15, "llama.py:12 fo…"),
            (3, "ll…"),
            (0, "…"),
        ] {
            let text = cut_site(label, within(most));
            assert!(text.chars().count() <= most.max(1), "{text}");
            if most != 25 {
                assert_eq!(text, expected);
            }
        }
        assert_eq!(cut_site("at::_ops::mm::call", within(8)), "at::_op…");
        assert_eq!(cut_site("", within(0)), "");
    }

    #[test]
    fn texts_keep_their_beginning() {
        assert_eq!(
            cut_end("device 0 · 12 allocations", within(10)),
            "device 0…"
        );
        assert_eq!(cut_end("short", within(10)), "short");
        assert_eq!(cut_start("abc.pickle", within(8)), "….pickle");
    }
}
