//! The groups into which a property divides the segments of the segment timeline.

use super::{Groups, by_order};
use crate::colour::{Leaders, stable_hash};
use crate::theme::Theme;
use vramscope_core::analysis::code::call_sites::NO_STACK;
use vramscope_core::analysis::memory::pools::Pool;
use vramscope_core::analysis::properties::{Kind, NOT_RECORDED, Names, Property};
use vramscope_core::analysis::recording::Device;
use vramscope_core::model::SegmentKind;

/// The name of a property in the title of a legend for segments.
#[must_use]
pub fn name_of_segments(by: Property) -> String {
    match by {
        Property::Size
        | Property::Born
        | Property::Stream
        | Property::Pool
        | Property::Operator => by.name(),
        _ if by.kind() == Kind::Choice => "size of requests".to_owned(),
        _ => Property::CallSite.name(),
    }
}

impl Groups {
    /// Groups the parts of a device's segments by a property. Segments have no category and no role; by these, they are
    /// divided into segments for small and for large requests. All properties of code are shown as call sites
    /// ([`name_of_segments`]). `leaders` are those of the recording's call sites.
    #[must_use]
    pub fn of_segments(by: Property, theme: &Theme, leaders: &Leaders, device: Device<'_>) -> Self {
        let (snapshot, history) = (device.snapshot(), device.history);
        let (segments, sites) = (device.segments(), device.call_sites());
        let pieces = 0..segments.len();
        let stack = |piece| segments.stack(snapshot, history, piece);
        match by {
            Property::Size => {
                let size = |piece| segments.segment_of(piece).extent_bytes;
                Self::by_size(theme, &pieces.map(size).collect::<Vec<u64>>())
            }
            Property::Born => Self::by_birth(theme, history, &segments.born),
            Property::Stream => {
                let streams = device.recording.streams();
                let numbers = streams.numbers();
                let number = |piece| numbers.get(&segments.segment_of(piece).stream).copied();
                Self::by_ordinal(theme, streams.labels(), pieces.map(number))
            }
            Property::Pool => {
                let pools = device.recording.pools();
                let labels = pools.all().iter().map(Pool::label);
                let number = |piece| pools.number(segments.segment_of(piece).pool?);
                Self::by_ordinal(theme, labels, pieces.map(number))
            }
            Property::Operator => {
                let operators = device.operators();
                let of: Vec<u32> = pieces
                    .map(|piece| operators.of_stack(stack(piece)).0)
                    .collect();
                let hashes: Vec<u64> = operators
                    .labels()
                    .iter()
                    .map(|label| stable_hash(label))
                    .collect();
                let leaders = Leaders::of(history, of.iter().copied(), &hashes);
                let labels = operators.labels().iter().map(String::as_str);
                Self::by_row(theme, &leaders, (NOT_RECORDED, labels), &of)
            }
            _ if by.kind() == Kind::Choice => {
                let labels = ["for requests up to 1 MiB", "for larger requests"];
                let number = |piece| match segments.segment_of(piece).kind? {
                    SegmentKind::Small => Some(0),
                    SegmentKind::Large => Some(1),
                    SegmentKind::Other(_) => None,
                };
                let labels = labels.map(str::to_owned);
                Self::by_ordinal(theme, labels, pieces.map(number))
            }
            _ => {
                let of: Vec<u32> = pieces.map(|piece| sites.of_stack(stack(piece)).0).collect();
                let labels = sites.sites().iter().map(|site| site.label.as_str());
                Self::by_row(theme, leaders, (NO_STACK, labels), &of)
            }
        }
    }

    /// Groups by rows of a table of texts, in which row 0 stands for none.
    fn by_row<'a>(
        theme: &Theme,
        leaders: &Leaders,
        (unknown, labels): (&'static str, impl Iterator<Item = &'a str>),
        of: &[u32],
    ) -> Self {
        let names = Names {
            labels: labels.skip(1).map(Into::into).collect(),
            words: Vec::new(),
            of: Box::new(|piece| of[piece].wrapping_sub(1)),
            unknown: unknown.into(),
            is_unknown_a_word: false,
        };
        Self::by_name(theme, leaders, names, of.len())
    }

    fn by_ordinal(
        theme: &Theme,
        labels: impl IntoIterator<Item = String>,
        ordinals: impl Iterator<Item = Option<u32>>,
    ) -> Self {
        let labels: Vec<String> = labels
            .into_iter()
            .chain([NOT_RECORDED.to_owned()])
            .collect();
        let unknown = labels.len() as u32 - 1;
        let group_of = ordinals.map(|ordinal| ordinal.unwrap_or(unknown));
        Self::by_number(theme, labels, group_of.collect(), by_order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::colour::usual_of_segments;
    use vramscope_core::analysis::recording::Recording;
    use vramscope_synth::{snapshot::Producer, text};

    #[test]
    fn every_piece_has_a_group_and_a_colour_in_every_mode() {
        let written = "alloc a 4MiB main.py:10:train\nalloc b 2KiB main.py:20:step\nfree a";
        let bytes = text::pickle(written, Producer::Python(2, 15)).unwrap();
        let recording = Recording::of(vramscope_core::decode(bytes.as_slice()).unwrap());
        let device = recording.device(0).unwrap();
        assert_eq!(device.segments().len(), 2);
        let labels = [
            (Property::CallSite, "main.py:10"),
            (Property::Size, "1.00 MiB to 64.0 MiB"),
            (Property::Stream, "default stream"),
            (Property::Pool, "default pool"),
            (Property::Category, "for larger requests"),
            (Property::Born, "events 1 to"),
        ];
        for (mode, label) in labels {
            let theme = Theme::light();
            let groups = Groups::of_segments(mode, &theme, &Leaders::default(), device);
            assert_eq!(groups.group_of.len(), 2);
            assert_eq!(groups.colours.index.len(), 2);
            let first = &groups.labels[groups.group_of[0] as usize];
            assert!(first.contains(label), "{mode:?}: {first}");
        }
        assert_eq!(usual_of_segments(device), Property::CallSite);
    }

    #[test]
    fn segments_without_stacks_are_told_apart_by_size() {
        let bytes = text::pickle("alloc a 4MiB\nalloc b 2KiB", Producer::Python(2, 15)).unwrap();
        let recording = Recording::of(vramscope_core::decode(bytes.as_slice()).unwrap());
        let device = recording.device(0).unwrap();
        assert_eq!(usual_of_segments(device), Property::Size);
    }
}
