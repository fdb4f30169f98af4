//! A filter by its text, with the moments that its words refer to.

use serde::{Deserialize, Serialize};

use super::{Filter, Pointed};
use crate::analysis::time::selection::Moments;

/// A filter by its text, with the moments that its words refer to. Equal filters match the same allocations.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct FilterText {
    /// The filter's text.
    pub text: String,
    /// The moment of the cursor; `None` also if no word refers to it.
    pub cursor: Option<u32>,
    /// The selected range; `None` also if no word refers to it.
    pub range: Option<Moments>,
}

impl FilterText {
    /// The filter of `text`; `None` if it matches everything: it is empty, or cannot be parsed.
    #[must_use]
    pub fn of(text: &str, cursor: Option<u32>, range: Option<Moments>) -> Option<Self> {
        let filter = Filter::parse(text).ok()?;
        (!filter.is_empty()).then(|| Self {
            text: text.to_owned(),
            cursor: cursor.filter(|_| filter.uses_cursor()),
            range: range.filter(|_| filter.uses_range()),
        })
    }

    /// The moments that its words refer to.
    #[must_use]
    pub fn pointed(&self) -> Pointed {
        Pointed {
            cursor: self.cursor,
            range: self.range,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_keeps_only_the_moments_that_its_words_refer_to() {
        let of = |text| FilterText::of(text, Some(3), Some((1, 2))).unwrap();
        assert_eq!((of("size>1").cursor, of("size>1").range), (None, None));
        assert_eq!(of("live@cursor").cursor, Some(3));
        assert_eq!(of("live@cursor").range, None);
        assert_eq!(FilterText::of("", Some(3), None), None);
        assert_eq!(FilterText::of("size>", Some(3), None), None);
    }
}
