//! The memory under the pointer in a few lines.

use vramscope_core::analysis::memory::allocator_state::{
    AllocatorState, BlockSizes, PlacedBlock, SegmentState, SizeClass,
};
use vramscope_protocol::views::allocator::{DrawState, Tip, TipOn, TipSegment};
use vramscope_view::allocator_picture::{StateHit, StateLayout};

use super::super::super::describe;
use super::super::super::document::{Device, Document};

/// The most call sites listed for blocks that share a pixel.
const CALL_SITES: usize = 3;

/// The memory at a place of the window; `None` if there is no segment.
pub(super) fn tip(
    document: &Document,
    device: Device<'_>,
    draw: &DrawState,
    state: &AllocatorState,
    layout: &StateLayout,
    (x_px, y_px): (f64, f64),
) -> Option<Tip> {
    let y_px = y_px + f64::from(draw.window.top_px);
    let StateHit::Blocks { segment, blocks } = layout.hit(state, x_px, y_px) else {
        return None;
    };
    let found = &state.segments[segment];
    let (on, rects) = if blocks.len() == 1 {
        let rects = layout.rectangles(state, segment, blocks.start, draw.window.rows());
        let on = one(document, device, &found.blocks[blocks.start])?;
        (on, draw.window.in_css(rects))
    } else {
        let several = several(device, &found.blocks[blocks]);
        (several, Vec::new())
    };
    Some(Tip {
        on,
        rects,
        segment: segment_words(document, device, found),
    })
}

fn one(document: &Document, device: Device<'_>, block: &PlacedBlock) -> Option<TipOn> {
    let Some(id) = block.allocation else {
        return Some(TipOn::Free {
            address: block.address,
            bytes: block.bytes,
        });
    };
    Some(TipOn::Block {
        preview: Box::new(describe::preview(document, device, id)?),
        usage: block.usage,
        bytes: block.bytes,
        rounding_bytes: block.rounding_bytes(),
        source: BlockSizes::source(device.history, id),
    })
}

fn several(device: Device<'_>, blocks: &[PlacedBlock]) -> TipOn {
    let live = blocks.iter().filter_map(|block| block.allocation);
    let free = blocks.iter().filter(|block| block.allocation.is_none());
    TipOn::Several {
        composition: describe::composition(device, live, CALL_SITES),
        free_blocks: free.clone().count() as u64,
        free_bytes: free.map(|block| block.bytes).sum(),
    }
}

fn segment_words(document: &Document, device: Device<'_>, segment: &SegmentState) -> TipSegment {
    let class = segment.size_class.map(|class| match class {
        SizeClass::Small => "small".to_owned(),
        SizeClass::Large => "large".to_owned(),
    });
    let remarks = [
        class,
        segment.is_expandable.then(|| "expandable".to_owned()),
        segment.pool.map(|pool| document.pools().label(pool)),
        Some(document.streams().label(segment.stream)),
    ];
    let pool = segment.pool.and_then(|pool| document.pools().get(pool));
    let kept_for = pool.and_then(|pool| pool.kind.kept_for());
    let sites = document.call_sites();
    let site = sites.of_stack(segment.stack);
    TipSegment {
        address: segment.address,
        sums: segment.sums,
        remarks: remarks.into_iter().flatten().collect(),
        kept_for: kept_for
            .filter(|_| segment.sums.free_bytes > 0)
            .map(str::to_owned),
        mapped_by: segment
            .mapped_by
            .map(|event| event.0 - device.history.first_event + 1),
        site: match site.index() {
            0 => String::new(),
            _ => sites.get(site).label.clone(),
        },
    }
}
