//! Icons, drawn with lines on a 16 × 16 grid in the colour of the text around them.

use yew::prelude::*;

/// One icon.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Icon {
    Chevron,
    Close,
    Copy,
    Done,
    Facts,
    Help,
    Info,
    Moon,
    Plus,
    Sun,
    System,
    Timeline,
    Warning,
}

impl Icon {
    fn path(self) -> &'static str {
        match self {
            Self::Chevron => "M6 3l5 5-5 5",
            Self::Close => "M3 3l10 10M13 3L3 13",
            Self::Copy => "M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z",
            Self::Done => "M3 8.5l3.5 3.5L13 4.5",
            Self::Facts => "M3 2.5h10v11H3zM5.5 6h5M5.5 8.5h5M5.5 11h3",
            Self::Help => {
                "M6 6a2 2 0 1 1 2.8 1.8C8 8.2 8 8.6 8 9.3M8 11.8v.1M8 14.5a6.5 6.5 0 1 1 0-13 6.5 6.5 0 0 1 0 13z"
            }
            Self::Info => "M8 7.3v4M8 4.8v.1M8 14.5a6.5 6.5 0 1 1 0-13 6.5 6.5 0 0 1 0 13z",
            Self::Moon => "M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5z",
            Self::Plus => "M8 3v10M3 8h10",
            Self::Sun => {
                "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M3.4 12.6l.7-.7M11.9 4.1l.7-.7"
            }
            Self::System => "M1.5 2.5h13v9h-13zM5.5 14h5M8 11.5V14",
            Self::Timeline => "M2 13.5h12M2 13.5v-4h3v-3h3v-3h3v6h3v4",
            Self::Warning => "M8 2l6.5 11.5h-13zM8 6.5v3.2M8 11.6v.1",
        }
    }
}

/// An icon's properties.
#[derive(Properties, PartialEq)]
pub(super) struct IconProps {
    pub(super) icon: Icon,
}

/// An icon; what it means must stand beside it or in its button's label.
#[component]
pub(super) fn Glyph(props: &IconProps) -> Html {
    html! {
        <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
            <path d={props.icon.path()} />
        </svg>
    }
}
