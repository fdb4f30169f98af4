//! The options of `plot` as clap values.

use clap::ValueEnum;
use vramscope_core::analysis::code::frame_groups::{Fold, FrameGrouping};
use vramscope_core::analysis::time::selection::Weight;
use vramscope_view::axes::XUnit;
use vramscope_view::flame::Shape;
use vramscope_view::plot::views;
use vramscope_view::theme::ThemeName;

/// Width and height in pixels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Size {
    pub(super) width_px: u32,
    pub(super) height_px: u32,
}

/// Parses `1600x900`.
pub(super) fn parse_size(text: &str) -> Result<Size, String> {
    let sides = text.split_once(['x', 'X', '×']);
    let side = |text: &str| text.trim().parse::<u32>().ok();
    sides
        .and_then(|(width, height)| {
            Some(Size {
                width_px: side(width)?,
                height_px: side(height)?,
            })
        })
        .ok_or_else(|| "expected WIDTHxHEIGHT in pixels, e.g. 1600x900".to_owned())
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(super) enum Axis {
    /// Events, evenly spaced
    #[default]
    Event,
    /// The wall clock
    Time,
}

impl Axis {
    pub(super) fn unit(self) -> XUnit {
        match self {
            Self::Event => XUnit::Events,
            Self::Time => XUnit::Time,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(super) enum Surroundings {
    /// Dark text on a light background
    #[default]
    Light,
    /// Light text on a dark background
    Dark,
}

impl Surroundings {
    pub(super) fn name(self) -> ThemeName {
        match self {
            Self::Light => ThemeName::Light,
            Self::Dark => ThemeName::Dark,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum What {
    /// Live at a moment (--at; by default the peak)
    Live,
    /// Allocated in a range (--range; by default the whole recording)
    Allocated,
    /// Allocated in a range and still live at its end
    Retained,
}

/// How frames are merged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(super) enum Frames {
    /// The same line
    #[default]
    Line,
    /// The same function
    Function,
    /// The same file
    File,
    /// The same Python module or C++ namespace
    Module,
    /// The same package
    Package,
}

impl Frames {
    pub(super) fn grouping(self) -> FrameGrouping {
        match self {
            Self::Line => FrameGrouping::Line,
            Self::Function => FrameGrouping::Function,
            Self::File => FrameGrouping::File,
            Self::Module => FrameGrouping::Module,
            Self::Package => FrameGrouping::Package,
        }
    }
}

/// Which frames are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(super) enum Left {
    /// All frames
    Nothing,
    /// All but the runtime: interpreter, dispatcher, allocator
    Runtime,
    /// Your code, and the operator that allocated
    #[default]
    Library,
}

impl Left {
    pub(super) fn fold(self) -> Fold {
        match self {
            Self::Nothing => Fold::Nothing,
            Self::Runtime => Fold::Runtime,
            Self::Library => Fold::Library,
        }
    }
}

/// The meaning of a box's width.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(super) enum Width {
    /// Requested bytes
    #[default]
    Bytes,
    /// Number of allocations
    Count,
    /// Bytes times lifetime in events
    ByteEvents,
}

impl Width {
    pub(super) fn weight(self) -> Weight {
        match self {
            Self::Bytes => Weight::Bytes,
            Self::Count => Weight::Count,
            Self::ByteEvents => Weight::ByteEvents,
        }
    }
}

/// The orientation of a flame graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(super) enum Form {
    /// The outermost caller on top
    #[default]
    Icicle,
    /// The outermost caller at the bottom
    Flame,
}

impl Form {
    pub(super) fn shape(self) -> Shape {
        match self {
            Self::Icicle => Shape::Icicle,
            Self::Flame => Shape::Flame,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(super) enum Format {
    /// Pixels
    #[default]
    Png,
    /// Shapes and text, which can be edited and searched
    Svg,
}

impl Format {
    /// Finds the format for a file extension.
    pub(super) fn of(ending: &str) -> Option<Self> {
        match ending.to_ascii_lowercase().as_str() {
            "png" => Some(Self::Png),
            "svg" => Some(Self::Svg),
            _ => None,
        }
    }

    pub(super) fn format(self) -> views::Format {
        match self {
            Self::Png => views::Format::Png,
            Self::Svg => views::Format::Svg,
        }
    }

    pub(super) fn ending(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Svg => "svg",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(
            parse_size("1600x900"),
            Ok(Size {
                width_px: 1600,
                height_px: 900
            })
        );
        for wrong in ["", "1600", "x", "1600x-1", "axb", "99999999999x1"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }
}
