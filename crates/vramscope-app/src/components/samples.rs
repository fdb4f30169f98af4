//! The bundled sample files.

use yew::prelude::*;

use super::commands::use_commands;
use crate::engine::Source;

/// A bundled file.
struct Sample {
    /// File name under `samples/`.
    file: &'static str,
    title: &'static str,
    /// A description of what it shows.
    text: &'static str,
    /// Bands of the thumbnail: left, right, lower and upper edge in a box of 120 × 60, y upwards.
    bands: &'static [(f64, f64, f64, f64)],
}

const SAMPLES: [Sample; 4] = [
    Sample {
        file: "training.pickle.gz",
        title: "A training step",
        text: "Activations pile up in forward; gradients replace them in backward.",
        bands: &[
            (0.0, 120.0, 0.0, 14.0),
            (8.0, 74.0, 14.0, 20.0),
            (16.0, 68.0, 20.0, 27.0),
            (24.0, 62.0, 27.0, 34.0),
            (32.0, 56.0, 34.0, 41.0),
            (40.0, 50.0, 41.0, 52.0),
            (56.0, 112.0, 34.0, 38.0),
            (62.0, 112.0, 27.0, 34.0),
            (68.0, 112.0, 20.0, 27.0),
            (74.0, 112.0, 14.0, 20.0),
        ],
    },
    Sample {
        file: "fragmented.pickle.gz",
        title: "A fragmented run",
        text: "Much reserved memory is free, yet no large request fits.",
        bands: &[
            (0.0, 120.0, 0.0, 10.0),
            (4.0, 30.0, 10.0, 16.0),
            (10.0, 84.0, 16.0, 20.0),
            (22.0, 46.0, 20.0, 30.0),
            (34.0, 120.0, 10.0, 13.0),
            (50.0, 72.0, 20.0, 36.0),
            (58.0, 120.0, 13.0, 16.0),
            (78.0, 96.0, 20.0, 28.0),
            (88.0, 120.0, 16.0, 19.0),
            (100.0, 116.0, 19.0, 40.0),
        ],
    },
    Sample {
        file: "out-of-memory.pickle.gz",
        title: "Out of memory",
        text: "Enough is free, but in pieces: a request fails that other settings would serve.",
        bands: &[
            (0.0, 120.0, 0.0, 12.0),
            (10.0, 120.0, 12.0, 18.0),
            (30.0, 120.0, 18.0, 25.0),
            (50.0, 120.0, 25.0, 32.0),
            (70.0, 120.0, 32.0, 40.0),
            (90.0, 120.0, 40.0, 48.0),
            (12.0, 24.0, 18.0, 28.0),
            (32.0, 44.0, 25.0, 35.0),
            (52.0, 64.0, 32.0, 42.0),
            (72.0, 84.0, 40.0, 50.0),
            (92.0, 104.0, 48.0, 58.0),
        ],
    },
    Sample {
        file: "graph.json.zst",
        title: "A compiled graph",
        text: "In another order, the compiled graph would need less memory.",
        bands: &[
            (0.0, 34.0, 52.0, 56.0),
            (8.0, 100.0, 46.0, 50.0),
            (16.0, 58.0, 40.0, 44.0),
            (26.0, 120.0, 34.0, 38.0),
            (38.0, 64.0, 28.0, 32.0),
            (46.0, 92.0, 22.0, 26.0),
            (58.0, 120.0, 16.0, 20.0),
            (72.0, 106.0, 10.0, 14.0),
            (90.0, 120.0, 4.0, 8.0),
        ],
    },
];

/// The samples as buttons that open them.
#[component]
pub(super) fn Samples() -> Html {
    let commands = use_commands();
    let sample = |sample: &'static Sample| {
        let onclick = commands
            .open
            .reform(move |_: MouseEvent| vec![Source::Sample(format!("samples/{}", sample.file))]);
        html! {
            <li><button type="button" class="sample" {onclick}>
                { thumbnail(sample) }
                <strong>{ sample.title }</strong>
                <span class="muted">{ sample.text }</span>
            </button></li>
        }
    };
    html! { <ul class="samples">{ for SAMPLES.iter().map(sample) }</ul> }
}

fn thumbnail(sample: &Sample) -> Html {
    let band = |(place, &(from, to, low, high)): (usize, &(f64, f64, f64, f64))| {
        html! {
            <rect class={format!("hue{}", place % 6)} x={from.to_string()} y={(60.0 - high).to_string()}
                width={(to - from).to_string()} height={(high - low).to_string()} />
        }
    };
    html! {
        <svg class="thumbnail" viewBox="0 0 120 60" preserveAspectRatio="none" aria-hidden="true">
            { for sample.bands.iter().enumerate().map(band) }
        </svg>
    }
}
