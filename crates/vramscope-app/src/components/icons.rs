//! Icons, drawn with lines on a 16 × 16 grid in the colour of the text around them.

use yew::prelude::*;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Icon {
    Allocator,
    Chevron,
    Close,
    Compare,
    Copy,
    Done,
    Download,
    Edit,
    Facts,
    Flame,
    Help,
    Info,
    Map,
    Moon,
    Overview,
    Plus,
    Segments,
    Share,
    Sun,
    System,
    Table,
    Timeline,
    Warning,
    WhatIf,
    Window,
}

impl Icon {
    fn path(self) -> &'static str {
        match self {
            Self::Allocator => "M2 3.5h12v3H2zM2 9.5h12v3H2zM6 3.5v3M11 3.5v3M5 9.5v3M9 9.5v3",
            Self::Chevron => "M6 3l5 5-5 5",
            Self::Close => "M3 3l10 10M13 3L3 13",
            Self::Compare => "M2.5 2.5h4.5v11H2.5zM9 2.5h4.5v11H9zM11.2 6v4M4.7 8h.1",
            Self::Copy => "M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z",
            Self::Done => "M3 8.5l3.5 3.5L13 4.5",
            Self::Download => "M8 2v8M4.5 7L8 10.5 11.5 7M2.5 13.5h11",
            Self::Edit => "M9 3H3v10h10V8M7 9l6.5-6.5M10 2.5h3.5V6",
            Self::Facts => "M3 2.5h10v11H3zM5.5 6h5M5.5 8.5h5M5.5 11h3",
            Self::Flame => "M2 13h12v-3H2zM3.5 10h8V7h-8zM5 7h4V4H5z",
            Self::Help => {
                "M6 6a2 2 0 1 1 2.8 1.8C8 8.2 8 8.6 8 9.3M8 11.8v.1M8 14.5a6.5 6.5 0 1 1 0-13 6.5 6.5 0 0 1 0 13z"
            }
            Self::Info => "M8 7.3v4M8 4.8v.1M8 14.5a6.5 6.5 0 1 1 0-13 6.5 6.5 0 0 1 0 13z",
            Self::Map => "M2 13.5V2.5M2 13.5h12M4.5 4h4v2.5h-4zM7 8h6.5v2.5H7zM10.5 3.5h3V6h-3z",
            Self::Moon => "M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5z",
            Self::Overview => "M2.5 9.5V13h3V9.5zM6.5 6v7h3V6zM10.5 3v10h3V3z",
            Self::Plus => "M8 3v10M3 8h10",
            Self::Segments => "M2 13.5h12M2 11h4V8.5h4V11h4M2 8h4V5.5h4V3h4",
            Self::Share => "M8 10V2M4.8 5L8 1.8 11.2 5M4.8 7.5H2.5V14h11V7.5h-2.3",
            Self::Sun => {
                "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M3.4 12.6l.7-.7M11.9 4.1l.7-.7"
            }
            Self::System => "M1.5 2.5h13v9h-13zM5.5 14h5M8 11.5V14",
            Self::Table => "M2 3h12v10H2zM2 6.5h12M2 9.7h12M6 3v10",
            Self::Timeline => "M2 13.5h12M2 13.5v-4h3v-3h3v-3h3v6h3v4",
            Self::WhatIf => {
                "M2 2.5v11h12M4.5 13.5V9h3v4.5M4.5 9V6.5h6V9M7.5 9h6v4.5M10.5 3v1M12.7 4.3l-.7.7M8.3 4.3l.7.7"
            }
            Self::Window => "M6.5 3h-4v10.5H13v-4M9 2.5h4.5V7M13.2 2.8L7.5 8.5",
            Self::Warning => "M8 2l6.5 11.5h-13zM8 6.5v3.2M8 11.6v.1",
        }
    }
}

/// An icon's properties.
#[derive(Properties, PartialEq)]
pub(super) struct IconProps {
    pub(super) icon: Icon,
}

/// An icon. A label beside it, or its button's label, must state the meaning.
#[component]
pub(super) fn Glyph(props: &IconProps) -> Html {
    html! {
        <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
            <path d={props.icon.path()} />
        </svg>
    }
}
