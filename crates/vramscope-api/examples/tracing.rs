//! Spans of the tracing crate as ranges. Run with `vramscope-capture run -o snap.pickle -- tracing`.

use tracing::info_span;
use tracing_subscriber::prelude::*;
use vramscope_api::tracing::tracing_layer;

fn forward(layers: u32) {
    let _forward = info_span!("forward", layers).entered();
    for layer in 0..layers {
        let _layer = info_span!("layer", number = layer).entered();
    }
}

fn main() {
    tracing_subscriber::registry().with(tracing_layer()).init();
    for step in 0..3 {
        let _step = info_span!("train", step).entered();
        forward(2);
        info_span!("backward").in_scope(|| {});
    }
}
