//! What the file shows first, as the text behind `#` in the page's address.

use clap::ValueEnum;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use vramscope_core::analysis::selection::Moments;
use vramscope_core::model::DeviceIndex;

use super::page::Embedded;
use crate::failure::Failure;
use crate::subject::Subject;

/// What needs no encoding.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The page's views.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(super) enum View {
    /// What is wrong, in words
    #[default]
    Overview,
    /// Every allocation over time
    Timeline,
    /// Reserved memory over time, segment by segment
    Segments,
    /// Every allocation at its address
    Map,
    /// The allocator's segments and blocks at any event
    #[value(alias = "allocator")]
    State,
    /// Call trees
    Flame,
    /// Every allocation as a row
    Table,
    /// Two moments, devices or files
    Compare,
    /// Settings, and what the file holds
    Facts,
}

impl View {
    /// The page's word for it.
    fn word(self) -> &'static str {
        match self {
            Self::Overview => "overview",
            Self::Timeline => "timeline",
            Self::Segments => "segments",
            Self::Map => "map",
            Self::State => "allocator",
            Self::Flame => "flame",
            Self::Table => "table",
            Self::Compare => "compare",
            Self::Facts => "facts",
        }
    }
}

/// What is shown first, of the first file.
#[derive(Clone, Debug)]
pub(super) struct Place {
    view: View,
    /// The device; `None` for the one with the highest peak.
    pub(super) device: Option<DeviceIndex>,
    /// The cursor's moment.
    at: Option<u32>,
    /// The selected moments.
    range: Option<Moments>,
    /// Whether colours say the category.
    pub(super) by_category: bool,
}

impl Place {
    pub(super) fn of(view: View) -> Self {
        Self {
            view,
            device: None,
            at: None,
            range: None,
            by_category: false,
        }
    }

    /// Looks up the moments' names, on the device asked for or the one with the highest peak.
    ///
    /// # Errors
    /// When there is no such moment.
    pub(super) fn find(
        &mut self,
        subject: &Subject,
        at: Option<&str>,
        range: Option<&str>,
    ) -> Result<(), Failure> {
        let Some(device) = subject.main_device() else {
            return Ok(());
        };
        self.device = Some(device.index());
        self.at = at.map(|text| device.moment(text)).transpose()?;
        self.range = range.map(|text| device.range(text)).transpose()?;
        Ok(())
    }

    /// The text: the form is that of the page's `state/permalink.rs`, which reads it.
    pub(super) fn address(&self, first: &Embedded) -> String {
        let file = format!("{}~{}", first.name, first.packed.len());
        let mut words = vec![
            format!("file={}", utf8_percent_encode(&file, PLAIN)),
            format!("view={}", self.view.word()),
        ];
        words.extend(self.device.map(|device| format!("device={device}")));
        // The page's x axis counts events from 0 unless it says otherwise.
        let range = self.range.filter(|(from, to)| from < to);
        words.extend(range.map(|(from, to)| format!("range={from}..{to}")));
        words.extend(self.at.map(|moment| format!("at={moment}")));
        words.extend(self.by_category.then(|| "colour=category".to_owned()));
        words.push("v=1".to_owned());
        words.join("&")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_names_file_and_place() {
        let first = Embedded {
            name: "my run&#<~1>.pickle".to_owned(),
            packed: vec![0; 12],
        };
        let place = Place {
            device: Some(3),
            at: Some(7),
            range: Some((5, 9)),
            by_category: true,
            ..Place::of(View::State)
        };
        assert_eq!(
            place.address(&first),
            "file=my%20run%26%23%3C~1%3E.pickle~12&view=allocator&device=3&range=5..9&at=7&colour=category&v=1"
        );
    }
}
